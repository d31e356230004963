"""A project's backlog: tickets in order, what the agents do next, and what stops them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from dashboard.access import visibility
from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.presenters import night
from dashboard.views.notices import clock_field
from projects.errors import BadInput
from projects.models import Project
from projects.models.project import Autonomy
from projects.services.backlog import forecast, hours, items, scheduler
from projects.services.forges import tickets
from projects.services.planning import build_logs
from projects.values.time_windows import zones
from projects.values.wording import counted

MOST_BYTES = 1024 * 1024
SHOWN = 200
MOST_OTHERS = 10  # other projects in the picture


class HoursForm(forms.Form):
    """The window and the caps of a night."""

    opens = clock_field("Window opens")
    closes = clock_field("Window closes")
    time_zone = forms.ChoiceField(label="Time zone", choices=lambda: [(name, name) for name in zones()])
    tokens = forms.IntegerField(label="Tokens a night", required=False, min_value=1)
    machine_hours = forms.DecimalField(label="Machine hours a night", required=False, min_value=0, decimal_places=2)
    money = forms.DecimalField(label="Money a night, in $", required=False, min_value=0, decimal_places=2)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not hours.has_prices():
            del self.fields["money"]

    def caps(self) -> dict[str, int | None]:
        """The caps by measure; None is none."""
        data = self.cleaned_data
        parts = {"minutes": (data["machine_hours"], 60), "cents": (data.get("money"), 100)}
        caps = {name: round(value * factor) if value else None for name, (value, factor) in parts.items()}
        return {"tokens": data["tokens"], **caps}


@page("GET", Project)
def overview(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The backlog, with the plan of the scheduler."""
    return _page(request, project)


def _page(request: AuthenticatedHttpRequest, project: Project, status: int = 200, **more: Any) -> HttpResponse:
    now = timezone.now()
    found = forecast.simulate(project, now)
    stored = hours.hours_of(project)
    wants = "done" if request.GET.get("show") == "done" else "open"
    ended = project.backlog.exclude(pk__in=items.open_items(project).values("pk"))
    waiting = list(items.open_items(project).select_related("document", "project")[:SHOWN])
    rows = [_row(found, item) for item in (ended.order_by("-pk")[:SHOWN] if wants == "done" else waiting)]
    title, sentence = night.headline(found, len(waiting))
    closed = hours.closed(project, now)
    context = {
        "forecast": found,
        "title": title,
        "sentence": sentence,
        "offer": night.offer_words(found),
        "caps": night.caps_of(found),
        "strip": night.strip_of(found, _others(request, project, found)) if found.blocks else None,
        "rows": rows,
        "wants": wants,
        "open_count": items.open_items(project).count(),
        "done_count": ended.count(),
        "closed": closed,
        "opens_in": night.amount("minutes", max(1, round((found.night.span.opens - now).total_seconds() / 60))),
        "held_up": scheduler.held_up_by(project),
        "working": next((b for b in found.blocks if b.progress.state == forecast.State.WORKING), None),
        "autonomies": Autonomy.choices,
        "hours_form": HoursForm(initial=_hours_as_typed(stored)),
        **more,
    }
    return show(request, "pages/backlog.html", context, status=status)


def _hours_as_typed(stored: Any) -> dict[str, Any]:
    typed = {name: getattr(stored, name) for name in ("opens", "closes", "time_zone")}
    per = {"machine_hours": (stored.cap_minutes, 60), "money": (stored.cap_cents, 100)}
    return typed | {"tokens": stored.cap_tokens} | {name: cap / parts for name, (cap, parts) in per.items() if cap}


def _others(request: AuthenticatedHttpRequest, project: Project, found: forecast.Forecast) -> list[Any]:
    """Other projects' tickets of the same hours, as far as the person may see them."""
    rows = visibility.visible(Project, request.user).exclude(pk=project.pk).filter(archived_at=None)
    rows = rows.filter(backlog__assigned_at__isnull=False, backlog__done_at=None, backlog__left_out="").distinct()
    simulated = [(other.name, forecast.simulate(other, found.now)) for other in rows[:MOST_OTHERS]]
    return [(name, other) for name, other in simulated if other.night.span.opens < found.night.span.closes]


