"""What a prefix cache can reuse: tokens sent and not reusable over a repair, with a model that plays given answers."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from measure.figures import CannotMeasure, Figure, Section, Spread
from measure.processes import ask_child, scratch

TITLE = "what a prefix cache can reuse over a repair (given answers, real sandbox, real prompts)"
STEPS = 10  # repairs of the long job
WINDOW = 32_768
ROUNDS = 5  # of the job on a database
CODEX_MS = 840.0  # processor time of the leanest of the larger agents over this job

START = '''"""What a rental costs."""

from __future__ import annotations

WEEK = 7


def price(days: int, a_day: int) -> int:
    """The price of a rental; every whole week has one day free."""
    if days < 0:
        raise ValueError("days must not be negative")
    weeks = days // WEEK
    return (days + weeks) * a_day


def label(days: int, a_day: int) -> str:
    """As it is printed on the bill."""
    return f"{days} days: {price(days, a_day)}"
'''
BUG = "(days + weeks) * a_day"
RIGHT = "(days - weeks) * a_day"
TESTS = """import pytest

from rental import label, price


def test_a_short_rental_has_no_free_day():
    assert price(6, 10) == 60


def test_every_week_has_a_free_day():
    assert price(15, 10) == 130


def test_the_bill_names_days_and_price():
    assert label(7, 10) == "7 days: 60"


def test_negative_days_are_refused():
    with pytest.raises(ValueError):
        price(-1, 10)
