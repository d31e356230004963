"""A chat: begin one, say something in it, answer what its model asks, and what is new in it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from dashboard.access import visibility
from dashboard.http.pages import page
from dashboard.http.refusals import status_of
from dashboard.http.requests import AuthenticatedHttpRequest, number
from dashboard.presenters import conversation
from dashboard.views import runs
from projects.engine import chat as engine
from projects.errors import ProjectsError
from projects.models import Approval, Project, Run
from projects.services.decisions import approvals
from projects.services.work import chats


@page("POST", Project)
def new(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Begin a chat in a project."""
    return redirect("run", engine.new_chat(project, by=request.user).pk)


@page("GET", Run)
def turns(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """What is new since a turn, as a fragment: that turn and those after it, the question, and what stands beside.

    With `?before=` it ends there: for one turn in full.
    """
    if run.kind != Run.Kind.CHAT:
        raise Http404("Only a chat has turns.")
    found = conversation.context(run, since=number(request.GET, "since"), before=number(request.GET, "before"))
    response = render(request, "partials/chat_update.html", {"run": run, **found})
    response["Cache-Control"] = "no-store"
    return response


@page("POST", Run)
def say(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    """Say something in a chat, or to the agents of another run.

    Where a chat takes no words now, its page says why and keeps them.
    """
    if run.kind != Run.Kind.CHAT:
        return runs.tell_agents(request, run)
    text = request.POST.get("text", "")
    try:
        chats.send(run, by=request.user, text=text, mode=request.POST.get("mode", ""))
    except ProjectsError as refusal:
        return _refused(request, run, refusal, text)
    return _done(request, run)


@page("POST", Run)
def answer(request: AuthenticatedHttpRequest, run: Run, question: int) -> HttpResponse:
    """Answer what the model asks: yes, yes for the session, or no."""
    asked = get_object_or_404(visibility.visible(Approval, request.user), pk=question, run=run, kind=Approval.Kind.CHAT)
    reason = request.POST.get("reason", "").strip()[:4_000]
    try:
        approvals.answer_chat(asked, by=request.user, leave=request.POST.get("leave", ""), reason=reason)
    except ProjectsError as refusal:
        return _refused(request, run, refusal)
    return _done(request, run)


def _done(request: AuthenticatedHttpRequest, run: Run) -> HttpResponse:
    if _by_script(request):
        return JsonResponse({"ok": True})
    return redirect(reverse("run", args=[run.pk]) + "#newest")


def _refused(request: AuthenticatedHttpRequest, run: Run, refusal: ProjectsError, text: str = "") -> HttpResponse:
    if _by_script(request):
        return JsonResponse({"ok": False, "why": str(refusal)}, status=status_of(refusal))
    messages.warning(request, str(refusal))
    run.refresh_from_db()
    return runs.conversation_page(request, run, typed=text, status=status_of(refusal))


def _by_script(request: AuthenticatedHttpRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")
