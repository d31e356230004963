"""When the agents may work on a backlog, what a night may take, and what it has taken. The time is always given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.dateparse import parse_datetime

from agents.engine.waiting import WaitReason
from projects.errors import BadInput
from projects.models import BacklogHours, Project, Run, Transition
from projects.services.accounts.rights import require
from projects.services.audit.sitelog import note
from projects.services.insight import costs
from projects.services.work.locks import lock_project
from projects.values.time_windows import Span, Window, zone

MEASURES = ("tokens", "minutes", "cents")
MOST = {"tokens": 10_000_000_000, "minutes": 7 * 24 * 60, "cents": 100_000_000}


@dataclass(frozen=True)
class Night:
    """One opening of a project's window, with the caps that hold in it; None is no cap."""

    span: Span
    caps: Mapping[str, int | None]
    window: Window
    is_limited: bool  # False: the window is the whole day


def hours_of(project: Project) -> BacklogHours:
    """The project's hours; unsaved, at any time and without caps, where nobody set any."""
    return BacklogHours.objects.filter(project=project).first() or BacklogHours(project=project)


def night_of(hours: BacklogHours, now: datetime) -> Night:
    """The opening that `now` lies in, else the next one, with what was changed for it alone."""
    limited = hours.opens is not None and hours.closes is not None
    window = Window(hours.opens or time(0), hours.closes or time(0), hours.time_zone)
    caps: dict[str, int | None] = {name: getattr(hours, f"cap_{name}") for name in MEASURES}
    # An end that was moved back keeps its night going when the window itself is closed already.
    opened, closes = (parse_datetime(str(hours.tonight.get(name, ""))) for name in ("night", "closes"))
    span = window.current_or_next(now)
    if opened is not None and closes is not None and opened <= now < closes:
        span = Span(opened, closes)
    if opened == span.opens:
        caps |= {name: int(hours.tonight[name]) for name in MEASURES if name in hours.tonight}
        span = replace(span, closes=closes or span.closes)
    return Night(span, caps, window, limited)


def used_in(project: Project, span: Span, now: datetime) -> dict[str, int]:
    """Tokens, minutes at work and cents of the project's backlog since the window opened."""
    runs = Run.objects.filter(project=project, document__backlog_item__isnull=False)
    bill = costs.bill_of(project, span.opens, span.closes, run__document__backlog_item__isnull=False)
    moves = defaultdict[int, list[tuple[str, datetime]]](list)
    ids = list(runs.filter(Q(finished_at=None) | Q(finished_at__gte=span.opens)).values_list("pk", flat=True))
    rows = Transition.objects.filter(kind="run", object_id__in=ids).order_by("pk")
    for run, new, at in rows.values_list("object_id", "new", "at"):
        moves[run].append((new, at))
    until, seconds = min(now, span.closes), 0.0
    for steps in moves.values():
        ends = [at for _, at in steps[1:]] + [until]
        for (new, at), end in zip(steps, ends, strict=True):
            if new == Run.Status.RUNNING:
                seconds += max(0.0, (min(end, until) - max(at, span.opens)).total_seconds())
    return {"tokens": bill.tokens, "minutes": round(seconds / 60), "cents": round((bill.money or 0) * 100)}


def has_prices() -> bool:
    """Whether money can be counted here: a cap in money holds only then."""
    prices = costs.prices_in_force()
    return bool(prices.models) or (prices.kwh is not None and prices.watts is not None)


def closed(project: Project, now: datetime) -> tuple[WaitReason, str] | None:
    """Why nothing of the backlog may go on now, with the time at which it may; None while it may."""
    hours = BacklogHours.objects.filter(project=project).first()
    if hours is None:
        return None
    night = night_of(hours, now)
    if not night.span.holds(now):
        return WaitReason.WINDOW, clock(night.span.opens, hours.time_zone)
    capped = {name: cap for name, cap in night.caps.items() if cap is not None}
    used = used_in(project, night.span, now) if capped else {}
    if any(used[name] >= cap for name, cap in capped.items()):
        following = night.window.current_or_next(night.span.closes)
        return WaitReason.NIGHT_CAP, clock(following.opens, hours.time_zone)
    return None


def rests(run_id: int, now: datetime) -> tuple[WaitReason, str] | None:
    """Why a run may not go on now; None for runs that no backlog began: a person who starts work wants it done."""
    run = Run.objects.filter(pk=run_id, document__backlog_item__isnull=False).select_related("project").first()
    return closed(run.project, now) if run is not None else None


def clock(moment: datetime, zone_name: str) -> str:
    """A time of day in a zone, like "20:00 (Europe/Vienna)"."""
    return f"{moment.astimezone(zone(zone_name)):%H:%M} ({zone_name})"


def save(
    project: Project,
    *,
    by: User,
    window: tuple[time | None, time | None],
    time_zone: str,
    caps: Mapping[str, int | None],
) -> BacklogHours:
    """Set window and caps; what was changed for one night alone is forgotten. Raises NotAllowed and BadInput."""
    require(by, project, "backlog.edit")
    zone(time_zone)
    if (window[0] is None) != (window[1] is None) or (window[0] is not None and window[0] == window[1]):
        raise BadInput("A window needs a beginning and a different end, or neither: then the agents work at any time.")
    for name, cap in caps.items():
        if cap is not None and not 1 <= cap <= MOST[name]:
            raise BadInput(f"A cap of {name} is a number from 1 to {MOST[name]:,}.")
    values: dict[str, Any] = {"opens": window[0], "closes": window[1], "time_zone": time_zone, "tonight": {}}
    values |= {f"cap_{name}": caps.get(name) for name in MEASURES}
    with transaction.atomic():
        lock_project(project.pk)
        hours, _ = BacklogHours.objects.update_or_create(project=project, defaults=values)
        told = {name: str(value) for name, value in values.items() if value not in (None, {})}
        note(by, "backlog.hours_changed", project.slug, told)
    return hours


def change_tonight(project: Project, *, by: User, what: str, to: str, now: datetime) -> BacklogHours:
    """Raise one cap (`what` is one of MEASURES) or move the end ("closes", an ISO time) for this night alone.

    Raises NotAllowed, and BadInput for anything but more.
    """
    require(by, project, "backlog.edit")
    with transaction.atomic():
        lock_project(project.pk)
        hours = hours_of(project)
        night = night_of(hours, now)
        kept = hours.tonight if hours.tonight.get("night") == night.span.opens.isoformat() else {}
        if what == "closes":
            end = parse_datetime(to) if len(to) < 40 else None
            if end is None or end.tzinfo is None or not 0 < (end - night.span.closes).total_seconds() < 86_400:
                raise BadInput("Tonight's end can be moved back, by less than a day.")
            change: dict[str, Any] = {"closes": end.isoformat()}
        elif what in MEASURES and to.isdecimal() and (night.caps[what] or MOST[what]) < int(to) <= MOST[what]:
            change = {what: int(to)}
        else:
            raise BadInput("Tonight's cap can be raised: give more than it is.")
        hours.tonight = {**kept, "night": night.span.opens.isoformat(), **change}
        hours.save()
        note(by, "backlog.tonight_changed", project.slug, hours.tonight)
    return hours