"""
TASK = {
    "key": "T-01",
    "title": "A free day a week",
    "description": "The price of a rental of a week or more is wrong. Repair it.",
    "expects": "",
    "files": ["rental.py"],
    "packages": [],
}
WRONG = (
    "days * a_day",
    "(days - 1) * a_day",
    "days * a_day - weeks",
    "(days - weeks) + a_day",
    "(days - weeks * 2) * a_day",
    "days - weeks * a_day",
    "(weeks - days) * a_day",
    "(days - WEEK) * a_day",
    "str(days - weeks)",
    "(days // weeks) * a_day",
)


def answer(expression: str, number: int) -> str:
    """A reply with the file whole, as a model writes it."""
    diagnosis = (
        f"## Diagnosis\nCause: the free days are not counted right ({number})\nEvidence: assert\n"
        "Hypothesis: one day a week must go\nPlan: change the last line of price\n\n"
    )
    return f"{diagnosis if number else ''}```python path=rental.py\n{START.replace(BUG, expression)}```\n"


class Given:
    """A provider that gives these answers one after the other."""

    name, model, server, window, recorded = "given", "given", "http://127.0.0.1", WINDOW, True

    def __init__(self, answers: Sequence[str]) -> None:
        from agents.llm.base import Timeouts

        self.timeouts = Timeouts()
        self._answers = list(answers)
        self._held: list[list[Any]] = []  # conversations with their replies, as a server's cache holds them
        self.prompts: list[list[Any]] = []
        self.uncached = 0

    async def stream(self, messages: Any, **options: Any) -> AsyncIterator[Any]:
        """The next answer, in one piece."""
        from agents.llm.base import Completion, TokenUsage
        from agents.llm.tokens import count_messages, count_tokens
        from measure.trials.counting import uncached_tokens

        if not self._answers:
            raise CannotMeasure("the job asked for more answers than were given")
        text = self._answers.pop(0)
        self.uncached += uncached_tokens(messages, self._held)
        self._held.append([*messages, {"role": "assistant", "content": text}])
        self.prompts.append(list(messages))
        yield Completion(
            text, TokenUsage(count_messages(messages), count_tokens(text), 0.0, 0.0, "given"), "stop", True
        )

    async def aclose(self) -> None:
        """Nothing is open."""


def play(
    folder: Path, answers: Sequence[str], backend: Any, runner: Any, watching: Callable[[], Any] = nullcontext
) -> dict[str, float]:
    """Run one job to its end; tokens by agents.llm.tokens, CPU in seconds of this process alone and with git.

    `watching` is entered around the job itself.
    """
    from langgraph.checkpoint.memory import InMemorySaver

    from agents.engine.contracts import NoTaskStore, TaskContext, TaskLimits
    from agents.engine.graph import RECURSION_LIMIT, build_graph
    from agents.engine.state import start_state
    from agents.gates.base import GateReport
    from agents.memory.base import NoLessons
    from agents.workspace.repository import Repository
    from measure.trials.counted import Counted
    from measure.trials.in_memory import MemoryEventLog
    from sandbox.packages import PackageSupply

    repository = Repository(folder / "repository", folder / "trees")
    repository.ensure("rental")
    base = repository.head()
    tree = repository.worktree("start", base)
    tree.write({"rental.py": START})
    repository.fast_forward(tree.commit(base, "As given", "", {}))
    given: Any = Given(answers)  # a model that needs no server
    provider: Any = Counted(given)
    context = TaskContext(
        project="rental",
        run="1",
        house_rules="",
        event_log=MemoryEventLog(),
        task_store=NoTaskStore(),
        limits=TaskLimits(max_retries=STEPS + 2, max_iterations=STEPS + 5),
        repository=repository,
        worktree_name="t",
        provider=lambda persona: provider,
        runner=runner,
        backend=backend,
        supply=PackageSupply(folder / "packages"),
        lessons=NoLessons(),
        gates=lambda root, paths, dispositions: GateReport("pass", (), {}, ()),
        needs_review=False,
    )
    task = {**TASK, "requirements": [], "note": "", "generation": 1, "tests_given": {"tests/test_rental.py": TESTS}}
    graph = build_graph().compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": RECURSION_LIMIT}
    began, wall = os.times(), time.perf_counter()
    try:
        with watching():
            state = graph.invoke(start_state(task), config, context=context, durability="sync")
    finally:
        context.close()
    ended = os.times()
    if state["verdict"] != "merged":
        raise CannotMeasure(f"the job ended {state['verdict']}: {state['escalation']}")
    own = ended.user + ended.system - began.user - began.system
    children = ended.children_user + ended.children_system - began.children_user - began.children_system
    return {
        "calls": provider.calls,
        "sent": provider.sent,
        "uncached": given.uncached,
        "strict": provider.uncached,
        "generated": provider.generated,
        "cpu": own,
        "cpu_all": own + children,
        "wall": time.perf_counter() - wall,
    }


def jobs() -> dict[str, list[str]]:
    """The answers of both jobs: a wrong and the right fix; and many wrong ones before the right one."""
    long = [answer(expression, number) for number, expression in enumerate(WRONG[:STEPS])]
    return {
        "bug fix": [answer(WRONG[0], 0), answer(RIGHT, 1)],
        "ten repairs": [*long, answer(RIGHT, STEPS)],
    }


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure."""
    from agents.llm.runner import ModelRunner
    from sandbox.registry import open_backend

    backend, runner = open_backend("auto"), ModelRunner(attempts=1)
    try:
        with scratch() as folder:
            play(folder / "warm", jobs()["bug fix"], backend, runner)
            found = {
                name: play(folder / name.replace(" ", "-"), answers, backend, runner)
                for name, answers in jobs().items()
            }
            where = ask_child("measure.performance.prefix_child", folder / "home", {"n": options.n or ROUNDS})
    finally:
        runner.close()
    for name, row in found.items():
        uncached = Spread.of([row["uncached"]], "tokens")
        section.figures += [
            Figure(f"{name}: not reusable", uncached, Spread.of([row["sent"]], "tokens"), "all tokens sent"),
        ]
        section.notes.append(
            f"{name}: {row['calls']:.0f} calls, {row['sent']:.0f} tokens sent, {row['uncached']:.0f} not reusable "
            f"({100 * row['uncached'] / row['sent']:.0f} %; {row['strict']:.0f} when replies sent back "
            f"count as new), {row['generated']:.0f} generated; engine CPU {row['cpu']:.2f} s, "
            f"with git and what else it started {row['cpu_all']:.2f} s"
        )
    section.figures += breakdown(where)
    section.notes += [
        "a server's cache holds what it was sent and what it wrote; tokens are estimates of agents.llm.tokens",
        "processor time of the bug fix as a job on SQLite, in a warm worker, without scanners: "
        f"{where['gits']:.0f} processes of git",
        "the engine's own time is split by the shares of a second pass, with a watch on every call of a function",
    ]


def breakdown(where: dict[str, Any]) -> list[Figure]:
    """Where the processor time of the bug fix goes, in milliseconds; the shares of the watched pass over the measured
    whole.
    """
    codex = Spread.of([CODEX_MS], "ms")
    engine = Spread.of([1000 * each for each in where["engine"]], "ms")
    whole = Spread.of([1000 * (each + box) for each, box in zip(where["engine"], where["sandbox"], strict=True)], "ms")
    own, share = 1000 * median(where["own"]), sum(where["parts"].values())
    rows = {f"own: {part}": own * seconds / share for part, seconds in where["parts"].items()}
    rows |= {f"git: {verb}": 1000 * seconds for verb, seconds in where["git"].items()}
    return [
        Figure("bug fix as a job: processor time of engine and git", engine, codex, "codex CLI, same job, another day"),
        *(
            Figure(f"  {name}", Spread.of([rows[name]], "ms"), engine, "engine and git", better="")
            for name in sorted(rows, key=lambda name: -rows[name])
        ),
        Figure("the same with the sandbox and all that ran in it", whole, codex, "codex CLI, same job, another day"),
    ]
