"""Verbs on plans: propose, edit, approve, send back. An approval binds to one content hash; runs.py then builds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.events.base import counted
from agents.events.lifecycle import PlanApproved, PlanChanged, PlanEdited, PlanProposed, PlanRefused, PlanRejected
from agents.secrets.redaction import redact
from projects.errors import BadInput, LostRace, StaleVersion
from projects.models import Approval, Plan, RequirementDocument, Run
from projects.models.project import NO_APPROVAL, Autonomy
from projects.services.accounts.rights import can, require
from projects.services.audit.canonical import clean_json, clean_text
from projects.services.audit.events import emit
from projects.services.audit.sitelog import note
from projects.services.planning.plan_edits import without_agents
from projects.services.planning.plan_rules import contradiction_problems, examine, odd_problems
from projects.services.planning.runs import start_planning
from projects.services.work.approval_requests import ask, close_approval, close_questions
from projects.services.work.locks import lock_project, lock_run
from projects.services.work.moves import move_plan

REFUSED = "plan.refused"


def newest_plan(document: RequirementDocument) -> Plan | None:
    """The document's latest version of a plan, whatever its state."""
    return Plan.objects.filter(document=document).order_by("-version").first()


def propose_plan(
    document: RequirementDocument,
    *,
    content: Mapping[str, Any],
    by: User | None = None,
    comment: str = "",
    run: Run | None = None,
) -> Plan:
    """Store a plan as the next version and ask for approval; `by` is None when the planner made it.

    A plan that validation refuses is stored as INVALID with its problems. The same content as the newest version
    returns that version. Where the project's autonomy needs no approval, the plan is approved immediately.
    """
    if by is not None:
        require(by, document.project, "plan.edit")
    return _store(document, content, by=by, comment=comment, run=run, base=None, kind=PlanProposed)


def edit_plan(
    plan: Plan, *, content: Mapping[str, Any], by: User, comment: str = "", base_hash: str, run: Run | None = None
) -> Plan:
    """Store a changed plan as a new version; `base_hash` is the content hash the editor started from.

    The same content as the newest version returns that version. Raises NotAllowed, StaleVersion when `base_hash` is not
    the newest version any more, and BadInput for a plan that is not valid: of that, the trail alone keeps why.
    """
    require(by, plan.project, "plan.edit")
    try:
        return _store(plan.document, content, by=by, comment=comment, run=run, base=base_hash, kind=PlanEdited)
    except BadInput as refusal:
        _refused(plan, " ".join(filter(None, [str(refusal), comment])), by)
        raise


def _refused(plan: Plan, why: str, by: User) -> None:
    """Keep on the trail that a change of a plan was refused, and why."""
    run = planning_run(plan.document)
    if run is None:
        note(by, REFUSED, str(plan), {"plan": plan.pk, "why": why[:1_000]})
        return
    event = PlanRefused(
        summary=f"a change of plan v{plan.version} was refused: {why}",
        role="user",
        outcome="fail",
        plan=plan.pk,
        version=plan.version,
        hash=plan.content_hash,
        problems=[],
        comment=why[:1_000],
    )
    emit(run.pk, event, actor=by.get_username())


