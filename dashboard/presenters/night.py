"""The plan of the scheduler as a page shows it: words, a strip of blocks, and bars of what a night takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from dashboard.text.safe import shortened
from projects.services.backlog.forecast import BEHIND, WINDOW, Forecast, Slot, State
from projects.values.time_windows import zone
from projects.values.wording import dollars, rounded, words

LEFT, RIGHT = 40, 1080
MEASURES = {"tokens": "token cap", "minutes": "hours cap", "cents": "money cap", WINDOW: "window"}


def amount(measure: str, value: float) -> str:
    """An amount with its unit."""
    if measure == "minutes":
        whole = round(value)
        return f"{whole // 60} h {whole % 60:02}" if whole >= 60 else f"{whole} min"
    return dollars(Decimal(value) / 100) if measure == "cents" else rounded(round(value))


class Bar(NamedTuple):
    """One block of the strip, or of the lane of other projects above it."""

    x: float
    width: float
    name: str
    label: str
    css: str
    about: str


@dataclass
class Strip:
    """Positions for the picture; its table is made from the same blocks."""

    bars: list[Bar]
    others: list[Bar]
    ticks: list[tuple[float, str]]
    left: float
    right: float  # where the window closes
    opens: str
    closes: str
    cut: tuple[float, str] | None
    table: list[tuple[str, str, str, str]]


def when(forecast: Forecast) -> str:
    """What the forecast speaks of, in a sentence: tonight, today."""
    if not forecast.night.is_limited:
        return "today"
    return "tonight" if forecast.night.window.start > forecast.night.window.end else "in the window"


def local(forecast: Forecast, moment: datetime) -> str:
    """A time of day in the project's zone."""
    return f"{moment.astimezone(zone(forecast.night.window.zone_name)):%H:%M}"


def state_words(forecast: Forecast, block: Slot) -> tuple[str, str]:
    """The state of an assigned ticket: how it looks, and in words."""
    fixed = {State.WORKING: ("running", "working"), State.NEEDS_YOU: ("needs_you", "needs you")}
    if block.progress.state in fixed:
        return fixed[block.progress.state]
    if block.out == WINDOW:
        return "queued", "over the window"
    if block.out == BEHIND:
        return "queued", f"behind {forecast.outside[0].item.key}"
    if block.out:
        return "queued", "over the cap"
    if block.item.minutes is None:
        return "waiting", "in its turn"
    return "ready", f"{when(forecast) if forecast.night.is_limited else 'about'} {local(forecast, block.start)}"


def headline(forecast: Forecast, open_count: int) -> tuple[str, str]:
    """What the page says first: the answer, and one sentence on what stands in the way."""
    if not open_count:
        return "The backlog is empty", ""
    needs = [block for block in forecast.blocks if block.progress.state == State.NEEDS_YOU]
    if needs:
        item = needs[0].item
        return f"{item.key} needs you; what is behind it waits", needs[0].progress.why
    if not forecast.blocks:
        some = "One ticket waits" if open_count == 1 else f"{words(open_count).capitalize()} of the tickets wait"
        return f"{some} to be assigned to the agents", (
            "Select tickets and assign them; the agents then do one after another."
        )
    inside, every = forecast.inside, len(forecast.blocks)
    if len(inside) == every:
        title = f"All {words(every)} assigned tickets get" if every > 1 else "The one assigned ticket gets"
        return f"{title} done {when(forecast)}", _unknown(forecast)
    some = words(len(inside)).capitalize() if inside else "None"
    title = f"{some} of {words(every)} tickets {'gets' if len(inside) == 1 else 'get'}"
    if every == 1:
        title = "The one assigned ticket does not get"
    return f"{title} done {when(forecast)}", " ".join(filter(None, (_stops(forecast), _unknown(forecast))))


def _stops(forecast: Forecast) -> str:
    first, offer = forecast.outside[0], forecast.offer or ("", "")
    at = local(forecast, first.start)
    if first.out == WINDOW:
        text = f"{first.item.key} would begin at {at} and end after the window."
    else:
        text = f"The {MEASURES[first.out]} stops the agents at {at}."
        if offer[0]:
            more = int(offer[1]) - (forecast.night.caps[first.out] or 0)
            text += f" With {amount(first.out, more)} more, {first.item.key} fits too."
    return text


