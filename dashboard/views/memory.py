"""What was learned: every lesson with its origin, its track record and its off switch."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest, words
from projects.services.memory import lessons

# A state's word, its look among the states of work, and what it means.
STATES = {
    "active": ("passed", "shown where it fits"),
    "sunk": ("failed", "did not help, no longer shown"),
    "expired": ("skipped", "too long ago, no longer shown"),
    "disabled": ("cancelled", "switched off by a person"),
}


@page("GET")
def index(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Lessons of the person's projects, newest first, by state, words and project."""
    state, q, slug = request.GET.get("state", ""), words(request.GET, "q"), words(request.GET, "project")
    state = state if state in STATES else ""
    found = lessons.lessons_for(request.user, state=state)
    problem = lessons.trouble()
    context = {
        "rows": [row for row in found if _fits(row, q, slug)],
        "trouble": problem or lessons.hint(),
        "hinted": not problem,
        "embedding": lessons.embedder().name,
        "state": state,
        "states": STATES,
        "q": q,
        "project_slug": slug,
        "projects": sorted({row.project for row in found}, key=lambda project: project.name),
        "rest": urlencode({name: value for name, value in (("q", q), ("project", slug)) if value}),
        "verb": lessons.VERB,
        "most": lessons.MOST,
        "cut": len(found) == lessons.MOST,
    }
    return show(request, "pages/memory.html", context)


def _fits(row: lessons.LessonRow, q: str, slug: str) -> bool:
    """Whether the lesson contains every word of the search."""
    lesson = row.lesson
    text = f"{lesson.cause} {lesson.fix} {lesson.failure} {lesson.task} {lesson.topic}".casefold()
    return slug in ("", row.project.slug) and all(word in text for word in q.casefold().split())


@page("POST")
def switch(request: AuthenticatedHttpRequest, id: str) -> HttpResponse:
    """Take a lesson out of the prompts, or put it back."""
    lesson = lessons.find_lesson(request.user, id)
    if lesson is None:
        raise Http404("No such lesson.")
    off = request.POST.get("to") != "on"
    lessons.switch_lesson(lesson, by=request.user, off=off, why=request.POST.get("why", "")[:300])
    messages.success(request, f"The lesson is switched {'off' if off else 'on'}.")
    return redirect("memory")
