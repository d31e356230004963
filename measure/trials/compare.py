"""Sessions side by side: what each came to, and by how much it differs from the first, on the same tasks.

The difference of two shares that were measured on the same tasks has Newcombe's score interval for paired data (method
10 in "Improved confidence intervals for the difference between binomial proportions based on paired data", 1998); that
of two means has a percentile bootstrap over the tasks, with a fixed seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.rehearsal.results import wilson
from measure.figures import quantile
from measure.trials.play import TrialOutcome
from measure.trials.session import RESULTS, OtherSession, read_results
from measure.trials.simulated import Weakness

DRAWS = 10_000
SAME = (("format", "formats"), ("digest", "datasets"), ("budget", "budgets"))
Unit = tuple[str, int]  # a task, and the seed of the model that played it (0 for a model without one)


class NotComparable(ValueError):
    """The folders cannot be compared; the text says why and what could be."""


@dataclass(frozen=True)
class Side:
    """All that was played under one heading: one session, or several that differ in the model's seed alone."""

    name: str
    settings: dict[str, Any]
    units: dict[Unit, TrialOutcome]


def load_side(folder: Path, name: str = "") -> Side:
    """The session in a folder, or those in its sub-folders. Raises NotComparable."""
    places = [folder] if (folder / RESULTS).is_file() else sorted(path.parent for path in folder.glob(f"*/{RESULTS}"))
    if not places:
        raise NotComparable(
            f"{folder} holds no results: name the --out folder of a session, or a folder of such folders"
        )
    units: dict[Unit, TrialOutcome] = {}
    first: dict[str, Any] = {}
    for place in places:
        try:
            head, done = read_results(place)
        except (OSError, UnicodeDecodeError, OtherSession) as error:
            raise NotComparable(f"{place} cannot be read: {error}") from None
        settings = dict(head.get("settings") or {})
        model, seed = _model(str(settings.get("model", "")))
        settings["model"] = model
        # A memory of its own for each seed is the same setting.
        settings["memory"] = bool(settings.get("memory"))
        if first and settings != first:
            odd = next(key for key in settings if settings.get(key) != first.get(key))
            raise NotComparable(
                f"{folder}: the sessions in it differ in {odd} ({first.get(odd)!r} and {settings.get(odd)!r}): "
                "only sessions that differ in the seed alone are taken together"
            )
        first = settings
        for task, outcome in done.items():
            if (task, seed) in units:
                raise NotComparable(f"{folder}: two sessions in it played {task} with the same seed")
            units[task, seed] = outcome
    if not units:
        raise NotComparable(f"{folder}: nothing was played yet")
    return Side(name or folder.name or str(folder), first, units)


def compare(sides: Sequence[Side]) -> list[dict[str, Any]]:
    """A row for each side, those after the first with their difference to it. Raises NotComparable."""
    first = sides[0]
    for side in sides[1:]:
        for key, words in SAME:
            if side.settings.get(key) != first.settings.get(key):
                raise NotComparable(
                    f"{first.name} and {side.name} have different {words} "
                    f"({first.settings.get(key)} and {side.settings.get(key)}): only like is compared with like"
                )
    rows = []
    for side in sides:
        row = figures(side)
        if side is not first:
            row["against_first"] = difference(first, side)
        rows.append(row)
    return rows


def figures(side: Side) -> dict[str, Any]:
    """What a side came to. Shares are [share, low, high] of one, 95 % after Wilson; tokens are those of a task."""
    played = list(side.units.values())
    resolved, first = sum(one.resolved for one in played), sum(one.first_try for one in played)
    many, rounds = len(played), [one.iterations for one in played]
    return {
        "name": side.name,
        "settings": side.settings,
        "tasks": many,
        "seeds": sorted({seed for _, seed in side.units}),
        "resolved": _share(resolved, many),
        "first_try": _share(first, many),
        "self_correction": _share(resolved - first, many - first),
        "iterations": {"mean": sum(rounds) / many, "p50": quantile(rounds, 0.5), "p95": quantile(rounds, 0.95)},
        "tokens": {
            part: sum(getattr(one, part) for one in played) / many for part in ("sent", "uncached", "generated")
        },
        "lessons": {part: sum(getattr(one, part) for one in played) for part in ("shown", "helped")},
    }


def difference(first: Side, other: Side) -> dict[str, Any]:
    """`other` minus `first` over the units that both have played: [difference, low, high]. Raises NotComparable."""
    both = sorted(first.units.keys() & other.units.keys())
    if not both:
        raise NotComparable(f"{first.name} and {other.name} have no task and seed in common")
    pairs = [(first.units[unit], other.units[unit]) for unit in both]
    return {
        "tasks": len(both),
        "left_out": len(first.units.keys() ^ other.units.keys()),
        "resolved": list(paired_difference([(new.resolved, old.resolved) for old, new in pairs])),
        "iterations": list(mean_difference([new.iterations - old.iterations for old, new in pairs])),
        "tokens": list(mean_difference([new.sent + new.generated - old.sent - old.generated for old, new in pairs])),
    }


def paired_difference(pairs: Sequence[tuple[bool, bool]]) -> tuple[float, float, float]:
    """Difference of two paired shares (first minus second) with Newcombe's 95 % score interval."""
    many = len(pairs)
    if not many:
        return 0.0, -1.0, 1.0
    both = sum(one and other for one, other in pairs)
    only_one, only_other = (
        sum(one and not other for one, other in pairs),
        sum(other and not one for one, other in pairs),
    )
    neither = many - both - only_one - only_other
    one, other = (both + only_one) / many, (both + only_other) / many
    (low, high), (low2, high2) = wilson(both + only_one, many), wilson(both + only_other, many)
    margins = (both + only_one) * (only_other + neither) * (both + only_other) * (only_one + neither)
    cross: float = both * neither - only_one * only_other
    if cross > 0:  # Newcombe's correction for continuity
        cross = max(cross - many / 2, 0)
    phi = cross / math.sqrt(margins) if margins else 0.0
    down = (one - low) ** 2 - 2 * phi * (one - low) * (high2 - other) + (high2 - other) ** 2
    up = (high - one) ** 2 - 2 * phi * (high - one) * (other - low2) + (other - low2) ** 2
    gap = one - other
    return gap, max(-1.0, gap - math.sqrt(max(0.0, down))), min(1.0, gap + math.sqrt(max(0.0, up)))


def mean_difference(values: Sequence[float], *, draws: int = DRAWS, seed: int = 1) -> tuple[float, float, float]:
    """The mean with its 95 % percentile bootstrap interval, the same for the same values."""
    if not values:
        return 0.0, 0.0, 0.0
    chance, many = random.Random(seed), len(values)  # noqa: S311 - a draw that can be repeated, no secret
    means = sorted(sum(chance.choices(values, k=many)) / many for _ in range(draws))
    return sum(values) / many, means[int(0.025 * draws)], means[int(0.975 * draws) - 1]


def _share(hits: int, of: int) -> list[float] | None:
    return [hits / of, *wilson(hits, of)] if of else None


def _model(text: str) -> tuple[str, int]:
    """A model's name without its seed, and the seed."""
    kind, _, rest = text.partition(":")
    if kind != "simulated":
        return text, 0
    try:
        weak = Weakness.parse(rest)
    except ValueError:
        return text, 0
    return f"simulated:{weak.text}", weak.seed
