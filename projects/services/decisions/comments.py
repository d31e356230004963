"""Reviewing a task's change: comments on its lines, sent as one request for changes, and files ticked as read."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.events.effects import SystemNotice
from agents.prompts.provenance import Source, label
from agents.secrets.redaction import redact
from projects.errors import BadInput, NotAllowed
from projects.models import LineComment, ReviewedFile, Task
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.events import emit
from projects.services.decisions.send_back import WORDS, request_changes, verb_for

MOST = 20  # comments of one person in one request
QUOTE = 300  # characters of a line
TICK_VERB = "approval.decide"  # whoever decides reviews


def drafts_of(task: Task, by: User) -> list[LineComment]:
    """What this person has written and not sent."""
    return list(task.line_comments.filter(author=by, sent_at=None))


def add_comment(task: Task, *, by: User, path: str, line: int, removed: bool, quote: str, text: str) -> LineComment:
    """Add a comment on a line to the person's draft. Raises NotAllowed and BadInput."""
    require(by, task.run.project, verb_for(task))
    words = clean_text(str(redact(text)).strip(), WORDS)
    if not words:
        raise BadInput("Write a comment.")
    if len(drafts_of(task, by)) >= MOST:
        raise BadInput(f"{MOST} comments are the most for one request. Send these first.")
    return LineComment.objects.create(
        task=task,
        author=by,
        path=clean_line(path, 400),
        line=line,
        removed=removed,
        quote=clean_text(str(redact(quote)), QUOTE).replace("\n", " "),
        text=words,
    )


def discard_comment(comment: LineComment, *, by: User) -> None:
    """Drop a comment from one's own draft. Raises NotAllowed, and BadInput for one that was sent."""
    if comment.author_id != by.pk:
        raise NotAllowed("Only its author can drop a comment.")
    if not LineComment.objects.filter(pk=comment.pk, sent_at=None).delete()[0]:
        raise BadInput("It was sent already.")


def send_comments(task: Task, *, by: User) -> int:
    """Send the person's draft to the agents as one request for changes, the note of the task's next try.

    Returns how many comments went. Raises NotAllowed, BadInput (none, or too long together), IllegalMove and LostRace.
    """
    require(by, task.run.project, verb_for(task))
    with transaction.atomic():
        drafts = list(LineComment.objects.select_for_update().filter(task=task, author=by, sent_at=None))
        if not drafts:
            raise BadInput("Nothing is written yet: comment on a line of the diff first.")
        n = len(drafts)
        words = ["A person reviewed the change and asks for changes. Do what each comment says:"]
        words += [_as_read(one) for one in drafts]
        request_changes(task, by=by, words="\n\n".join(words), reason=f"{n} comment{'s' * (n > 1)} on the change")
        LineComment.objects.filter(pk__in=[one.pk for one in drafts]).update(sent_at=timezone.now())
    return n


def _as_read(one: LineComment) -> str:
    """A comment as the agents read it; the quoted code is in a fence, since a model wrote it."""
    where = f"{one.path}:{one.line}" + (" (a line that was taken away)" if one.removed else "")
    return "\n".join(filter(None, [f"{where}:", label(one.quote, Source.MODEL), one.text]))


def tick_file(task: Task, *, by: User, path: str, digest: str, read: bool) -> None:
    """Tick a file of the change as read, for exactly this change of it, or take the tick back. On the trail."""
    require(by, task.run.project, TICK_VERB)
    name = clean_line(path, 400)
    with transaction.atomic():
        if read:
            ReviewedFile.objects.update_or_create(task=task, user=by, path=name, defaults={"digest": digest[:64]})
        else:
            ReviewedFile.objects.filter(task=task, user=by, path=name).delete()
        words = f"{by.get_username()} {'reviewed' if read else 'no longer counts as reviewed'} {name}"
        notice = SystemNotice(
            summary=words, text=words, details={"path": name, "digest": digest[:64], "reviewed": read}
        )
        emit(task.run_id, notice, actor=by.get_username(), task_id=task.pk)


def ticks_of(task: Task, by: User) -> dict[str, str]:
    """The files that this person has ticked: path to the hash of the change that was read."""
    return dict(ReviewedFile.objects.filter(task=task, user=by).values_list("path", "digest"))