def _store(
    document: RequirementDocument,
    content: Mapping[str, Any],
    *,
    by: User | None,
    comment: str,
    run: Run | None,
    base: str | None,
    kind: type[PlanChanged],
) -> Plan:
    content = dict(content) if by is not None else without_agents(content)
    found = examine(clean_json(redact(clean_json(content))), document, order=True)
    given, digest, invalid = found.content, found.digest, bool(found.first_error)
    actor = by.get_username() if by is not None else ""
    run = run or planning_run(document)
    with transaction.atomic():
        if run is not None:
            lock_run(run.pk)
        project = lock_project(document.project_id)
        newest = newest_plan(document)
        if base is not None:
            _check_edit(newest, base, found.first_error)
        usable = (Plan.Status.PROPOSED, Plan.Status.INVALID, Plan.Status.APPROVED)
        if newest is not None and digest and newest.content_hash == digest and newest.status in usable:
            return newest
        last = Plan.objects.filter(project=project).order_by("-version").values_list("version", flat=True).first() or 0
        plan = Plan.objects.create(
            project=project,
            document=document,
            version=last + 1,
            content=given,
            content_hash=digest,
            problems=[*found.problems, *contradiction_problems(document), *odd_problems(document, given)],
            comment=clean_text(str(redact(comment)), 4_000),
            created_by=by,
        )
        _supersede_open(plan, actor)
        move_plan(plan, Plan.Status.INVALID if invalid else Plan.Status.PROPOSED, reason=comment, actor=actor)
        state = f"not valid: {found.first_error}" if invalid else counted(len(given["tasks"]), "task")
        verb = "proposed" if kind is PlanProposed else "edited"
        _tell(run, plan, kind, f"plan v{plan.version} {verb}: {state}", actor, "fail" if invalid else "ok")
        if not invalid and document.autonomy_in_force in NO_APPROVAL:
            level = Autonomy(document.autonomy_in_force).label
            _approve(plan, run, by=None, reason=f"autonomy is “{level}”")
        elif not invalid:
            ask(
                **_question(plan),
                title=f"Approve plan v{plan.version} of {project.name}",
                run=run,
                why="Nothing is written or run before the plan is approved.",
                on_yes=f"Plan v{plan.version} is pinned by its hash and can be built.",
                on_no="Your comment goes back to the planner or to the editor; nothing is built.",
                payload={"plan": plan.pk, "version": plan.version, "tasks": len(given["tasks"])},
            )
    return plan


def _check_edit(newest: Plan | None, base: str, error: str) -> None:
    if newest is None or newest.content_hash != base:
        version = f"v{newest.version}" if newest else "gone"
        raise StaleVersion(f"The plan has changed; the newest version is {version}. Review it first.")
    if error:
        raise BadInput(error)


def _supersede_open(plan: Plan, actor: str) -> None:
    undecided, why = (Plan.Status.DRAFTING, Plan.Status.PROPOSED, Plan.Status.INVALID), f"v{plan.version} superseded it"
    for older in Plan.objects.filter(project=plan.project, status__in=undecided).exclude(pk=plan.pk):
        move_plan(older, Plan.Status.SUPERSEDED, reason=why, actor=actor)
        close_questions(why, **_question(older))


def planning_run(document: RequirementDocument) -> Run | None:
    """The newest run that planned the document: its trail tells what became of its plans."""
    return Run.objects.filter(document=document, kind=Run.Kind.PLAN).order_by("-pk").first()


def is_confirmed(run: Run) -> bool:
    """Whether the requirements of the document that a run plans are confirmed."""
    return run.document is not None and run.document.status == RequirementDocument.Status.CONFIRMED


def _question(plan: Plan) -> dict[str, Any]:
    return {"project": plan.project, "kind": Approval.Kind.PLAN, "subject": plan.content_hash}


def _tell(run: Run | None, plan: Plan, kind: type[PlanChanged], summary: str, actor: str, outcome: str) -> None:
    if run is not None:
        changed = kind(
            summary=summary,
            role="user" if actor else "planner",
            outcome=outcome,
            plan=plan.pk,
            version=plan.version,
            hash=plan.content_hash,
            problems=plan.problems,
            comment=plan.comment,
        )
        emit(run.pk, changed, actor=actor)


def approve_plan(plan: Plan, *, content_hash: str, by: User, comment: str = "") -> Plan:
    """Approve exactly the content with this hash.

    Of two decisions at the same moment one wins. Raises NotAllowed, BadInput (the plan is not valid), StaleVersion
    (another content, or a newer version exists) and LostRace (decided already).
    """
    require(by, plan.project, "plan.approve")
    with transaction.atomic():
        current, run = _current(plan, content_hash)
        _approve(current, run, by=by, reason=comment)
    plan.refresh_from_db()
    return plan


