"""Do the rows that decide something still say what the trails recorded when it was decided?

Approvals, dispositions, plans, states and roles are ordinary rows that whoever owns the database can change. Each was
recorded in the transaction that wrote it: here every row is compared with its record. Call within `snapshot()`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import QuerySet

from agents.events.base import KINDS, EventKind
from agents.events.lifecycle import ApprovalDecided, PlanApproved, PlanRejected, RunMoved, TaskMoved
from agents.planning.model import content_hash
from agents.planning.parse import parse_plan
from projects.models import Approval, Event, Finding, Membership, Plan, Project, Run, SiteEvent, Task, Transition
from projects.models.project import Role
from projects.services.audit.canonical import clean_line
from projects.services.audit.checkpoints import NOTED

# States that nothing reaches without a move.
DECISIVE = frozenset({"approved", "rejected", "merged", "skipped", "finished", "failed", "cancelled"})
Moved = tuple[str, int]  # what a move is of: "run", "task" or "plan", and its id
CREATOR_ROLES = (Role.ARCHITECT, Role.MANAGER, Role.DEVELOPER)


@dataclass(frozen=True)
class Difference:
    """A row that is not what was recorded."""

    row: str  # "approval 12"
    problem: str


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything as of one moment, without holding up writers; inside a transaction it is that one."""
    if connection.in_atomic_block:
        yield
        return
    begin = "BEGIN" if connection.vendor == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    with connection.cursor() as cursor:
        cursor.execute(begin)
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def differences(run_id: int | None = None) -> list[Difference]:
    """Every deciding row that disagrees with the trails, of one run when given."""
    # Answers outside a run have been recorded since heads are counted.
    began = SiteEvent.objects.filter(action=NOTED).order_by("seq").values_list("at", flat=True).first()
    runs = {} if run_id is None else {"run": run_id}
    found = [*_decided(runs, began), *_moves(runs)]
    return found if run_id is not None else [*found, *_plans(began), *_roles()]


def _rows(types: frozenset[str], which: dict[str, int]) -> Iterator[Event]:
    return Event.objects.filter(type__in=types, **which).order_by("run_id", "seq").iterator(chunk_size=500)


def _kinds(parent: type[EventKind]) -> frozenset[str]:
    return frozenset(type_ for type_, kind in KINDS.items() if issubclass(kind, parent))


def _name(user: Any) -> str:
    return user.get_username() if user is not None else ""


def _decided(which: dict[str, int], began: datetime | None) -> Iterator[Difference]:
    """Approvals and dispositions against the answers in the trails."""
    answers: dict[int, tuple[str, ...]] = {}
    disposed: dict[int, tuple[str, ...]] = {}
    for event in _rows(frozenset({ApprovalDecided.type}), which):
        said = event.payload
        if said.get("approval") is not None:
            answers[said["approval"]] = (said["answer"], event.actor, said.get("reason", ""))
        elif said.get("finding") is not None:
            people = (said.get("first", ""), said.get("second", ""))
            disposed[said["finding"]] = (said["answer"], *people, said.get("reason", ""))
    for row in SiteEvent.objects.filter(action="approval.decided"):
        answers[row.detail["approval"]] = (row.detail["answer"], row.actor, row.detail.get("reason", ""))
    yield from _answered(which, began, answers)
    findings = Finding.objects.select_related("decided_by", "seconded_by")
    if which:
        findings = findings.filter(task__run=which["run"])
    for finding in findings.iterator(chunk_size=500):
        said_now = (finding.disposition, _name(finding.decided_by), _name(finding.seconded_by), finding.reason)
        then = disposed.get(finding.pk)
        if then is None and finding.disposition:
            yield Difference(f"finding {finding.pk}", f"it is {finding.disposition}, and no trail records who said so")
        elif then is not None and then != said_now:
            yield _differs("finding", finding.pk, said_now, then)


def _answered(
    which: dict[str, int], began: datetime | None, answers: dict[int, tuple[str, ...]]
) -> Iterator[Difference]:
    approvals = Approval.objects.filter(**which).select_related("decided_by")
    for approval in approvals.iterator(chunk_size=500):
        now = (approval.status, _name(approval.decided_by), approval.reason)
        recorded = answers.get(approval.pk)
        old = approval.run_id is None and (began is None or (approval.decided_at or began) < began)
        if approval.status == Approval.Status.PENDING:
            if recorded:
                yield _differs("approval", approval.pk, "pending", recorded[:2])
        elif recorded is None and not old:
            yield Difference(f"approval {approval.pk}", f"it is {now[0]}, and no trail records that anybody decided it")
        elif recorded is not None and recorded != now:
            yield _differs("approval", approval.pk, now, recorded)


def _differs(kind: str, pk: int, now: object, recorded: object) -> Difference:
    def words(value: object) -> str:
        return ", ".join(str(part) or "–" for part in value) if isinstance(value, tuple) else str(value)

    return Difference(f"{kind} {pk}", f"it says “{words(now)}”; the trail recorded “{words(recorded)}”")


