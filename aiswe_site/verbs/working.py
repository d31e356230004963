"""The verbs on runs, their tasks, and the questions that wait for a person."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agents.workspace.git import GitError, git
from aiswe_site.verbs import answers, facts
from aiswe_site.verbs.callers import Caller
from aiswe_site.verbs.lookup import (
    MOST,
    AnyProject,
    Cursor,
    Limit,
    Number,
    Reason,
    TaskKey,
    by_person,
    named_task,
    page_of,
    row_of,
    woken,
)
from dashboard.access import visibility
from projects.errors import BadInput, NotAllowed, NotFound
from projects.models import Approval, Event, Finding, Project, Run
from projects.services.decisions import approvals
from projects.services.delivery import state
from projects.services.delivery.downloads import git_dir_of
from projects.services.planning import runs
from projects.services.work import tasks

EVENTS = 500  # of one answer at most
After = Annotated[int, Field(ge=0, le=10**15, description="Leave out events up to this number.")]


def _approval(caller: Caller, row: Approval) -> answers.ApprovalAnswer:
    if row.status != row.Status.PENDING:
        return facts.approval_of(row, "It is decided.")
    return facts.approval_of(row, by_person(caller, "answer_approval", f"aiswe approvals answer {row.pk} yes|no"))


def list_runs(caller: Caller, project: AnyProject = "", cursor: Cursor = "", limit: Limit = MOST) -> answers.RunsAnswer:
    """List runs, newest first."""
    rows = visibility.counted(visibility.visible(Run, caller.user))
    rows = rows.filter(project=row_of(caller, Project, slug=project)) if project else rows
    found, following = page_of(rows, cursor, limit)
    return answers.RunsAnswer(runs=[facts.run_row_of(row) for row in found], next=following)


def run_status(caller: Caller, run: Number) -> answers.RunAnswer:
    """Tell how a run stands: its tasks, what it waits for, and what its model calls took."""
    return facts.run_of(row_of(caller, Run, pk=run))


def run_events(
    caller: Caller, run: Number, after: After = 0, limit: Annotated[int, Field(ge=1, le=EVENTS)] = 100
) -> answers.EventsAnswer:
    """Read the events of a run in order, a page at a time."""
    row = row_of(caller, Run, pk=run)
    rows = list(Event.objects.filter(run=row, seq__gt=after).select_related("task").order_by("seq")[:limit])
    found = [facts.event_of(one) for one in rows]
    return answers.EventsAnswer(run=row.pk, to=rows[-1].seq if rows else after, last=row.last_seq, events=found)


def pause_run(caller: Caller, run: Number) -> answers.RunAnswer:
    """Pause a run after its current steps; resume_run continues there."""
    return facts.run_of(runs.pause_run(row_of(caller, Run, pk=run), by=caller.user))


def resume_run(caller: Caller, run: Number) -> answers.RunAnswer:
    """Continue a paused, waiting or failed run where it stopped."""
    return facts.run_of(runs.resume_run(row_of(caller, Run, pk=run), by=caller.user), woken())


def cancel_run(caller: Caller, run: Number) -> answers.RunAnswer:
    """End a run for good: open tasks are cancelled; what was merged stays."""
    return facts.run_of(runs.cancel_run(row_of(caller, Run, pk=run), by=caller.user))


def say_to_run(
    caller: Caller,
    run: Number,
    text: Annotated[str, Field(min_length=1, max_length=4_000)],
    task: Annotated[str, Field(max_length=40, description='Key of the task that it is about; "" for none.')] = "",
) -> answers.EventAnswer:
    """Send the agents of a run a message; they read it before their next step."""
    row = row_of(caller, Run, pk=run)
    about = named_task(caller, run, task) if task else None
    return facts.event_of(runs.say(row, by=caller.user, text=text, task=about))


def run_findings(caller: Caller, run: Number, cursor: Cursor = "", limit: Limit = MOST) -> answers.FindingsAnswer:
    """List what scanners found in the changes of a run, oldest first."""
    rows = Finding.objects.filter(task__run=row_of(caller, Run, pk=run)).select_related("task")
    found, following = page_of(rows, cursor, limit, newest_first=False)
    return answers.FindingsAnswer(findings=[facts.finding_of(row) for row in found], next=following)


def run_result(caller: Caller, run: Number) -> answers.ResultAnswer:
    """Tell what a build amounts to: requirements met, size, tests, commit and branch, and what was left out."""
    return facts.result_of(state.result(row_of(caller, Run, pk=run)))


def run_diff(caller: Caller, run: Number) -> answers.DiffAnswer:
    """Show what a build changed, from the commit that it started from to its last."""
    row = row_of(caller, Run, pk=run)
    found = state.result(row)
    if not found.commit:
        raise NotFound(f"Run {row.pk} has merged nothing yet.")
    try:
        base = state.base_of(row)
        options = ("--no-ext-diff", "--no-textconv", "--no-color", "--text")
        diff = git(git_dir_of(row.project), "diff", *options, base, found.commit).stdout if base else ""
    except GitError as gone:
        raise NotFound(f"The commits of run {row.pk} cannot be compared: {gone}.") from None
    return facts.diff_of(row, base, found.commit, diff)


def task_evidence(caller: Caller, run: Number, task: TaskKey) -> answers.EvidenceAnswer:
    """Show what proves a task of a run: its tests, the findings of scanners, its diff and its commit."""
    return facts.evidence_of(named_task(caller, run, task))


def retry_task(
    caller: Caller, run: Number, task: TaskKey, note: Annotated[str, Field(max_length=4_000)] = ""
) -> answers.TaskAnswer:
    """Send an escalated, waiting or skipped task to the agents once more, with a note."""
    row = named_task(caller, run, task)
    tasks.retry_task(row, by=caller.user, note=note)
    row.refresh_from_db()
    woken()
    return facts.task_of(row)


def list_approvals(
    caller: Caller,
    project: AnyProject = "",
    which: Annotated[
        Literal["pending", "all"], Field(description="pending: those that your account can answer.")
    ] = "pending",
    cursor: Cursor = "",
    limit: Limit = MOST,
) -> answers.ApprovalsAnswer:
    """List the questions that wait for an answer of your account, oldest first; or all, also answered ones."""
    rows = approvals.pending_for(caller.user) if which == "pending" else visibility.visible(Approval, caller.user)
    rows = rows.filter(project=row_of(caller, Project, slug=project)) if project else rows
    found, following = page_of(rows, cursor, limit, newest_first=False)
    return answers.ApprovalsAnswer(approvals=[_approval(caller, row) for row in found], next=following)


def show_approval(caller: Caller, approval: Number) -> answers.ApprovalAnswer:
    """Show a question with everything it is about, and its answer if there is one."""
    return _approval(caller, row_of(caller, Approval, pk=approval))


def answer_approval(
    caller: Caller,
    approval: Number,
    answer: Literal["yes", "no"],
    subject: Annotated[str, Field(max_length=200, description="The subject of the question that the person saw.")],
    reason: Reason = "",
) -> answers.ApprovalAnswer:
    """Answer a question for good; a no needs a reason. A person's decision: call it only at their word."""
    row = row_of(caller, Approval, pk=approval)
    if subject != row.subject:
        raise BadInput("'subject' is not the subject of this approval; read it again with show_approval.")
    if approvals.verb_of(row) == "gate.override":
        raise NotAllowed("The second person of an override must be a human: decide it in the dashboard.")
    decided = approvals.decide(row, by=caller.user, yes=answer == "yes", reason=reason)
    woken()
    return _approval(caller, decided)