def _current(plan: Plan, content_hash: str | None) -> tuple[Plan, Run | None]:
    """The plan's row under the project's lock, checked to be the one to decide on, and the run to notify."""
    run = planning_run(plan.document)
    if run is not None:
        lock_run(run.pk)
    lock_project(plan.project_id)
    current = Plan.objects.select_related("project", "document").get(pk=plan.pk)
    newest = newest_plan(current.document)
    if content_hash is not None and current.content_hash != content_hash:
        raise StaleVersion(f"Plan v{current.version} is not the content you reviewed.")
    if newest is not None and newest.pk != current.pk:
        raise StaleVersion(f"Plan v{current.version} is not the newest; v{newest.version} is.")
    if current.status == Plan.Status.INVALID and content_hash is not None:
        raise BadInput(f"Plan v{current.version} is not valid: {_first_problem(current)}")
    if current.status not in (Plan.Status.PROPOSED, Plan.Status.INVALID):
        raise LostRace(f"Plan v{current.version} has already been decided: it is {current.status}.")
    return current, run


def _first_problem(plan: Plan) -> str:
    return next((str(problem.get("message")) for problem in plan.problems), "validation refused it.")


def _approve(plan: Plan, run: Run | None, *, by: User | None, reason: str) -> None:
    actor = by.get_username() if by is not None else "autonomy"
    found = examine(plan.content, plan.document)
    if found.digest != plan.content_hash:
        raise StaleVersion(f"The stored content of plan v{plan.version} does not match its hash.")
    if found.first_error:
        raise BadInput(f"Plan v{plan.version} is no longer valid: {found.first_error}")
    move_plan(plan, Plan.Status.APPROVED, reason=reason, actor=actor, decided_by=by, decided_at=timezone.now())
    for older in Plan.objects.filter(project=plan.project, status=Plan.Status.APPROVED).exclude(pk=plan.pk):
        move_plan(older, Plan.Status.SUPERSEDED, reason=f"v{plan.version} was approved", actor=actor)
    _answer(plan, Approval.Status.APPROVED, by=by, reason=reason)
    text = f"{actor} approved plan v{plan.version}" + (f" · {reason}" if reason else "")
    _tell(run, plan, PlanApproved, text, actor, "ok")
    if run is None:
        note(actor, "plan.approved", str(plan), {"plan": plan.pk, "hash": plan.content_hash})


def ask_for_changes(plan: Plan, *, by: User, comment: str) -> Plan:
    """Reject the plan with what should change; nothing is built, and the planner starts on a new version.

    Raises NotAllowed, BadInput, StaleVersion and LostRace.
    """
    require(by, plan.project, "plan.approve")
    if not comment.strip():
        raise BadInput("Describe what should change: the comment goes to the planner.")
    with transaction.atomic():
        current, run = _current(plan, None)
        move_plan(
            current,
            Plan.Status.REJECTED,
            reason=comment,
            actor=by.get_username(),
            decided_by=by,
            decided_at=timezone.now(),
            comment=clean_text(comment, 4_000),
        )
        _answer(current, Approval.Status.REJECTED, by=by, reason=comment)
        text = f"{by.get_username()} asked for changes to plan v{current.version} · {comment}"
        _tell(run, current, PlanRejected, text, by.get_username(), "fail")
        if run is None:
            note(by, "plan.rejected", str(current), {"plan": current.pk, "hash": current.content_hash})
        if can(by, current.project, "run.start"):
            start_planning(current.document, by=by)
    plan.refresh_from_db()
    return plan


def _answer(plan: Plan, status: str, *, by: User | None, reason: str) -> None:
    for approval in Approval.objects.filter(status=Approval.Status.PENDING, **_question(plan)):
        close_approval(approval, status, by=by, reason=reason)
