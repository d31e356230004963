"""Questions about a project's code: places with links into its files, and a model's answer from them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest, words
from projects.engine import questions
from projects.models import Project
from projects.services.accounts import rights
from projects.services.memory import lessons
from projects.workers.queue import enqueue

SHOWN_LINES = 12  # of a place


@page("GET POST", Project)
def ask(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The places that fit ?q=, at once; a POST with `order` has the project's model order them, any other asks it for
    an answer from them.
    """
    sent = request.POST if request.method == "POST" else request.GET
    q = words(sent, "q")
    context = {"q": q, "verb": questions.VERB, "longest": questions.LONGEST, "embedding": lessons.embedder().name}
    if q:
        found = questions.search(project, q)
        if request.method == "GET":
            context["to_order"] = questions.may_order(project, found, by=request.user)
        elif "order" in sent:
            questions.order(project, q, found, by=request.user)
        else:
            commit, _, first = words(sent, "first").partition(":")
            if commit == found.commit:
                numbers = [int(one) for one in first.split(",")[:10] if one.isascii() and one.isdigit()]
                questions.put_first(found, numbers, "Ordered by the model.")
            questions.answer(project, q, found, by=request.user)
        context |= {
            "found": found,
            "first": ",".join(map(str, found.first)),
            "places": [(one, _address(found.commit, one), _first(one)) for one in found.places],
        }
    return show(request, "pages/ask.html", context, part="ask_found")


@page("POST", Project)
def index(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Index the project again with the embedding that the settings name now."""
    rights.require(request.user, project, "project.edit")
    enqueue("projects.jobs.index_project", project.pk, "", True)
    messages.success(request, "The code is being indexed again; until it is, places are found by words.")
    return redirect("project-ask", project.pk)


def _address(commit: str, place: questions.CodePlace) -> str:
    """The address part of a place's file; "" for what is not in the repository, or has no address."""
    try:
        place.path.encode()
    except UnicodeEncodeError:
        return ""
    return f"{commit}/{place.path}" if place.in_repository and "\n" not in place.path else ""


def _first(place: questions.CodePlace) -> str:
    return "\n".join(place.text.split("\n")[:SHOWN_LINES])
