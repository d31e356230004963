"""From comments that were taken as work to a new commit on the branch of the pull request, and an answer below each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from django.db import transaction
from django.db.models import Q, QuerySet

from agents.forges.contract import Comment, Forge, ForgeRefused
from agents.forges.github import quoting
from agents.workspace.git import GitError, out
from projects.errors import BadInput, IllegalMove, ProjectsError
from projects.models import ForgeComment, Plan, PullRequest, Run
from projects.services.audit.canonical import clean_line
from projects.services.audit.sitelog import note
from projects.services.delivery.downloads import git_dir_of, result_of
from projects.services.planning import runs
from projects.services.planning.request_work import AGAIN_AT, ENDED, open_work

Outcome = ForgeComment.Outcome
# Puts what a run made on the branch of the request; the branch that it went to instead, "" for that one. Raises
# ForgeRefused when the forge is to be left alone for a while, BadInput when it lets nothing in, and IllegalMove when
# there is nothing open to put it on.
Push = Callable[[PullRequest, Run], str]
# What stands for the name of an answer: while it is sent, so that no other worker sends it too; when the forge broke
# off and may have written it; and when it can never be written.
SENDING, UNSURE, NEVER = "…", "?", "-"
AGAIN = 600  # seconds until results are pushed again that were not let in
NAMED = 8  # changed files that an answer names


def follow(request: PullRequest, push: Push) -> None:
    """See how planning and building of what was asked go, and push what came of them. Raises ForgeRefused."""
    for document in open_work(request):
        run = document.runs.filter(kind__in=(Run.Kind.PLAN, Run.Kind.BUILD)).order_by("-pk").first()
        if run is None:
            continue  # a person has not confirmed it
        try:
            _plan(request, run) if run.kind == Run.Kind.PLAN else _build(request, run, push)
        except ProjectsError as refused:
            _say(run, f"It waits: {refused}")


def _plan(request: PullRequest, run: Run) -> None:
    plan = Plan.objects.filter(document=run.document).order_by("-version").first()
    if plan is not None and plan.status == Plan.Status.APPROVED:
        built = runs.start_build(plan, by=run.started_by)
        _say(built, f"Run {built.pk} builds it.")
    elif plan is not None and plan.status == Plan.Status.PROPOSED:
        _say(run, f"The plan of run {run.pk} waits for a yes.")
    elif run.status in Run.OVER:
        _end(request, run, f"Not done: run {run.pk}, which planned it, made no plan.")


def _build(request: PullRequest, run: Run, push: Push) -> None:
    if run.status == Run.Status.NEEDS_YOU:
        return _say(run, f"Run {run.pk} waits for a person.")
    if run.status not in Run.OVER:
        return _say(run, f"Run {run.pk} builds it.")
    if run.status != Run.Status.FINISHED:
        return _end(request, run, f"Not done: run {run.pk}, which built it, {run.get_status_display().lower()}.")
    # Not what was pushed last: that is this commit when a try before this one broke off after the push.
    commit, before = result_of(run), run.base_commit or request.commit
    if not commit or commit == before:
        return _end(request, run, f"Not done: run {run.pk} changed nothing.")
    document = run.document
    assert document is not None  # noqa: S101  its runs were asked for
    if document.start.get(AGAIN_AT, 0) > time.time():
        return None
    try:
        aside = push(request, run)
    except IllegalMove as refused:
        return _end(request, run, f"Not pushed: {refused} Run {run.pk} has the result.")
    except BadInput:
        document.start |= {AGAIN_AT: time.time() + AGAIN}
        document.save(update_fields=["start"])
        raise
    if aside:
        return _end(request, run, f"Done by run {run.pk}, on another branch: `{clean_line(aside, 200)}`.")
    changed = _changed(request, before, commit)
    return _end(request, run, f"Done in {commit[:10]} by run {run.pk}. Changed: {changed}.", Outcome.ANSWERED)


def _changed(request: PullRequest, before: str, after: str) -> str:
    """The names of the changed files: what git says, nothing that a model wrote."""
    try:
        rows = out(git_dir_of(request.link.project), "diff", "--name-only", "-z", before, after).split("\0")
    except GitError:
        return "see the commit"
    names = [clean_line(one.replace("`", "'"), 80) for one in rows if one]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(f"`{one}`" for one in names[:NAMED]) + more


def _say(run: Run, why: str) -> None:
    _rows(run).update(why=clean_line(why, 300), run=run)


def _end(request: PullRequest, run: Run, why: str, outcome: str = Outcome.REFUSED) -> None:
    document, project = run.document, request.link.project
    assert document is not None  # noqa: S101  its runs were asked for
    with transaction.atomic():
        _rows(run).update(why=clean_line(why, 300), outcome=outcome, run=run)
        document.start |= {ENDED: why}
        document.save(update_fields=["start"])
        note("forge", "forge.request_followed", project.slug, {"request": request.number, "run": run.pk, "text": why})


def _rows(run: Run) -> QuerySet[ForgeComment]:
    """The comments that a run works on."""
    return ForgeComment.objects.filter(run__document=run.document_id, outcome=Outcome.TAKEN)


def unanswered() -> Q:
    """The comments below which it is to be said what came of them."""
    asked = Q(request__link__takes_requests=True)
    return (
        asked
        & Q(outcome__in=(Outcome.ANSWERED, Outcome.REFUSED), answer_ident__in=("", UNSURE))
        & ~Q(changed=ForgeComment.Changed.DELETED)
    )


def send(request: PullRequest, forge: Forge, found: Mapping[tuple[str, str], Comment]) -> None:
    """Write what came of each comment below it, once. `found` are the comments as they stand on the forge.

    An answer that can never be written keeps no other back. Raises ForgeRefused.
    """
    for row in request.comments.filter(unanswered()):
        comment = found.get((row.place, row.ident))
        mine = ForgeComment.objects.filter(pk=row.pk, answer_ident=row.answer_ident)
        if comment is None or not mine.update(answer_ident=SENDING):
            continue
        kept = ForgeComment.objects.filter(pk=row.pk)
        try:
            written = _written(request, forge, row, comment, found) if row.answer_ident == UNSURE else None
            answer = written or forge.reply(request.number, comment, row.why)
        except ForgeRefused as refused:
            if refused.definite:
                why = clean_line(f"The answer could not be written: {refused} {row.why}", 300)
                kept.update(answer_ident=NEVER, why=why)
                continue
            kept.update(answer_ident=row.answer_ident if 400 <= refused.status < 500 else UNSURE)
            raise
        kept.update(answer_ident=clean_line(answer.ident, 60))


def _written(
    request: PullRequest, forge: Forge, row: ForgeComment, to: Comment, found: Mapping[tuple[str, str], Comment]
) -> Comment | None:
    """Our answer to a comment, when it is there though the forge broke off while it was sent."""
    me = forge.me().ident
    others = set(request.comments.values_list("answer_ident", flat=True))
    for one in found.values():
        if one.author.ident != me or one.ident in others:
            continue
        below = one.reply_to in (to.ident, to.reply_to or to.ident) or (to.thread and one.thread == to.thread)
        if one.text.strip() == (row.why if below else quoting(to, row.why)).strip():
            return one
    return None