def _moves(which: dict[str, int]) -> Iterator[Difference]:
    """The history and the state of runs and tasks against the moves in the streams; of plans against the history."""
    recorded: dict[Moved, list[tuple[str, str, str, str]]] = defaultdict(list)
    for event in _rows(_kinds(TaskMoved) | _kinds(RunMoved), which):
        kind, pk = ("task", event.task_id) if event.task_id is not None else ("run", event.run_id)
        said = event.payload
        recorded[kind, int(pk)].append((said["from"], said["to"], clean_line(said["reason"], 300), event.actor))
    states = _states(which)
    history: dict[Moved, list[tuple[str, str, str, str]]] = defaultdict(list)
    for move in Transition.objects.order_by("pk").iterator(chunk_size=500):
        key = (move.kind, move.object_id)
        if key in states or (not which and key in recorded):
            history[key].append((move.old, move.new, move.reason, move.actor))
    for key in sorted(states.keys() | history.keys() | recorded.keys()):
        kind, pk = key
        there = history[key]
        if kind != "plan" and there != recorded[key]:
            pairs = zip([*there, None], [*recorded[key], None], strict=False)
            number = next(n for n, (one, other) in enumerate(pairs, start=1) if one != other)
            yield Difference(f"{kind} {pk}", f"move {number} of its history is not the one that the stream recorded")
        elif there and key in states and states[key] != there[-1][1]:
            yield _differs(kind, pk, states[key], there[-1][1])
        elif not there and key in states and states[key] in DECISIVE:
            yield Difference(f"{kind} {pk}", f"it is {states[key]}, and its history records no move")


def _states(which: dict[str, int]) -> dict[Moved, str]:
    rows: dict[str, QuerySet[Any]] = {
        "run": Run.objects.filter(**({"pk": which["run"]} if which else {})),
        "task": Task.objects.filter(**which),
        "plan": Plan.objects.none() if which else Plan.objects.all(),
    }
    return {(kind, pk): status for kind, found in rows.items() for pk, status in found.values_list("pk", "status")}


def _plans(began: datetime | None) -> Iterator[Difference]:
    """Decided plans against what was approved or sent back, and their content against its hash."""
    recorded: dict[int, dict[str, tuple[str, str]]] = defaultdict(dict)
    for event in _rows(frozenset({PlanApproved.type, PlanRejected.type}), {}):
        recorded[event.payload["plan"]][event.type] = (event.payload["hash"], event.actor)
    for row in SiteEvent.objects.filter(action__in=(PlanApproved.type, PlanRejected.type)):
        recorded[row.detail["plan"]][row.action] = (row.detail["hash"], row.actor)
    for plan in Plan.objects.select_related("decided_by").iterator(chunk_size=100):
        if plan.content_hash:
            parsed, _ = parse_plan(plan.content)
            if parsed is None or content_hash(parsed) != plan.content_hash:
                yield Difference(f"plan {plan.pk}", "its content does not match its hash")
        if plan.decided_at is None and plan.status not in (Plan.Status.APPROVED, Plan.Status.REJECTED):
            continue
        wanted = {"approved": PlanApproved.type, "rejected": PlanRejected.type}.get(str(plan.status), "")
        records = recorded[plan.pk]
        then = records.get(wanted) if wanted else next(iter(records.values()), None)
        now = (plan.content_hash, _name(plan.decided_by) or "autonomy")
        if then is None:
            if records or (began is not None and plan.decided_at is not None and plan.decided_at >= began):
                yield Difference(f"plan {plan.pk}", f"it is {plan.status}, and no trail records that decision")
        elif then != now and (wanted or now not in records.values()):
            yield _differs("plan", plan.pk, now, then)


def _roles() -> Iterator[Difference]:
    """Who has which role, against what was given and taken. What a project's creator gets with it needs no record."""
    projects = {each.slug: each for each in Project.objects.select_related("created_by")}
    wanted = {(slug, _name(each.created_by), str(role)) for slug, each in projects.items() for role in CREATOR_ROLES}
    for row in SiteEvent.objects.filter(action__in=("role.given", "role.taken")).order_by("seq"):
        given = (str(row.detail.get("project")), row.subject, str(row.detail.get("role")))
        (wanted.add if row.action == "role.given" else wanted.discard)(given)
    rows = Membership.objects.select_related("project", "user")
    there = {(each.project.slug, each.user.get_username(), each.role): each.pk for each in rows}
    people = set(get_user_model().objects.values_list("username", flat=True))
    for slug, name, role in sorted(set(there) - wanted):
        words = f"{name} is {role} of {slug}, and the site's trail does not record that the role was given"
        yield Difference(f"role {there[slug, name, role]}", words)
    for slug, name, role in sorted(wanted - set(there)):
        if slug in projects and name in people:
            yield Difference("role", f"{name} is not {role} of {slug} any more, and no trail records that it was taken")
