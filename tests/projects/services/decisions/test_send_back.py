"""Sending a change back: what the agents read, who may, and what the trail says."""

from datetime import timedelta

import pytest
from django.utils import timezone

from projects.errors import BadInput, NotAllowed
from projects.models import Approval
from projects.services.decisions import approvals, send_back
from projects.services.work import approval_requests, findings
from tests.factories import make_finding, make_task, make_user
from tests.rows import fresh
from tests.texts import shows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]


def seen(mark, **more):
    row = {"tool": "bandit", "rule": "B602", "severity": "HIGH", "path": "app/run.py", "line": 4, "message": "a shell"}
    return {**row, "fingerprint": mark, **more}


def asked():
    """A task at its gate, and the question about it."""
    task = make_task(status="running")
    findings.record_findings(task, [seen("a")], attempt=1, blocking={"a"})
    question = approval_requests.ask(
        task.run.project, kind="gate", subject=f"{task.key}#1:a", title="gate", run=task.run, task=task
    )
    from projects.services.work.moves import move_task

    move_task(task, "needs_you")
    return task, question


def person(task, role):
    return make_user(role=role, project=task.run.project)


def test_the_agents_read_the_findings_in_a_fence_and_the_persons_words():
    task, question = asked()
    by = person(task, "developer")
    rows = list(task.findings.all())
    send_back.send_back(task, by=by, wanted=[send_back.ToFix(rows, "Pass a list.")], note="No shell at all.")
    question.refresh_from_db()
    assert (fresh(task).status, task.generation) == ("ready", 2)
    shows(task.note, "app/run.py:4: bandit B602 HIGH", "from=scanner\na shell\n", "Pass a list.")
    assert task.note.endswith("No shell at all.")
    assert (question.status, question.decided_by) == (Approval.Status.REJECTED, by)


def test_whoever_may_answer_the_gate_may_send_back_and_nobody_else():
    task, _ = asked()
    wanted = [send_back.ToFix(list(task.findings.all()))]
    with pytest.raises(NotAllowed):
        send_back.send_back(task, by=person(task, "auditor"), wanted=wanted)
    send_back.send_back(task, by=person(task, "security"), wanted=wanted)
    assert fresh(task).status == "ready"


def test_without_a_question_of_the_gate_it_is_a_retry_with_its_right():
    task = make_task(status="escalated")
    findings.record_findings(task, [seen("a")], attempt=1, blocking={"a"})
    with pytest.raises(NotAllowed, match=r"task\.retry"):
        send_back.send_back(task, by=person(task, "security"), wanted=[send_back.ToFix(list(task.findings.all()))])


def test_nothing_to_fix_and_too_much_to_fix_are_refused():
    task, _ = asked()
    by = person(task, "developer")
    with pytest.raises(BadInput, match="Nothing is left"):
        send_back.send_back(task, by=by, wanted=[])
    one = send_back.ToFix(list(task.findings.all()), "x" * 1_000)
    with pytest.raises(BadInput, match="Too much"):
        send_back.send_back(task, by=by, wanted=[one] * 9)
    assert fresh(task).status == "needs_you"


def test_approve_is_shut_while_something_undecided_blocks():
    task, question = asked()
    security = person(task, "security")
    with pytest.raises(BadInput, match="still blocks"):
        approvals.decide(question, by=security, yes=True)
    row = task.findings.get()
    until = timezone.now() + timedelta(days=7)
    findings.apply_disposition(row, by=security, disposition="accepted", reason="r", expires_at=until)
    assert approvals.decide(question, by=security, yes=True).status == "approved"


def test_alone_a_long_reason_and_an_early_end_stand_in_for_the_second_person():
    finding = make_finding()
    only = make_user(role="security", project=finding.task.run.project)
    given = {"by": only, "disposition": "accepted", "expires_at": timezone.now() + timedelta(days=7)}
    with pytest.raises(BadInput, match="30 characters"):
        findings.dispose(finding, reason="known", **given)
    long = "The command is a constant of this module; no input reaches it."
    with pytest.raises(BadInput, match="30 days"):
        findings.dispose(finding, reason=long, **{**given, "expires_at": timezone.now() + timedelta(days=60)})
    findings.dispose(finding, reason=long, **given)
    assert (finding.blocks, finding.decided_by, finding.seconded_by) == (False, only, None)
    last = finding.task.run.events.get(type="approval.decided")
    assert last.summary.startswith(f"{only.username} alone: ")


@pytest.mark.parametrize("second", [{"role": "security"}, {"superuser": True}])
def test_where_a_second_person_exists_one_is_asked_whatever_the_reason(second):
    finding = make_finding()
    project = finding.task.run.project
    only = make_user(role="security", project=project)
    make_user(project=project, **second)
    until = timezone.now() + timedelta(days=7)
    findings.dispose(finding, by=only, disposition="accepted", reason="a reason of many words" * 5, expires_at=until)
    assert (finding.blocks, finding.disposition) == (True, "")


def test_a_weakness_whose_line_was_rewritten_is_not_fixed():
    task = make_task(status="running")
    [first] = findings.record_findings(task, [seen("a")], attempt=1, blocking={"a"})
    [again] = findings.record_findings(task, [seen("b", line=9)], attempt=2, blocking={"b"})
    assert (again.pk, again.state, again.line, again.fingerprint) == (first.pk, "old", 9, "b")
    assert task.findings.filter(state="fixed").count() == 0
    findings.record_findings(task, [], attempt=3, blocking=set())
    assert task.findings.get().state == "fixed"


def test_a_decision_is_never_carried_over_to_rewritten_code():
    task = make_task(status="running")
    [row] = findings.record_findings(task, [seen("a")], attempt=1, blocking={"a"})
    findings.apply_disposition(row, by=person(task, "security"), disposition="accepted", reason="r", expires_at=None)
    [again] = findings.record_findings(task, [seen("b")], attempt=2, blocking={"b"})
    assert (again.pk == row.pk, again.disposition, again.blocks) == (False, "", True)
