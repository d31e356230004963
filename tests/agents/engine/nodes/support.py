"""A task graph on real parts (git, sandbox, model protocol) with its rows kept in memory."""

import hashlib
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agents.context.knowledge import Knowledge
from agents.engine.ask import Question
from agents.engine.contracts import TaskContext, TaskLimits
from agents.engine.graph import RECURSION_LIMIT, build_graph
from agents.engine.state import start_state
from agents.engine.waiting import Waiting
from agents.events.base import COLUMNS, EventKind
from agents.events.effects import Announcement, EffectFailed
from agents.events.log import EventPosition, Spent
from agents.gates.base import GateReport
from agents.llm.registry import make_provider
from agents.llm.runner import ModelRunner
from agents.memory.base import Lesson, NoLessons, Showing
from agents.outside.engaged import Engaged
from agents.personas import CODER
from agents.workspace.repository import Repository
from sandbox.packages import PackageSupply
from sandbox.registry import open_backend
from sandbox.test_setup import TestSetup
from tests.agents.llm.fake_servers import FakeModelServer

APPROVED = '{"approved": true, "reasons": ["does what FR-01 asks"]}'


class Crash(Exception):
    """The process died here."""


@dataclass
class MemoryEventLog:
    """Events in a list; crashes on order, as a killed worker does: before the row is written."""

    events: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    crash_at: int = 0
    writes: int = 0
    used: Spent = field(default_factory=Spent)

    def emit(self, event: EventKind, *, attempt: int = 0, key: str | None = None) -> EventPosition:
        self.writes += 1
        if self.writes == self.crash_at:
            raise Crash
        if key is not None and key in self.keys:
            return self._mark(self.keys[key])
        columns = {name: getattr(event, name) for name in ("type", *COLUMNS)}
        self.events.append({**columns, "payload": event.payload(), "attempt": attempt, "key": key})
        if key is not None:
            self.keys[key] = len(self.events)
        return self._mark(len(self.events))

    def _mark(self, seq: int) -> EventPosition:
        return EventPosition(seq, hashlib.sha256(str(seq).encode()).hexdigest())

    def announce(self, event: Announcement, *, key: str, attempt: int = 0) -> None:
        self.emit(replace(event, outcome="intent", phase="intent", of=key), key=f"{key}:intent", attempt=attempt)

    def failed(self, event: EffectFailed, *, attempt: int = 0) -> None:
        if not 0 < self.crash_at <= self.writes:  # a dead process writes nothing
            self.emit(event, attempt=attempt)

    def remembered(self, key: str) -> tuple[str, bool] | None:
        if key not in self.keys:
            return None
        return self.events[self.keys[key] - 1]["blobs"]["output"], False

    def delta(self, **_: Any) -> None: ...

    def spent(self) -> Spent:
        return self.used

    def head(self) -> EventPosition:
        return self._mark(len(self.events))

    def rest(self) -> None:
        pass

    def stopped(self) -> bool:
        return False

    def of(self, *types: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] in types]