def _row(found: forecast.Forecast, item: Any) -> dict[str, Any]:
    block = next((block for block in found.blocks if block.item.pk == item.pk), None)
    stands = block.progress if block else forecast.progress_of(item)
    if block is not None:
        state, words = night.state_words(found, block)
    elif stands.state == forecast.State.OPEN:
        state, words = "queued", "not assigned"
    else:
        state, words = ("finished", "done") if stands.state == forecast.State.DONE else ("left_out", "left out")
    minutes = item.minutes
    estimates = {
        name: night.amount(name, minutes * rate) if minutes and rate else "–"
        for name, rate in (("tokens", found.rate.tokens), ("cents", found.rate.cents))
    }
    first_out = found.outside[0] if found.outside else None
    return {
        "item": item,
        "state": state,
        "words": words,
        "run": stands.run,
        "selectable": item.document_id is None or stands.state == forecast.State.NEEDS_YOU,
        "why": stands.why,
        "estimate": night.amount("minutes", minutes) if minutes else "–",
        "cut": first_out is not None and first_out.item.pk == item.pk,
        **estimates,
    }


@page("POST", Project)
def add(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """A CSV file, and pasted lines or blocks."""
    file = request.FILES.get("file")
    if file is not None and (file.size or 0) > MOST_BYTES:
        raise BadInput("A CSV file has at most 1 MB.")
    text, by = request.POST.get("text", "")[:MOST_BYTES], request.user
    given = {"csv": items.from_csv(file.read())} if file else {}
    if text.strip() or not file:
        given["pasted"] = items.from_text(text)
    with transaction.atomic():
        added = [one for source, rows in given.items() for one in items.add(project, rows, by=by, source=source)]
    messages.success(request, f"{counted(len(added), 'ticket')} added or changed.")
    return redirect("backlog", project.pk)


@page("POST", Project)
def take_in(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """What a query finds on a ticket server."""
    where, query = request.POST.get("where", "")[:500], request.POST.get("query", "")[:2_000]
    found = tickets.import_tickets(project, where, query, by=request.user)
    left = f" Left as they are: {', '.join(found.left[:20])}." if found.left else ""
    messages.success(request, f"{counted(len(found.items), 'ticket')} added or renewed.{left}")
    return redirect("backlog", project.pk)


@page("POST", Project)
def fix(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The log of a failed build, or the trace of a program: a file, or pasted."""
    file, pasted = request.FILES.get("log"), request.POST.get("pasted", "")
    if file is not None and (file.size or 0) > build_logs.MOST_BYTES:
        raise BadInput(f"A log has at most {build_logs.MOST_BYTES // 1024**2} MB: cut it down to the step that failed.")
    log = file.read().decode("utf-8", "replace") if file is not None else pasted
    found = build_logs.fix_log(project, log, by=request.user, source=file.name or "a file" if file else "pasted")
    messages.success(request, f"{found.cause.sentence} It is tried here next; then the fix is planned.")
    return redirect("requirements", project.pk)


@page("POST", Project)
def change(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """One thing done to the selected tickets, or one ticket moved: `do` is assign, estimate, …, or "up:7"."""
    do, _, one = request.POST.get("do", "").partition(":")
    if do in ("up", "down"):
        item = get_object_or_404(project.backlog, pk=one if one.isdecimal() and len(one) < 18 else 0)
        items.move(item, up=do == "up", by=request.user)
    else:
        chosen = [int(pk) for pk in request.POST.getlist("item")[:SHOWN] if pk.isdecimal() and len(pk) < 18]
        value = request.POST.get({"estimate": "minutes"}.get(do, do), "") if do in ("estimate", "autonomy") else ""
        changed = items.change(project, chosen, by=request.user, do=do, value=value)
        messages.success(request, f"Changed: {', '.join(item.key for item in changed[:20])}.")
    return redirect("backlog", project.pk)


@page("POST", Project)
def set_hours(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """The window and the caps."""
    form = HoursForm(request.POST)
    if not form.is_valid():
        return _page(request, project, 422, hours_form=form)
    data = form.cleaned_data
    window = (data["opens"], data["closes"])
    hours.save(project, by=request.user, window=window, time_zone=data["time_zone"], caps=form.caps())
    messages.success(request, "Saved. Runs at work follow at their next step.")
    return redirect("backlog", project.pk)


@page("POST", Project)
def tonight(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Raise one cap, or move the end, for this night alone."""
    what, to = request.POST.get("what", ""), request.POST.get("to", "")
    hours.change_tonight(project, by=request.user, what=what, to=to, now=timezone.now())
    messages.success(request, "Changed for this night alone.")
    return redirect("backlog", project.pk)
