"""What the engine costs per model call, over a bare loop that makes the same calls and runs the same tests."""

from __future__ import annotations

from typing import Any

from measure.figures import Figure, Section, Spread
from measure.performance.stories import REPAIRED, write_scenario
from measure.processes import ask_child, recording, scratch

TITLE = "the engine's own time per model call (tests → wrong code → repair → gates → review → merge)"
DEFAULT_N = 12
SECONDS = 60.0  # no further round after this long
# Parts of the engine's own work; waiting for model, sandbox and scanners is told apart.
OWN = ("event_log", "checkpoints", "git", "nodes", "runner", "graph")
WORDS = {
    "event_log": "events, ledger, attempts, leases",
    "checkpoints": "the graph's state after every node",
    "git": "worktree, diffs, commit, merge",
    "nodes": "prompts, parsing, firewall",
    "runner": "a call through ModelRunner beyond a bare one",
    "graph": "LangGraph itself, and what no stopwatch holds",
    "gates": "all scanners over the change",
    "sandbox": "open, fill, two test runs with coverage, close",
}


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure."""
    n = options.n or DEFAULT_N
    with scratch() as folder:
        write_scenario(folder / "scenario", REPAIRED)
        with recording(folder / "scenario", tokens_per_s=0, parallel=1) as server:
            asked = {"n": n, "seconds": SECONDS, "server": server, "scratch": str(folder)}
            answer = ask_child("measure.performance.engine_child", folder / "home", asked)
    ways = answer["ways"]
    section.figures = figures(ways)
    events = Spread.of([sample["counts"]["events"] for sample in ways["database"]], "events")
    section.notes = [
        f"n is tasks; each made {ways['bare'][0]['calls']} model calls; sandbox: {answer['backend']}",
        f"a task on the database wrote {events.median:.0f} events",
        "model time is the bare loop's for the same calls: what the engine's own client adds counts as the engine's",
        "CPU is of this process and of what it started (git, scanners, bubblewrap); the model's server is "
        "another process",
    ]


def figures(ways: dict[str, list[dict[str, Any]]]) -> list[Figure]:
    """The figures of samples by way: memory, database, bare."""
    bare = ways["bare"]
    calls = bare[0]["calls"]
    model = Spread.of([sample["own"]["model"] for sample in bare], "s").median
    a_call = Spread.of([1000 * one for sample in bare for one in sample["each_call"]], "ms")
    whole = Spread.of([1000 * (sample["wall"] - sample["own"]["model"]) / calls for sample in bare], "ms")
    cpu, cpu_own = _cpu(bare, calls)
    found = []
    for way, words in (("memory", "rows in memory, no scanners"), ("database", "SQLite, all scanners")):
        samples = ways[way]
        parts = [split(sample, model, calls) for sample in samples]
        both, own = _cpu(samples, calls)
        work = Spread.of([sum(part[key] for key in OWN) for part in parts], "ms")
        wall = Spread.of([1000 * (sample["wall"] - model) / calls for sample in samples], "ms")
        found += [
            Figure(f"per call, tests too: {words}", wall, whole, "bare loop with bare pytest, model time taken off"),
            Figure("  CPU of all its processes", both, cpu, "CPU of the bare loop and its pytest"),
            Figure("  CPU of its own process", own, cpu_own, "CPU of the bare loop alone"),
            Figure("  own work, without sandbox and scanners", work, a_call, "one bare model call, no token delay"),
        ]
    for key in (*OWN, "gates", "sandbox"):
        share = Spread.of([part[key] for part in parts], "ms")
        found.append(Figure(f"    {key}: {WORDS[key]}", share, work, "the engine's own work on SQLite", better=""))
    return found


def _cpu(samples: list[dict[str, Any]], calls: int) -> tuple[Spread, Spread]:
    """CPU per model call: of all processes, and of the one process alone."""
    both = [1000 * (sample["cpu_own"] + sample["cpu_children"]) / calls for sample in samples]
    return Spread.of(both, "ms"), Spread.of([1000 * sample["cpu_own"] / calls for sample in samples], "ms")


def split(sample: dict[str, Any], model: float, calls: int) -> dict[str, float]:
    """Milliseconds per model call of each part; `model` is what the bare loop's calls took in all."""
    own = {key: sample["own"].get(key, 0.0) for key in ("event_log", "checkpoints", "git", "nodes", "gates", "sandbox")}
    own["runner"] = sample["own"]["model"] - model
    own["graph"] = sample["wall"] - sum(own.values()) - model
    return {key: 1000 * seconds / calls for key, seconds in own.items()}
