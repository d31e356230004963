"""How much of a plan's parallelism the engine turns into time: a diamond against its critical path run alone."""

from __future__ import annotations

import os
import statistics
from typing import Any

from measure.figures import Figure, Section, Spread
from measure.performance.stories import diamond, write_scenario
from measure.processes import ask_child, recording, scratch

TITLE = "a diamond of 1 + 3 × 4 + 1 tasks against its critical path of 6"
LANES, LAYERS = 3, 4
TOKENS_PER_S = 60.0
DEFAULT_N = 2
SECONDS = 150.0  # for one build; beyond that something is wrong


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure when a build does not merge every task."""
    rounds = options.n or DEFAULT_N
    replies, tasks, chain = diamond(LANES, LAYERS)
    with scratch() as folder:
        write_scenario(folder / "scenario", replies)
        with recording(folder / "scenario", tokens_per_s=TOKENS_PER_S, parallel=LANES) as server:
            asked = {
                "server": server,
                "builds": {"chain": chain, "diamond": tasks},
                "parallel": LANES,
                "seconds": SECONDS,
                "rounds": rounds,
            }
            limit = 60 + 2 * rounds * SECONDS
            found = ask_child("measure.performance.diamond_child", folder / "home", asked, seconds=limit)
    section.figures = figures(found["chain"], found["diamond"])
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    whole = found["diamond"][-1]
    cpu = statistics.median(build["cpu"] for build in found["diamond"])
    section.notes = [
        f"each task: 3 calls of a recorded model at {TOKENS_PER_S:.0f} tokens/s ({LANES} answered at a "
        "time), real sandbox, git and gates",
        f"efficiency = time of the critical path alone : time of the diamond; 1 is ideal with {LANES} free lanes",
        f"merges are one at a time: in the last round {whole['rebased']} of {whole['tasks']} were rebased "
        f"and their whole suite run again, {whole['conflicts']} conflicted",
        f"work of all processes but the model: {cpu:.0f} CPU seconds on {cpus} CPUs, so no faster than "
        f"{cpu / cpus:.0f} s",
    ]


def figures(alone: list[dict[str, Any]], whole: list[dict[str, Any]]) -> list[Figure]:
    """Efficiency, speed-up, the model's part of both builds, and what a merge takes, with its wait and its rebase."""
    path, all_of_it = _seconds(alone, "seconds"), _seconds(whole, "seconds")
    more = whole[0]["tasks"] / alone[0]["tasks"]
    one_by_one = Spread.of([build["seconds"] * more for build in alone], "s")
    merges = [
        Spread.of([1000 * took for build in builds for took in build["merges"]], "ms") for builds in (alone, whole)
    ]
    return [
        Figure("parallel efficiency: the chain alone", path, all_of_it, "the diamond", "higher"),
        Figure("speed-up: its tasks one by one, at the chain's pace", one_by_one, all_of_it, "the diamond", "higher"),
        Figure("ideal speed-up: the same", one_by_one, path, "the chain alone", ""),
        Figure("the chain alone", path, _seconds(alone, "model"), "its model time"),
        Figure("the diamond", all_of_it, _seconds(whole, "model"), "its model time, lanes added up", ""),
        Figure("a merge in the diamond, from approval to main", merges[1], merges[0], "a merge in the chain"),
    ]


def _seconds(builds: list[dict[str, Any]], what: str) -> Spread:
    return Spread.of([build[what] for build in builds], "s")