@dataclass
class MemoryTaskStore:
    """Attempts, findings and questions in memory."""

    attempts: dict[int, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def start_attempt(self, number: int, strategy: str, diagnosis: Mapping[str, str] | None) -> None:
        self.attempts.setdefault(number, {"strategy": strategy, "outcome": "running"})

    def finish_attempt(self, number: int, outcome: str, **fields: Any) -> None:
        if self.attempts[number]["outcome"] == "running":
            self.attempts[number] |= {"outcome": outcome, **fields}

    def judge_diagnosis(self, number: int, outcome: str) -> None:
        self.attempts[number].setdefault("diagnosis", outcome)

    def record_findings(self, report: GateReport, attempt: int) -> None: ...

    def dispositions(self) -> Mapping[str, Any]:
        return {}

    def words(self) -> Sequence[str]:
        return self.said

    def ask(self, *, subject: str, **fields: Any) -> Any:
        self.asked.append(subject)
        self.questions.append({"subject": subject, **fields})
        return self.answers.get(subject, "pending")

    def refusals(self) -> Sequence[str]:
        return [f"{row['title']}: no" for row in self.questions if self.answers.get(row["subject"]) == "rejected"]

    def merge_turn(self, merge: Callable[[], None]) -> None:
        merge()


class MemoryLessons(NoLessons):
    """Lessons in a list, found by signature; what worked is in a list of its own."""

    problem = ""

    def __init__(self) -> None:
        self.kept: list[Lesson] = []
        self.successes: list[Lesson] = []
        self.showings: list[Showing] = []

    def add(self, lesson: Lesson) -> None:
        (self.successes if lesson.worked else self.kept).append(lesson)

    def by_signature(self, signature: str, limit: int = 3) -> list[Lesson]:
        return [lesson for lesson in self.kept if lesson.signature == signature][:limit]

    def record(self, showings: Sequence[Showing]) -> None:
        self.showings.extend(showings)


def clean_gates(root: Path, paths: Sequence[str], dispositions: Mapping[str, Any]) -> GateReport:
    """Gates that find nothing, for tests about something else."""
    return GateReport("pass", (), {}, ())


def code(path: str, text: str, words: str = "Here it is.") -> str:
    """A reply with one file."""
    return f"{words}\n\n```python path={path}\n{text}\n```\n"


TESTS = code("tests/test_calc.py", "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5")
GOOD = code("calc.py", "def add(a: int, b: int) -> int:\n    return a + b")
BAD = code("calc.py", "def add(a: int, b: int) -> int:\n    return a - b")
DIAGNOSIS = "## Diagnosis\nCause: {cause}\nEvidence: assert\nHypothesis: it will pass\nPlan: change it\n"


@dataclass
class Bench:
    """One task on a repository of its own."""

    folder: Path
    replies: dict[str, str]
    task: dict[str, Any]
    limits: TaskLimits = field(default_factory=TaskLimits)
    gates: Any = clean_gates
    supply: Any = None  # else the product's own, with no index to answer
    event_log: MemoryEventLog = field(default_factory=MemoryEventLog)
    task_store: MemoryTaskStore = field(default_factory=MemoryTaskStore)
    lessons: Any = field(default_factory=MemoryLessons)
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    switched_off: frozenset[str] = frozenset()
    knowledge: Knowledge = field(default_factory=Knowledge)
    test_setup: TestSetup = field(default_factory=TestSetup)
    try_container: Any = None  # builds and starts a Dockerfile
    sub_task: Any = None  # what comes of a request for one
    across: bool = False  # lessons of other projects are allowed
    at_once: int = 1  # conversations that the model's server takes
    speed: float = 0.0  # tokens a second of the model; 0 is as fast as it can
    server: Any = None  # the model's, while or after it ran
    faults: dict[str, Any] = field(default_factory=dict)  # what goes wrong there first
    outside: Any = None  # another agent, agents.outside.table.OutsideAgent

    @property
    def repository(self) -> Repository:
        return Repository(self.folder / "repo", self.folder / "trees")

    def start_with(self, files: dict[str, str], trailers: dict[str, str] | None = None) -> None:
        """Make the repository, and merge these files before the task begins."""
        self.repository.ensure("Test")
        base = self.repository.head()
        tree = self.repository.worktree("before", base)
        tree.write(files)
        self.repository.fast_forward(tree.commit(base, "As it was", "", trailers or {}))

    def merged(self, path: str) -> str:
        """A file as it was merged; "" when there is none."""
        return self.repository.read(self.repository.head(), path) or ""

    @contextmanager
    def context(self) -> Iterator[TaskContext]:
        scenario = self.folder / "scenario"
        key = self.task["key"]
        (scenario / key).mkdir(parents=True, exist_ok=True)
        (scenario / "scenario.toml").write_text(
            'name = "test"\ntitle = "t"\ndescription = "d"\nmodel = "m"\nrecorded = true\n'
        )
        for name, text in self.replies.items():
            (scenario / key / f"{name}.md").write_text(text)
        self.repository.ensure("Test")
        self.server = FakeModelServer(scenario, tokens_per_s=self.speed, parallel=self.at_once)
        if self.faults:
            self.server.faults.add(**self.faults)
        with self.server as url, ModelRunner(attempts=1, parallel=lambda server: self.at_once) as runner:
            provider = make_provider("scripted", server=url, model="m")
            context = TaskContext(
                project="test",
                run="1",
                house_rules="",
                event_log=self.event_log,
                task_store=self.task_store,
                limits=self.limits,
                repository=self.repository,
                worktree_name="t",
                provider=lambda persona: provider,
                runner=runner,
                backend=open_backend("bubblewrap"),
                supply=self.supply or PackageSupply(self.folder / "packages"),
                lessons=self.lessons,
                gates=self.gates,
                knowledge=self.knowledge,
                test_setup=self.test_setup,
                sub_task=self.sub_task,
                try_container=self.try_container,
                switched_off=self.switched_off,
                lessons_across_projects=self.across,
                outside=Engaged(self.outside, "t") if self.outside else None,
            )
            try:
                yield context
            finally:
                context.close()
                if context.outside:
                    context.outside.close()

    def git(self, *argv: str, check: bool = True) -> str:
        """What git prints in the repository."""
        done = subprocess.run(["git", *argv], cwd=self.repository.root, capture_output=True, text=True, check=check)
        return done.stdout

    def prompts(self, step: str) -> list[list[str]]:
        """The turns of each question that this step asked a model."""
        thoughts = self.event_log.of("thought")
        return [event["blobs"]["prompt"] for event in thoughts if event["payload"].get("step") == step]

    def last_turns(self, step: str) -> list[str]:
        """The newest turn of each question that this step asked."""
        return [prompt[-1] for prompt in self.prompts(step)]

    def waits(self, match: str = "") -> dict[str, Any]:
        """Run until a person has to answer, and return the newest question."""
        with pytest.raises(Waiting, match=match or None):
            self.run()
        return self.task_store.questions[-1] if self.task_store.questions else {}

    def answer(self, verdict: str) -> None:
        """Answer the newest question."""
        self.task_store.answers[self.task_store.questions[-1]["subject"]] = verdict

    def run(self) -> dict[str, Any]:
        """Run, or resume where an earlier run() stopped."""
        with self.context() as context:
            graph = build_graph().compile(checkpointer=self.saver)
            config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": RECURSION_LIMIT}
            start = None if graph.get_state(config).tasks else start_state(self.task)
            return graph.invoke(start, config, context=context, durability="sync")


def question(event_log: MemoryEventLog, runner: ModelRunner, provider: Any, messages: Any, **parts: Any) -> Question:
    """A question of the coder, outside of any task."""
    usual = {"limits": TaskLimits(), "persona": CODER, "step": "code", "key": "k"}
    return Question(event_log=event_log, runner=runner, provider=provider, messages=messages, **usual | parts)


def task(**changes: Any) -> dict[str, Any]:
    """A task that wants an add() function."""
    return {
        "key": "T-01",
        "title": "Adding",
        "description": "add(a, b) returns the sum",
        "expects": "sums",
        "kind": "code",
        "files": ["calc.py"],
        "packages": [],
        "note": "",
        "generation": 1,
        "requirements": [{"key": "FR-01", "text": "Adds numbers", "kind": "functional", "acceptance": ["2 + 3 is 5"]}],
    } | changes


__all__ = [
    *("APPROVED", "BAD", "DIAGNOSIS", "GOOD", "TESTS"),
    *("Bench", "Crash", "MemoryEventLog", "clean_gates", "code", "question", "task"),
]
