"""Who is told of what, and what is held back in quiet hours."""

from datetime import UTC, datetime, time
from typing import Any

import pytest
from django.db import transaction

from agents.engine.waiting import WaitReason
from projects.models import Approval, Notice, NoticeKind, NoticePreferences, Run
from projects.services.notices import delivery, outbox
from projects.services.work.approval_requests import ask
from projects.services.work.moves import move_run
from tests.factories import bare_run, make_project, make_run, make_user
from tests.rows import undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db
EVENING, NIGHT, MORNING = (datetime(2026, 11, 25 + day, hour, tzinfo=UTC) for day, hour in ((0, 20), (0, 23), (1, 6)))


def chosen(user: Any, **more: Any) -> NoticePreferences:
    everything = {kind.value: ["page", "browser", "email", "webhook"] for kind in NoticeKind}
    return NoticePreferences.objects.create(user=user, channels=everything, **more)


def told(user: Any) -> list[tuple[str, str]]:
    return [(row.channel, row.items[0]["text"]) for row in user.notices.order_by("pk")]


@each_row(
    ("kind", "architect", "security", "viewer"), [(Approval.Kind.PACKAGE, 1, 1, 0), (Approval.Kind.PLAN, 1, 0, 0)]
)
@undone()
def test_a_question_is_told_once_to_those_who_may_answer_it(
    kind: str, architect: int, security: int, viewer: int
) -> None:
    project = make_project()
    others = [make_user(role=role, project=project) for role in ("security", "viewer")]
    for _ in range(2):
        ask(project, kind=kind, subject="httpx", title="Install httpx with token=abc")
    messages = [("page", "needs a decision")]
    counts = (architect, security, viewer)
    assert [told(who) for who in (project.created_by, *others)] == [messages * count for count in counts]


def test_a_message_holds_nothing_of_the_work() -> None:
    project = make_project("Clinic")
    chosen(project.created_by)
    approval = ask(project, kind=Approval.Kind.PACKAGE, subject="x", title="Install internal-secret-lib", why="Because")
    for row in project.created_by.notices.all():
        link = f"/approvals/{approval.pk}"
        assert row.items == [{"kind": "decision", "project": "Clinic", "text": "needs a decision", "link": link}]


def test_the_end_of_a_run_is_told_in_the_words_of_its_end() -> None:
    run = make_run()
    owner = run.project.created_by
    chosen(owner)
    move_run(run, Run.Status.FAILED, reason="a stack trace")
    assert ("webhook", "run failed") in told(owner)
    assert not any("stack" in str(row.items) for row in owner.notices.all())


def test_a_finished_build_is_told_and_a_finished_planning_is_not() -> None:
    project = make_project()
    chosen(project.created_by)
    planning = Run.objects.create(project=project, kind=Run.Kind.PLAN, status=Run.Status.RUNNING)
    move_run(planning, Run.Status.FINISHED)
    assert told(project.created_by) == []
    move_run(bare_run(project), Run.Status.FINISHED)
    assert ("email", "run finished") in told(project.created_by)


def test_requirements_to_confirm_are_a_decision() -> None:
    project = make_project()
    run = Run.objects.create(project=project, kind=Run.Kind.PLAN, status=Run.Status.RUNNING)
    move_run(run, Run.Status.NEEDS_YOU, wait=WaitReason.CONFIRMATION)
    assert project.created_by.notices.get().items[0]["link"] == f"/p/{project.pk}/reqs"


def test_what_is_rolled_back_is_not_told() -> None:
    project = make_project()
    with transaction.atomic():
        ask(project, kind=Approval.Kind.PACKAGE, subject="x", title="y")
        transaction.set_rollback(True)
    assert not Notice.objects.exists()


ITEM = {"kind": "finished", "project": "Clinic", "text": "run finished", "link": "/runs/1"}
QUIET = {"quiet_from": time(22), "quiet_until": time(7), "time_zone": "Europe/Vienna"}


def test_only_quiet_hours_hold_back_everything_but_the_title() -> None:
    ada = make_user()
    preferences = chosen(ada, **QUIET)
    outbox.put(ada, ["email"], ITEM, key="b", chosen=preferences, now=EVENING)
    assert ada.notices.get().status == "waiting"
    outbox.put(ada, ["page", "browser", "email"], ITEM, key="a", chosen=preferences, now=NIGHT)
    states = dict(ada.notices.filter(key__startswith="a").values_list("channel", "status"))
    assert states == {"page": "sent", "browser": "held", "email": "held"}
    assert {row.due_at for row in ada.notices.filter(status="held")} == {MORNING}  # 07:00 in Vienna


def test_the_end_of_quiet_hours_makes_one_message_of_many() -> None:
    ada = make_user()
    preferences = chosen(ada, **QUIET)
    for key in ("a", "b", "c"):
        outbox.put(ada, ["email", "browser"], ITEM, key=key, chosen=preferences, now=NIGHT)
    delivery.sweep(NIGHT)
    assert ada.notices.filter(status="held").count() == 6
    delivery.sweep(MORNING)
    delivery.sweep(MORNING)
    digest = ada.notices.get(channel="email", status="waiting")
    assert len(digest.items) == 3
    assert ada.notices.get(channel="browser", status="sent").items == digest.items
    assert ada.notices.filter(status="merged").count() == 6


def test_old_messages_are_forgotten() -> None:
    ada = make_user()
    outbox.put(ada, ["page"], ITEM, key="a", now=datetime(2026, 1, 1, tzinfo=UTC))
    delivery.sweep(MORNING)
    assert not Notice.objects.exists()


def test_the_weekly_report_is_told_once_and_never_by_a_second_email() -> None:
    ada = make_user()
    chosen(ada)
    for _ in range(2):
        outbox.tell_of_report(ada, key="weekly:1:2026-W48", link="/reports?week=2026-W48", now=EVENING)
    assert sorted(told(ada)) == [(way, "weekly report") for way in ("browser", "page", "webhook")]