def _unknown(forecast: Forecast) -> str:
    number = sum(block.item.minutes is None for block in forecast.blocks)
    if not number:
        return ""
    who = "One ticket has" if number == 1 else f"{words(number).capitalize()} tickets have"
    return f"{who} no estimate: what follows may be later."


def offer_words(forecast: Forecast) -> dict[str, str] | None:
    """The button with the least change that lets the next ticket in."""
    what, to = forecast.offer or ("", "")
    if what == "closes":
        return {"what": what, "to": to, "label": f"Let the window end at {local(forecast, datetime.fromisoformat(to))}"}
    if what:
        whose = "tonight’s" if when(forecast) == "tonight" else "today’s"
        return {"what": what, "to": to, "label": f"Raise {whose} {MEASURES[what]} to {amount(what, int(to))}"}
    return None


def caps_of(forecast: Forecast) -> list[dict[str, Any]]:
    """A bar for each cap: used and foreseen, of how much."""
    names = {"cents": "Money", "tokens": "Tokens", "minutes": "Machine hours"}
    found = []
    for measure, name in names.items():
        cap = forecast.night.caps[measure]
        if cap is not None:
            total = forecast.total(measure)
            known = measure == "minutes" or getattr(forecast.rate, measure) is not None
            near = any(block.out == measure for block in forecast.outside)
            row = {"name": name, "total": amount(measure, total), "cap": amount(measure, cap), "known": known}
            found.append(row | {"width": round(min(200.0, 200 * total / cap), 1), "near": near})
    return found


def strip_of(forecast: Forecast, others: list[tuple[str, Forecast]]) -> Strip:
    """Lay the blocks out along the window; what does not fit may reach past its end."""
    night = forecast.night
    first = night.span.opens if night.is_limited else forecast.now.replace(minute=0, second=0, microsecond=0)
    closes = night.span.closes
    reach = max([closes, *(block.end for block in forecast.blocks)])
    last = min(reach, closes + (closes - first) * 0.25)
    scale = (RIGHT - LEFT) / (last - first).total_seconds()

    def x(moment: datetime) -> float:
        return round(LEFT + (min(max(moment, first), last) - first).total_seconds() * scale, 1)

    def bar(name: str, block: Slot, css: str) -> Bar:
        width = max(0.0, x(block.end) - x(block.start) - 2)
        span = f"{local(forecast, block.start)} to {local(forecast, block.end)}"
        label = amount("minutes", block.need["minutes"])
        fits = int((width - 10) // 7)
        return Bar(
            x(block.start), width, shortened(name, fits) if fits > 3 else "", label if width > 60 else "", css, span
        )

    bars = [bar(b.item.key, b, "out" if b.out else "blk") for b in forecast.blocks if b.item.minutes]
    away = [bar(name, block, "oth") for name, other in others for block in other.inside if block.item.minutes]
    step = timedelta(hours=2 if last - first <= timedelta(hours=14) else 4)
    ticks, moment = [], first
    while moment <= last:
        ticks.append((x(moment), local(forecast, moment)))
        moment += step
    out = forecast.outside
    cut = None
    if out and out[0].out in MEASURES and out[0].out != WINDOW:
        cut = x(out[0].start), f"{MEASURES[out[0].out]}, {local(forecast, out[0].start)}"
    opens = f"window opens {local(forecast, first)}" if night.is_limited else ""
    ends = f"closes {local(forecast, closes)}" if night.is_limited else ""
    return Strip(bars, away, ticks, x(first), x(closes), opens, ends, cut, _table(forecast, others))


def _table(forecast: Forecast, others: list[tuple[str, Forecast]]) -> list[tuple[str, str, str, str]]:
    """The blocks of the strip in words, other projects' behind."""
    rows = [(one, f"{one.item.key} {one.item.title}", state_words(forecast, one)[1]) for one in forecast.blocks]
    rows += [(block, name, "another project") for name, other in others for block in other.inside]
    return [
        (local(forecast, block.start), local(forecast, block.end) if block.item.minutes else "–", name, words)
        for block, name, words in rows
    ]
