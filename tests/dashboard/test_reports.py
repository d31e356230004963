"""Reports: what a manager sees of a week, and of whose projects."""

import re
from decimal import Decimal
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.presenters import night
from projects.models import Requirement
from projects.values.wording import dollars, duration_in_minutes
from tests.dashboard.story import tell
from tests.factories import make_user
from tests.projects.services.insight.year import WEEK, set_prices, tell_year
from tests.texts import shows

pytestmark = pytest.mark.django_db
WEEKLY = f"/reports/weekly?week={WEEK}"


@pytest.fixture
def manager(settings, client: Client, enqueued) -> Client:
    set_prices(settings)
    client.force_login(tell_year().project.created_by)
    return client


def test_a_week_is_one_page_with_the_figures_computed_by_hand(manager: Client) -> None:
    text = manager.get(WEEKLY).content.decode()
    shows(text, "Two requirements delivered for $0.03", "adds up to the ledger")
    for figure in ("14,500", "2,001", "1,201", "17,702", "0.010*", "$0.03", "9.0"):
        assert figure in text
    order = [text.index(f">{title}<") for title in ("Needs you", "Delivered", "Stuck", "Cost per feature", "Measures")]
    assert order == sorted(order)


def test_the_csv_has_a_line_for_each_requirement(manager: Client) -> None:
    answer = manager.get(f"/reports/weekly.csv?week={WEEK}")
    assert answer["Content-Disposition"] == f'attachment; filename="costs-{WEEK}.csv"'
    lines = answer.content.decode().splitlines()
    assert [line.split(",")[2] for line in lines] == ["requirement", "FR-01", "FR-02", ""]


def test_a_week_that_cannot_be_read_is_refused(manager: Client) -> None:
    for week in ("soon", "2026-W54", "0000-W01"):
        answer = manager.get(f"/reports/weekly?week={quote(week)}")
        assert answer.status_code == 422
        assert "like 2026-W48" in answer.content.decode()


def test_nobody_sees_the_costs_of_projects_of_others(manager: Client) -> None:
    manager.force_login(make_user("eve"))
    assert "14,500" not in manager.get(WEEKLY).content.decode()
    assert manager.get(f"{WEEKLY}&project=clinic").status_code == 404
    assert "FR-01" not in manager.get(f"/reports/weekly.csv?week={WEEK}").content.decode()


def test_the_rows_behind_a_measure_lead_to_its_tasks(manager: Client) -> None:
    for group in ("task", "project", "week"):
        text = manager.get(f"/reports?week={WEEK}&by={group}").content.decode()
        assert "a person was asked" in text
        assert "17,702" in text or group == "task"


def test_pages_take_the_same_number_of_queries_whatever_there_is(manager: Client) -> None:
    owner = make_user("bob")
    for path in (WEEKLY, f"/reports?week={WEEK}"):
        manager.force_login(owner)
        tell_year(f"One {path}", owner)
        manager.get(path)
        with CaptureQueriesContext(connection) as few:
            manager.get(path)
        for number in range(3):
            tell_year(f"More {path} {number}", owner)
        with CaptureQueriesContext(connection) as many:
            manager.get(path)
        assert len(many) == len(few), path


def test_a_story_in_work_has_a_report(enqueued: list[object], client: Client) -> None:
    story = tell()
    client.force_login(story.owner)
    text = client.get("/reports/weekly").content.decode()
    shows(text, "Install httpx", "is stuck")


def test_a_manager_schedules_the_report_and_takes_it_back(manager: Client) -> None:
    data = {"weekday": "0", "hour": "8", "time_zone": "Europe/Vienna", "recipients": "a@example.org, b@example.org"}
    text = manager.post("/reports/schedule", data, follow=True).content.decode()
    shows(text, "Goes out by e-mail on Mondays at 08:00 (Europe/Vienna)", "a@example.org, b@example.org")
    assert manager.post("/reports/schedule", data | {"recipients": "nobody"}).status_code == 422
    assert manager.post("/reports/schedule", data | {"hour": "24"}).status_code == 422
    assert "Not sent by e-mail yet" in manager.post("/reports/schedule", {"do": "stop"}, follow=True).content.decode()


def test_the_button_sends_the_report_and_the_page_says_how_it_went(manager: Client, settings) -> None:
    from django.utils import timezone

    from projects.models import ReportMail
    from projects.services.insight import mailing

    text = manager.post("/reports/mail", {"week": str(WEEK)}, follow=True).content.decode()
    assert "on its way to ada@example.org" in text
    mailing.deliver(ReportMail.objects.get().pk, timezone.now())
    text = manager.get("/reports").content.decode()
    shows(text, "No mail server is set up (AISWE_MAIL_HOST).", "next try")
    assert manager.post("/reports/mail", {"week": str(WEEK), "project": "no-such"}).status_code == 404


def test_what_was_delivered_is_a_list_with_code_shown_as_code(manager: Client) -> None:
    Requirement.objects.filter(key="FR-01").update(text="`GET /<b>` answers.")
    text = manager.get(WEEKLY).content.decode()
    assert re.search(r"<li>\s*<strong>[^<]+</strong>\s*<ul>\s*<li>", text)
    assert "<li><code>GET /&lt;b&gt;</code> answers.</li>" in text


def test_a_week_without_work_has_no_empty_charts_or_rows(client: Client, enqueued) -> None:
    client.force_login(make_user("new"))
    assert "Six weeks" not in client.get("/reports/weekly").content.decode()
    assert "The rows behind the measures" not in client.get("/reports").content.decode()


def test_little_is_not_shown_as_nothing() -> None:
    assert dollars(Decimal("0.00002")) == "under $0.0001"
    assert duration_in_minutes(0.02) == "under 0.1 min"
    assert duration_in_minutes(0) == "0 min"
    assert night.amount("cents", 0.2) == "$0.0020"
    assert night.amount("cents", 0) == "$0.00"
