"""Comments on the lines of a task's change, and ticks on its files; all of it by links and forms."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from dashboard.http.pages import page
from dashboard.http.requests import AuthenticatedHttpRequest, number
from dashboard.presenters import queue
from dashboard.presenters.weaknesses import change_of
from dashboard.text import diffs
from projects.errors import BadInput, StaleVersion
from projects.models import Task
from projects.services.decisions import comments, send_back

PLACES = ("task", "gate")  # pages that show the diff


def review_of(request: AuthenticatedHttpRequest, task: Task, files: list[diffs.FileDiff], place: str) -> dict[str, Any]:
    """What partials/review.html shows: the diff with drafts below their lines, the open form, ticks, what can be sent.

    ?comment=<file>.<row> opens the form below a line.
    """
    drafts = comments.drafts_of(task, request.user)
    ticks = comments.ticks_of(task, request.user)
    for file in files:
        file.reviewed = ticks.get(file.path) == file.digest
        for row in file.lines:
            where = (file.path, row.old, True) if row.kind == "del" else (file.path, row.new, False)
            row.comments = [one for one in drafts if (one.path, one.line, one.removed) == where]
    shown = {one.pk for file in files for row in file.lines for one in row.comments}
    file_no, _, row_no = request.GET.get("comment", "").partition(".")
    places = [number({"n": part}, "n", 6) for part in (file_no, row_no)]
    if places[0] is not None and places[1] is not None and places[0] < len(files):
        rows = files[places[0]].lines
        if places[1] < len(rows) and rows[places[1]].kind in ("add", "del", "ctx"):
            rows[places[1]].asks = True
    return {
        "files": files,
        "drafts": drafts,
        "moved": [one for one in drafts if one.pk not in shown],
        "reviewed_files": sum(file.reviewed for file in files),
        "review": place,
        "writes": any(row.asks for file in files for row in file.lines),  # the focus goes to the comment
        "comment_verb": send_back.verb_for(task),
        "tick_verb": comments.TICK_VERB,
        "can_request": task.status in send_back.AGAIN,
    }


def _back(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    place = request.POST.get("place")
    return redirect(reverse(place if place in PLACES else "task", args=[task.pk]) + "#diff")


@page("POST", Task)
def add(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Comment on a line; the line is quoted from the change itself."""
    path, line, removed = request.POST.get("path"), number(request.POST, "line", 7), request.POST.get("removed") == "1"
    file = next((one for one in change_of(task)[0] if one.path == path), None)
    rows = file.lines if file else []
    row = next(
        (one for one in rows if line and (one.old if removed else one.new) == line and (one.kind == "del") == removed),
        None,
    )
    if file is None or row is None or line is None:
        raise BadInput("The change has no such line any more. Look at the newest diff.")
    text = request.POST.get("text", "")
    comments.add_comment(task, by=request.user, path=file.path, line=line, removed=removed, quote=row.text, text=text)
    messages.success(request, f"Added to your draft: {file.path}:{line}.")
    return _back(request, task)


@page("POST", Task)
def discard(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Drop a comment from the draft."""
    wanted = number(request.POST, "comment") or 0
    comments.discard_comment(get_object_or_404(task.line_comments, pk=wanted, author=request.user), by=request.user)
    return _back(request, task)


@page("POST", Task)
def send(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Send the draft as one request for changes; then the next decision."""
    n = comments.send_comments(task, by=request.user)
    messages.success(request, f"{task.key} goes back with {n} comment{'' if n == 1 else 's'}, as one request.")
    return queue.after_decision(request, task=task)


@page("POST", Task)
def tick(request: AuthenticatedHttpRequest, task: Task) -> HttpResponse:
    """Tick a file as reviewed, or take the tick back."""
    path = request.POST.get("path", "")
    file = next((one for one in change_of(task)[0] if one.path == path), None)
    if file is None or file.digest != request.POST.get("digest"):
        raise StaleVersion("The file changed since the page was loaded. Look at it again.")
    comments.tick_file(task, by=request.user, path=path, digest=file.digest, read=request.POST.get("read") == "1")
    return _back(request, task)
