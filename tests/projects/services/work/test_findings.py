from datetime import timedelta
from itertools import product

import pytest
from django.utils import timezone

from projects.errors import BadInput, NotAllowed
from projects.models import Event, Finding
from projects.services.work import findings
from tests.factories import make_finding, make_task, make_user
from tests.rows import fresh, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def seen(name: str, **more):
    row = {"tool": "bandit", "rule": "B602", "severity": "MEDIUM", "confidence": "HIGH", "cwe": "CWE-78"}
    place = {"path": "app/a.py", "line": 3, "message": "shell=True", "remediation": "a list"}
    return {"fingerprint": name, **row, **place, **more}


def states(task):
    return dict(Finding.objects.filter(task=task).values_list("fingerprint", "state"))


def test_findings_are_new_then_known_then_fixed_then_new_again():
    task = make_task(status="running")
    findings.record_findings(task, [seen("a"), seen("b")], attempt=1, blocking={"a"})
    assert states(task) == {"a": "new", "b": "new"}
    findings.record_findings(task, [seen("a")], attempt=2, blocking={"a"})
    assert states(task) == {"a": "old", "b": "fixed"}
    findings.record_findings(task, [seen("b")], attempt=3, blocking=set())
    assert states(task) == {"a": "fixed", "b": "new"}
    assert Event.objects.filter(run=task.run, type="gate.finding").count() == 3


HERE, THERE, CODE = "1" * 32, "2" * 32, "c" * 32


@pytest.mark.parametrize(("moves", "decided"), [(True, False), (True, True), (False, True)])
def test_a_weakness_that_moved_or_has_another_source_is_not_fixed_and_a_decision_about_it_ends(moves, decided):
    task = make_task(status="running")
    [row] = findings.record_findings(task, [seen(HERE + CODE)], attempt=1, blocking={HERE + CODE})
    if decided:
        person = make_user(role="developer", project=task.run.project)
        until = timezone.now() + timedelta(days=3)
        findings.dispose(row, by=person, disposition="accepted", reason="internal", expires_at=until)
    place = {"path": "app/b.py", "line": 8} if moves else {}
    [now] = findings.record_findings(task, [seen(THERE + CODE, **place)], attempt=2, blocking={THERE + CODE})
    assert (now.pk, now.path, now.state, now.blocks) == (row.pk, place.get("path", "app/a.py"), "old", True)
    assert now.line == place.get("line", 3)
    assert findings.disposed(task) == set()
    assert not Event.objects.filter(run=task.run, type="gate.fixed").exists()
    if moves:
        event = Event.objects.get(run=task.run, type="gate.moved")
        assert event.summary.startswith("bandit B602 moved from app/a.py to app/b.py:8")
        assert ("decision about it has ended" in event.summary) is decided
    findings.record_findings(task, [], attempt=3, blocking=set())
    assert states(task) == {THERE + CODE: "fixed"}


def test_a_copy_is_a_new_weakness_and_other_code_elsewhere_is_no_move():
    task = make_task(status="running")
    findings.record_findings(task, [seen(HERE + CODE)], attempt=1, blocking=set())
    findings.record_findings(task, [seen(HERE + CODE), seen(THERE + CODE, path="app/b.py")], attempt=2, blocking=set())
    assert states(task) == {HERE + CODE: "old", THERE + CODE: "new"}
    other = seen("3" * 32 + "d" * 32, path="app/c.py")
    findings.record_findings(task, [other], attempt=3, blocking=set())
    assert sorted(states(task).values()) == ["fixed", "fixed", "new"]


def test_recording_one_attempt_twice_changes_nothing():
    task = make_task(status="running")
    for _ in range(2):
        present = findings.record_findings(task, [seen("a"), seen("b")], attempt=1, blocking={"b"})
    assert [row.fingerprint for row in present] == ["b", "a"]
    assert states(task) == {"a": "new", "b": "new"}
    assert Event.objects.filter(run=task.run, type="gate.finding").count() == 2


def test_secrets_in_a_message_are_not_kept():
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    task = make_task(status="running")
    [row] = findings.record_findings(task, [seen("a", message=f"found {token}")], attempt=1, blocking=set())
    assert token not in row.message


def test_a_developer_disposes_of_a_medium_finding_until_it_expires():
    finding = make_finding(severity="MEDIUM", fingerprint="a")
    task = finding.task
    person = make_user(role="developer", project=task.run.project)
    findings.dispose(
        finding,
        by=person,
        disposition="accepted",
        reason="internal tool",
        expires_at=timezone.now() + timedelta(days=3),
    )
    assert (finding.blocks, finding.decided_by) == (False, person)
    assert findings.disposed(task) == {"a"}
    [row] = findings.record_findings(task, [seen("a")], attempt=2, blocking={"a"})
    assert not row.blocks
    Finding.objects.filter(pk=finding.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert findings.disposed(task) == set()
    [row] = findings.record_findings(task, [seen("a")], attempt=3, blocking={"a"})
    assert row.blocks


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"disposition": "ignored"}, "ignored"),
        ({"reason": "  "}, "Give a reason"),
        ({"expires_at": timezone.now() - timedelta(days=1)}, "future"),
        ({"expires_at": timezone.now() + timedelta(days=800)}, "a year"),
    ],
)
def test_a_disposition_that_is_not_complete_is_refused(more, word):
    finding = make_finding(severity="MEDIUM")
    person = make_user(role="security", project=finding.task.run.project)
    given = {"disposition": "accepted", "reason": "because", "expires_at": None, **more}
    with pytest.raises(BadInput, match=word):
        findings.dispose(finding, by=person, **given)
    assert fresh(finding).blocks


@each_row("severity, disposition", list(product(["HIGH", "ERROR", "CRITICAL", "high"], findings.DISPOSITIONS)))
@undone()
def test_a_developer_cannot_wave_a_severe_finding_through_by_any_name(severity, disposition):
    finding = make_finding(severity=severity)
    with pytest.raises(NotAllowed, match="security"):
        findings.dispose(
            finding,
            by=make_user(role="developer", project=finding.task.run.project),
            disposition=disposition,
            reason="trust me",
            expires_at=timezone.now() + timedelta(days=1),
        )


def test_the_second_person_is_another_one_with_the_right():
    finding = make_finding()
    project = finding.task.run.project
    first = make_user(role="security", project=project)
    given = {"disposition": "override", "reason": "r", "expires_at": timezone.now() + timedelta(days=1)}
    with pytest.raises(BadInput, match="name someone else"):
        findings.dispose(finding, by=first, second=first, **given)
    with pytest.raises(NotAllowed, match="may not override"):
        findings.dispose(finding, by=first, second=make_user(role="developer", project=project), **given)
    with pytest.raises(BadInput, match="expiry date"):
        findings.dispose(finding, by=first, **{**given, "expires_at": None})
