import csv
import io
from datetime import UTC, datetime, timedelta

import pytest

from projects.errors import BadInput, NotAllowed
from projects.models import ReportMail, ReportSchedule, SiteEvent
from projects.services.insight import mailing
from tests.factories import make_user
from tests.projects.services.insight.smtp import mail_server
from tests.projects.services.insight.year import NOW, WEEK, set_prices, tell_year
from tests.rows import fresh

pytestmark = pytest.mark.django_db
FRIDAY = datetime(2025, 11, 28, 17, 0, tzinfo=UTC)
TO = ["boss@example.org", "client@example.org"]


@pytest.fixture
def schedule(settings, enqueued) -> ReportSchedule:
    """Fridays at 17:00, since Thursday."""
    set_prices(settings)
    owner = tell_year().project.created_by
    return mailing.save_schedule(
        owner,
        weekday=4,
        hour=17,
        time_zone="UTC",
        recipients=TO,
        origin="https://swe.example.org",
        now=FRIDAY - timedelta(days=1),
    )


def run_sweep(now: datetime) -> None:
    """What the periodic job does, and the jobs that it starts."""
    mailing.sweep(now)
    for mail in ReportMail.objects.all():
        mailing.deliver(mail.pk, now)


def test_a_mail_brings_the_figures_computed_by_hand_in_each_of_its_parts(settings, schedule: ReportSchedule) -> None:
    with mail_server(settings) as server:
        run_sweep(NOW)
    (message,) = server.messages
    assert server.recipients == [TO]
    assert message["Subject"] == "Two requirements delivered for $0.03 · week 48"
    text = message.get_body(("plain",)).get_content()
    html = message.get_body(("html",)).get_content()
    # The figures of the requirements, and their sum: tests/projects/services/insight/test_report.py computes them.
    for figure in ("14,500", "2,001", "1,201", "17,702", "0.010*", "9.0"):
        assert figure in text
        assert figure in html
    assert "The rows add up to the ledger." in text
    assert f'href="https://swe.example.org/reports/weekly?week={WEEK}"' in html
    assert "<svg" not in html
    (attached,) = message.iter_attachments()
    rows = list(csv.DictReader(io.StringIO(attached.get_content())))
    assert [row["cost_usd"] for row in rows] == ["0.0015", "0.027", "0.000833"]


def test_a_week_is_sent_once_however_often_the_worker_starts(settings, schedule: ReportSchedule) -> None:
    with mail_server(settings) as server:
        for minutes in (-1, 0, 1, 60, 24 * 60, 6 * 24 * 60):
            run_sweep(FRIDAY + timedelta(minutes=minutes))
        assert len(server.messages) == 1
        run_sweep(FRIDAY + timedelta(days=7))
        assert len(server.messages) == 2
    assert [mail.status for mail in ReportMail.objects.all()] == ["sent", "sent"]
    assert SiteEvent.objects.filter(action="report.sent").count() == 2


def test_a_server_that_refuses_is_tried_again_and_the_problem_is_shown(settings, schedule: ReportSchedule) -> None:
    with mail_server(settings, refuse=2 * len(TO)) as server:
        run_sweep(FRIDAY)
        mail = ReportMail.objects.get()
        assert (mail.status, mail.tries) == ("waiting", 1)
        assert "try again later" in mail.problem
        run_sweep(FRIDAY + timedelta(seconds=30))  # too early
        assert ReportMail.objects.get().tries == 1
        run_sweep(FRIDAY + timedelta(minutes=2))
        run_sweep(FRIDAY + timedelta(minutes=10))
        assert len(server.messages) == 1
    assert (fresh(mail).status, mail.tries, mail.problem) == ("sent", 3, "")


def test_without_a_server_it_is_given_up_after_the_last_pause(schedule: ReportSchedule) -> None:
    now = FRIDAY
    for pause in (timedelta(0), *mailing.PAUSES):
        now += pause
        run_sweep(now)
    mail = ReportMail.objects.get()
    assert (mail.status, mail.tries) == ("failed", len(mailing.PAUSES) + 1)
    assert "AISWE_MAIL_HOST" in mail.problem


def test_a_mail_that_a_dying_worker_was_sending_is_not_sent_twice(settings, schedule: ReportSchedule) -> None:
    mailing.sweep(FRIDAY)
    ReportMail.objects.update(status="sending", due_at=FRIDAY + mailing.CLAIM)
    with mail_server(settings) as server:
        run_sweep(FRIDAY + timedelta(minutes=1))
        assert ReportMail.objects.get().status == "sending"
        run_sweep(FRIDAY + timedelta(minutes=6))
        assert server.messages == []
    assert ReportMail.objects.get().status == "unknown"
    assert "may have arrived" in ReportMail.objects.get().problem


def test_two_workers_send_it_once(settings, schedule: ReportSchedule) -> None:
    mailing.sweep(FRIDAY)
    with mail_server(settings) as server:
        for _ in range(2):
            mailing.deliver(ReportMail.objects.get().pk, FRIDAY)
        assert len(server.messages) == 1


def test_who_is_no_manager_any_more_sends_nothing(settings, schedule: ReportSchedule) -> None:
    schedule.user.memberships.filter(role="manager").delete()
    with mail_server(settings) as server:
        run_sweep(FRIDAY)
        assert server.messages == []
    assert "no project left" in ReportMail.objects.get().problem


def test_somebody_who_was_deactivated_sends_nothing(schedule: ReportSchedule) -> None:
    type(schedule.user).objects.update(is_active=False)
    mailing.sweep(FRIDAY)
    assert not ReportMail.objects.exists()


def test_members_mail_it_to_themselves_alone(settings, enqueued) -> None:
    set_prices(settings)
    project = tell_year().project
    viewer = make_user("vi", role="viewer", project=project)
    with pytest.raises(NotAllowed):
        mailing.save_schedule(viewer, weekday=1, hour=8, time_zone="UTC", recipients=TO, origin="", now=NOW)
    mail = mailing.mail_to_self(viewer, WEEK, project="", origin="", now=NOW)
    with mail_server(settings) as server:
        mailing.deliver(mail.pk, NOW)
    assert server.recipients == [["vi@example.org"]]
    assert "17,702" in server.messages[0].get_body(("plain",)).get_content()
    viewer.email = ""
    with pytest.raises(BadInput):
        mailing.mail_to_self(viewer, WEEK, project="", origin="", now=NOW)


def test_an_early_report_is_of_the_last_week() -> None:
    assert str(mailing.week_at(datetime(2025, 11, 26, 23, tzinfo=UTC))) == "2025-W47"  # Wednesday
    assert str(mailing.week_at(datetime(2025, 11, 27, 0, tzinfo=UTC))) == "2025-W48"  # Thursday


def test_the_hour_is_that_of_the_time_zone() -> None:
    schedule = ReportSchedule(weekday=4, hour=17, time_zone="Europe/Vienna")
    assert mailing.last_due(schedule, FRIDAY) == FRIDAY - timedelta(hours=1)
    assert mailing.last_due(schedule, FRIDAY - timedelta(hours=2)) == FRIDAY - timedelta(days=7, hours=1)


@pytest.mark.parametrize("text", ["", "boss", "a@example.org, b", " ".join(f"a{n}@example.org" for n in range(51))])
def test_wrong_addresses_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        mailing.addresses_in(text)
