"""Editing a plan: one task as a version of its own, or a draft that gathers edits into one version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.text import Truncator

from dashboard.drawing import dag
from dashboard.forms.plans import SplitForm, TaskForm
from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest, number
from dashboard.text.safe import listed
from dashboard.views.plans import compare, conflict, url_of
from projects.errors import BadInput, StaleVersion
from projects.models import Plan, PlanEdits
from projects.services.planning import plan_drafts, plans
from projects.services.planning.plan_edits import next_key, tasks_of, words_of
from projects.services.planning.plan_rules import asked_of
from projects.values.wording import counted


def _content(plan: Plan, draft: PlanEdits | None) -> dict[str, Any]:
    """What is edited: the draft, else the plan."""
    return plan_drafts.content_of(draft) if draft else dict(plan.content)


def _entry(content: dict[str, Any], key: str) -> dict[str, Any]:
    found = next((task for task in tasks_of(content) if str(task.get("key")) == key), None)
    if found is None:
        raise Http404("The plan has no such task.")
    return found


def _choices(plan: Plan, content: dict[str, Any], entry: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """Requirements and other tasks to pick from, and what the task names already."""
    texts = dict(plan.document.requirements.values_list("key", "text"))
    wanted = dict.fromkeys([*asked_of(plan.document).kinds, *map(str, listed(entry.get("requirements"), 1_000))])
    titles = {str(task.get("key")): str(task.get("title", "")) for task in tasks_of(content)}
    others = dict.fromkeys([*titles, *map(str, listed(entry.get("needs"), 1_000))])
    others.pop(str(entry.get("key")), None)
    return {
        "requirements": [(key, Truncator(f"{key} {texts.get(key, '')}").chars(90)) for key in wanted],
        "needs": [(key, Truncator(f"{key} {titles.get(key, '')}").chars(90)) for key in others],
    }


@page("GET POST", Plan)
def edit_task(request: AuthenticatedHttpRequest, plan: Plan, key: str) -> HttpResponse:
    """Change one task: in the draft, or at once as a version of its own."""
    draft = plan_drafts.draft_of(plan.document, request.user)
    content = _content(plan, draft)
    entry = _entry(content, key)
    fields = ("title", "description", "expects", "minutes", "requirements", "needs", "agent")
    start = {name: entry.get(name) for name in fields}
    form = TaskForm(request.POST or None, initial=start, **_choices(plan, content, entry))

    def edit() -> dict[str, Any]:
        changed = {k: v for k, v in form.cleaned_data.items() if (v or None) != (entry.get(k) or None)}
        return {"do": "change", "key": key, "fields": changed}

    alone = draft is None and request.POST.get("into") != "draft"
    return _asked(request, plan, form, edit, {"entry": entry, "key": key, "draft": draft, "verb": "Change"}, alone)


def _asked(
    request: AuthenticatedHttpRequest,
    plan: Plan,
    form: Form,
    edit: Callable[[], dict[str, Any]],
    context: dict[str, Any],
    alone: bool = False,
) -> HttpResponse:
    """The form of an edit; what it says goes to the draft, or `alone` becomes a version of its own."""
    if request.method == "POST" and form.is_valid():
        comment, base = request.POST.get("comment", "")[:500], request.POST.get("hash", "")
        try:
            if not alone:
                plan_drafts.add_edit(plan, edit(), by=request.user)
                return redirect("plan-draft", plan.pk)
            newer = plan_drafts.edit_task(plan, edit(), by=request.user, comment=comment, base_hash=base)
            messages.success(request, f"{context['key']} is changed in plan v{newer.version}.")
            return redirect(url_of(newer))
        except StaleVersion as refusal:
            return conflict(request, plan, refusal) if alone else redirect("plan-draft", plan.pk)
        except BadInput as refusal:
            form.add_error(None, str(refusal))
    return show(request, "pages/plan_task.html", context | {"form": form}, status=422 if form.errors else 200)


@page("GET POST", Plan)
def add_task(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """Add a task to the draft."""
    draft = plan_drafts.draft_of(plan.document, request.user)
    content = _content(plan, draft)
    form = TaskForm(request.POST or None, initial={"minutes": 30}, **_choices(plan, content, {}))
    key = next_key(content)
    context = {"key": key, "draft": draft, "verb": "Add"}
    return _asked(request, plan, form, lambda: {"do": "add", "key": key, "fields": form.cleaned_data}, context)


@page("GET POST", Plan)
def split_task(request: AuthenticatedHttpRequest, plan: Plan, key: str) -> HttpResponse:
    """Split a task in two, in the draft."""
    draft = plan_drafts.draft_of(plan.document, request.user)
    content = _content(plan, draft)
    entry = _entry(content, key)
    minutes = entry.get("minutes") if isinstance(entry.get("minutes"), int) else 30
    first = (int(minutes or 2) + 1) // 2
    start = {"title": entry.get("title"), "minutes": first, "second_minutes": max(1, int(minutes or 2) - first)}
    start |= dict.fromkeys(("requirements", "second_requirements"), entry.get("requirements"))
    form = SplitForm(request.POST or None, initial=start, requirements=_choices(plan, content, entry)["requirements"])
    context = {"entry": entry, "key": key, "draft": draft, "verb": "Split"}
    return _asked(request, plan, form, lambda: form.edit(key, next_key(content)), context)


@page("GET POST", Plan)
def draft(request: AuthenticatedHttpRequest, plan: Plan) -> HttpResponse:
    """The draft on a plan, with what the rules say of it; POST adds an edit, or saves, moves or drops it."""
    found = plan_drafts.draft_of(plan.document, request.user)
    if request.method == "POST":
        return _decided(request, plan, found)
    newest = plans.newest_plan(plan.document) or plan
    base = found.base if found else newest
    problem = ""
    try:
        content = _content(base, found)
    except BadInput as refusal:
        problem, content = str(refusal), base.content
    after = Plan(project=plan.project, document=plan.document, version=newest.version + 1, content=content)
    checked = plan_drafts.check(found) if found and not problem else None
    changes = compare(base, after)
    context: dict[str, Any] = {
        "draft": found,
        "plan": base,
        "newest": newest,
        "stale": found is not None and newest.pk != base.pk,
        "next_version": (plan.project.plans.values_list("version", flat=True).first() or 0) + 1,
        "edits": [words_of(edit) for edit in found.edits] if found else [],
        "problems": checked.problems if checked else base.problems,
        "first_error": problem or (checked.first_error if checked else ""),
        "changes": changes,
        "theirs": compare(base, newest) if newest.pk != base.pk else [],
        "entries": dag.entries_of(after),
        "graph": dag.graph_of(after, {change.key: change.kind for change in changes}),
    }
    return show(request, "pages/plan_draft.html", context)


def _decided(request: AuthenticatedHttpRequest, plan: Plan, found: PlanEdits | None) -> HttpResponse:
    verb, by = request.POST.get("do", ""), request.user
    if verb in ("remove", "up", "down", "join"):
        edit: dict[str, Any] = {"do": verb, "key": request.POST.get("key", "")[:500]}
        if verb in ("up", "down"):
            edit |= {"do": "move", "by": -1 if verb == "up" else 1}
        if verb == "join":
            edit["other"] = request.POST.get("other", "")[:500]
        try:
            plan_drafts.add_edit(plan, edit, by=by)
        except StaleVersion as refusal:
            messages.warning(request, str(refusal))
    elif found is None:
        raise BadInput(plan_drafts.GONE)
    elif verb == "back":
        plan_drafts.take_back(found, by=by)
    elif verb == "drop":
        plan_drafts.drop_draft(found, by=by)
        messages.success(request, "The draft is dropped. The plan is as it was.")
        return redirect("plan", plan.project_id)
    elif verb == "onto":
        for why in plan_drafts.move_to_newest(found, by=by):
            messages.warning(request, f"Left out: {why}")
        return redirect("plan-draft", found.base_id)
    elif verb == "save":
        return _saved(request, found)
    else:
        raise BadInput("A draft has no such action.")
    return redirect("plan-draft", plan.pk)


def _saved(request: AuthenticatedHttpRequest, found: PlanEdits) -> HttpResponse:
    seen, comment = number(request.POST, "seen", digits=5), request.POST.get("comment", "")[:500]
    try:
        newer = plan_drafts.save_draft(found, by=request.user, seen=-1 if seen is None else seen, comment=comment)
    except StaleVersion as refusal:
        messages.warning(request, str(refusal))
        return redirect("plan-draft", found.base_id)
    messages.success(request, f"{counted(seen or 0, 'edit')} saved as plan v{newer.version}. It waits for approval.")
    return redirect(url_of(newer))
