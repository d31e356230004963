"""What was learned: every lesson with its origin, its track record and its off switch."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from dashboard.pages import show
from dashboard.refusals import refusals
from projects.services import lessons

# A state's word, its look among the states of work, and what it means.
STATES = {
    "active": ("passed", "shown where it fits"),
    "sunk": ("failed", "did not help, no longer shown"),
    "expired": ("skipped", "too long ago, no longer shown"),
    "disabled": ("cancelled", "switched off by a person"),
}


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Lessons of the person's projects, newest first."""
    state = request.GET.get("state", "")
    state = state if state in STATES else ""
    context = {
        "rows": lessons.lessons_for(request.user, state=state),
        "trouble": lessons.trouble() or lessons.hint(),
        "state": state,
        "states": STATES,
        "verb": lessons.VERB,
        "most": lessons.MOST,
    }
    return show(request, "pages/memory.html", context)


@require_POST
@refusals
def switch(request: HttpRequest, id: str) -> HttpResponse:
    """Take a lesson out of the prompts, or put it back."""
    lesson = lessons.find_lesson(request.user, id)
    if lesson is None:
        raise Http404("No such lesson.")
    off = request.POST.get("to") != "on"
    lessons.switch_lesson(lesson, by=request.user, off=off, why=request.POST.get("why", "")[:300])
    messages.success(request, f"The lesson is switched {'off' if off else 'on'}.")
    return redirect("memory")
