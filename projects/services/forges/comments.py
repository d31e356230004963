"""What people write on our pull requests: kept as they wrote it, and work when somebody may ask for it.

A comment is a request of a person whose account on the forge is one of ours, with a role here that may start work, in
a project whose settings say so. Its words go to the model as a quotation; they decide nothing else. All other comments
are kept and change nothing.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from agents.forges.contract import Comment, Forge, ForgeRequest, Person
from agents.prompts.provenance import Source, label
from agents.secrets.redaction import redact
from agents.workspace.git import GitError, out
from agents.workspace.objects import NAME
from projects.errors import NotFound, ProjectsError
from projects.models import ForgeComment, ForgeDelivery, ForgePerson, PullRequest, Run
from projects.services.accounts.rights import can
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.sitelog import note
from projects.services.backlog.scheduler import held_up_by
from projects.services.delivery.downloads import git_dir_of
from projects.services.planning.request_work import REQUEST
from projects.services.planning.small_work import plan_document, small_document
from projects.services.work.locks import lock_project
from projects.storage.paths import repository_of

Outcome = ForgeComment.Outcome
VERB = "run.start"  # what a comment asks for
MOST_READ, MOST = 5_000, 1_000  # comments of one request that are read, and the newest of them, that are kept
MOST_CHARS = 4_000  # of one comment that are kept
AT_MOST_APART = timedelta(seconds=1)  # the times of a comment that nobody edited
AT_ONCE = 10  # comments that become one piece of work
SHOWN = 30  # comments and deliveries of one request on a page
AROUND = 2  # lines of code that are shown above and below the line of a comment
_TO_SOMEBODY = re.compile(r"\s*@([\w.-]{1,100})")
_PLAIN_PATH = re.compile(r"[\w./@+~-]{1,300}")


def look(request: PullRequest, forge: Forge, now: datetime) -> tuple[ForgeRequest, dict[tuple[str, str], Comment]]:
    """Ask the forge how the request is and what was written on it; what is new is kept. Raises ForgeRefused."""
    stands = forge.request(request.number)
    if request.state != stands.state:
        told = {"request": str(request), "merge_commit": stands.merge_commit}
        note("forge", f"request.{stands.state}", f"run {request.run_id}", told)
    PullRequest.objects.filter(pk=request.pk).update(state=stands.state, checked_at=now)
    request.state = stands.state
    me = forge.me()
    found = deque(islice(forge.comments(request.number), MOST_READ), maxlen=MOST)
    known = {(row.place, row.ident): row for row in request.comments.all()}
    new = [_row(request, one, me) for one in found if (one.place, one.ident) not in known]
    # Of two workers that look at once, one writes each row.
    ForgeComment.objects.bulk_create(new, ignore_conflicts=True)
    for one in found:
        row = known.get((one.place, one.ident))
        if row is not None and row.text != _words(one.text):
            _changed(row, ForgeComment.Changed.EDITED)
    if len(found) < MOST:
        there = {(one.place, one.ident) for one in found}
        for row in (row for name, row in known.items() if name not in there):
            _changed(row, ForgeComment.Changed.DELETED)
    return stands, {(one.place, one.ident): one for one in found}


def _words(text: str) -> str:
    return clean_text(str(redact(text)), MOST_CHARS)


def _changed(row: ForgeComment, what: ForgeComment.Changed) -> None:
    """Keep it. Words that another one may have put there begin nothing, nor do words that were taken back."""
    if row.changed == what:
        return
    row.changed = what
    if row.outcome == Outcome.TAKEN and row.run_id is None:
        row.outcome, row.why = Outcome.RECORDED, "Nothing was begun."
    ForgeComment.objects.filter(pk=row.pk).update(changed=row.changed, outcome=row.outcome, why=row.why)


def _row(request: PullRequest, one: Comment, me: Person) -> ForgeComment:
    row = ForgeComment(
        request=request,
        place=one.place,
        ident=clean_line(one.ident, 60),
        author_ident=clean_line(one.author.ident, 60),
        author_login=clean_line(one.author.login, 120),
        path=clean_line(one.path, 1000),
        line=one.line if one.line and one.line > 0 else None,
        text=_words(one.text),
        written_at=one.at,
    )
    row.user, row.why = _whose(request, one, me)
    if not row.why:
        row.outcome = Outcome.TAKEN
    return row


def _whose(request: PullRequest, one: Comment, me: Person) -> tuple[User | None, str]:
    """The user who wrote a comment, and why it is no request; "" when it is one."""
    link = request.link
    if one.author.ident == me.ident:
        return None, "Our own."
    if one.author.is_bot:
        return None, "Of a bot."
    row = ForgePerson.objects.filter(kind=link.kind, host=link.host, ident=one.author.ident).first()
    if row is None:
        return None, "Nobody here has this account."
    named = _TO_SOMEBODY.match(one.text)
    if not can(row.user, link.project, VERB):
        return row.user, f"Their role does not include {VERB}."
    if not link.takes_requests:
        return row.user, "Comments are not taken as requests here."
    if request.state != PullRequest.State.OPEN:
        return row.user, "The pull request is no longer open."
    if one.edited_at is not None and one.edited_at - one.at > AT_MOST_APART:  # perhaps by somebody else
        return row.user, "Edited before it was read."
    if not one.text.strip():
        return row.user, "It says nothing."
    if named and named[1].casefold() != me.login.casefold():
        return row.user, "It is for somebody else."
    if one.reply_to and not named:  # "Thanks!" is none
        return row.user, f"It answers another comment, and does not begin with @{clean_line(me.login, 60)}."
    if one.place != "line" and not named:  # "Looks good to me" is no request
        return row.user, f"It is not on a line, and does not begin with @{clean_line(me.login, 60)}."
    return row.user, ""


def begin(request: PullRequest, head: str) -> Run | None:
    """Have what one person asks for planned, when nothing else is going on; `head` is where the branch stands there."""
    project = request.link.project
    rows = request.comments.filter(outcome=Outcome.TAKEN, run=None).order_by("pk")
    if not rows.exists():
        return None
    if not request.link.takes_requests:
        rows.update(outcome=Outcome.RECORDED, why="Comments are no longer taken as requests here.")
        return None
    if head != request.commit:
        if _is_ours(request, head):  # a forge tells of a push only after a while
            rows.update(why="It waits: the forge does not show our last push yet.")
        else:
            why = "Not done: somebody else pushed to the branch since, so it is not ours to build on."
            rows.update(outcome=Outcome.REFUSED, why=why)
        return None
    if busy := held_up_by(project):
        rows.update(why=f"It waits: the project is at {busy}.")
        return None
    asked = list(rows.filter(user=rows[0].user_id)[:AT_ONCE])
    by = asked[0].user
    mine = ForgeComment.objects.filter(pk__in=[one.pk for one in asked], outcome=Outcome.TAKEN, run=None)
    try:
        with transaction.atomic():
            lock_project(project.pk)
            if by is None or mine.count() != len(asked):
                return None
            name = f"PR-{request.number}.{asked[0].pk}"
            run = plan_document(
                small_document(project, wish(request, asked), name=name, by=by, start={REQUEST: request.pk}), by=by
            )
            mine.update(run=run, why=f"Run {run.pk} plans it.")
            said = {"request": request.number, "comments": [one.ident for one in asked], "run": run.pk}
            note(by, "forge.comments_taken", project.slug, said)
    except ProjectsError as refused:
        mine.update(outcome=Outcome.REFUSED, why=clean_line(f"Not done: {refused}", 300))
        return None
    return run


def _is_ours(request: PullRequest, head: str) -> bool:
    """Whether a commit is one that ours builds on."""
    if not NAME.fullmatch(head):
        return False
    try:
        return not out(git_dir_of(request.link.project), "rev-list", "--max-count=1", head, f"^{request.commit}")
    except (GitError, NotFound):  # nobody here knows it
        return False


def wish(request: PullRequest, asked: Iterable[ForgeComment]) -> str:
    """The requirement: what is asked for, each comment a quotation that names its author and its place."""
    parts = [f"Change what the review comments on pull request {request.number} ask for, and nothing else."]
    for number, one in enumerate(asked, start=1):
        where, code = _place(request, one)
        parts.append(f"Comment {number}, by {one.user} on {where or 'the whole change'}:")
        parts.append(label(one.text, Source.COMMENT))
        if code:
            parts += ["The code there, with the numbers of its lines:", code]
    return "\n\n".join(parts)


def _place(request: PullRequest, one: ForgeComment) -> tuple[str, str]:
    """Which line of which file of ours a comment is on, and the code around it; "" for a name that is no file there."""
    if not _PLAIN_PATH.fullmatch(one.path):
        return "", ""
    try:
        text = repository_of(request.link.project).read(request.commit, one.path)
    except GitError:
        text = None
    if text is None:
        return "", ""
    lines = text.splitlines()
    if one.line is None or one.line > len(lines):
        return one.path, ""
    first = max(0, one.line - 1 - AROUND)
    numbered = enumerate(lines[first : one.line + AROUND], start=first + 1)
    shown = "\n".join(f"{number}: {line}" for number, line in numbered)
    return f"{one.path}, line {one.line}", label(str(redact(shown))[:1_000], Source.REPOSITORY, f"path={one.path}")


def requests_of(run: Run) -> list[PullRequest]:
    """The pull requests that a build belongs to, each with its newest comments, `shown`, and deliveries, `received`."""
    rows = PullRequest.objects.filter(Q(run=run) | Q(comments__run=run)).select_related("link").distinct()
    for request in rows:
        newest = request.comments.select_related("user").order_by("-pk")[:SHOWN]
        received = ForgeDelivery.objects.filter(link=request.link, number=request.number).order_by("-pk")[:SHOWN]
        vars(request).update(shown=newest[::-1], received=list(received))
    return list(rows)
