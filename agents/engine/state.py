"""The state of one task's graph: plain JSON data, saved after every node, resumed and shown.

A node returns only what it changed. What belongs together is a group; of a group, too, only the changed parts.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict, TypeVar, cast

from agents.llm.base import Message

Group = TypeVar("Group", bound=Any)


def merge(old: Group, new: Group) -> Group:
    """A group of the state with the parts that a node changed; LangGraph applies it to what nodes return."""
    return cast(Group, {**old, **new})


class Candidate(TypedDict, total=False):
    """The version at hand and what is known of it."""

    tests: dict[str, str]  # path -> content; read-only for the coder
    files: dict[str, str]  # path -> content
    removed: dict[str, list[str]]  # path -> definitions that the coder insists on taking away
    unproven: bool  # the tests pass on the base too, so they do not show what the task changes
    packages: list[str]
    diagnosis: dict[str, str]  # that it was written from
    unfounded: bool  # the diagnosis names a line as evidence that nobody had shown
    report: dict[str, Any]  # the last test report
    mutation: dict[str, Any]  # done, rounds, survivors, remark: whether the tests notice small mistakes
    reward: float  # of the try that passed the gates (SWE-MEM-3)
    conflict: dict[str, str]  # path -> text with markers
    commit: str
    author: str  # the name and version of another agent that wrote it; "" for our own coder


def files_of(candidate: Candidate) -> dict[str, str]:
    """Tests and code of a candidate."""
    return {**candidate["tests"], **candidate["files"]}


class Conversation(TypedDict, total=False):
    """What was said to the models and by them."""

    tester: list[Message]
    coder: list[Message]  # in this approach
    messages_read: int  # how many of people's words the agents were told


class History(TypedDict, total=False):
    """The tries so far."""

    signatures: list[str]  # of the failures in this approach, newest last
    adjudicated: list[str]  # signatures the tester has judged
    argued: str  # why the tester holds that the code is wrong, from its last word on it
    corrected: str  # why the tests changed last
    # What the reviewer did not accept last: diff, reasons, of_tests, and the answer of whoever disagrees with it.
    refused: dict[str, Any]
    failures: list[str]  # one line per failed try, for the next approach and the escalation
    tried: list[dict[str, Any]]  # failed candidates: hash, attempt, failure, signature, tests, compiles
    exhausted: bool  # this approach repeats a failed try, so the next try takes another one
    best: dict[str, Any]  # reward, passed, files, tests of the best try so far; of those that passed the last
    best_here: dict[str, Any]  # the best try of this approach, to go back to (agents.engine.best_try)
    previous_failure: dict[str, Any]  # that the candidate replaces: signature, files, packages, trace


class Memory(TypedDict, total=False):
    """Lessons of other tasks, and the one of this task."""

    lessons: list[dict[str, Any]]
    shown: list[str]  # lessons that the coming attempt was shown
    unhelpful_lessons: list[str]  # lessons that attempts of this task were shown and failed with
    # A cure that a test run proved, kept once it is merged: signature, failure, attempt, and cause with fix or, when it
    # came without a diagnosis, trace with diff.
    learned: dict[str, Any]


class Counters(TypedDict, total=False):
    """What the limits count; over all approaches unless another range is named."""

    attempt: int  # candidates that were run; those of earlier generations are counted on
    approach: int  # 1, 2, …: a new one starts a new conversation
    iteration: int  # model calls that wrote files
    repairs: int  # tries after a failure
    repairs_here: int  # tries after a failure in this approach
    gate_rounds: int
    review_rounds: int


class TaskState(TypedDict, total=False):
    """What the nodes of the task graph hand on. Everything here survives a kill."""

    task: dict[str, Any]  # key, title, description, expects, kind, files, packages, requirements, note
    step: int  # counts node runs; with the node's name it makes the key of every effect
    base: str  # commit the worktree starts from
    strategy: str  # first, repair, fresh, findings, conflict, adjudicated
    verdict: str  # what the last node decided; routers read it
    escalation: str
    sub_task: dict[str, Any]  # what was said to be missing: what, path, why, by (the node), and the answer
    candidate: Annotated[Candidate, merge]
    conversation: Annotated[Conversation, merge]
    history: Annotated[History, merge]
    memory: Annotated[Memory, merge]
    counters: Annotated[Counters, merge]


GROUPS = frozenset({"candidate", "conversation", "history", "memory", "counters"})


def updated(state: TaskState, change: TaskState) -> TaskState:
    """The state, or what a node returns, with a further change applied as the graph applies it."""
    known: dict[str, Any] = dict(state)
    changed = {name: merge(known.get(name, {}), new) if name in GROUPS else new for name, new in change.items()}
    return cast(TaskState, known | changed)


def key_of(state: TaskState, name: str) -> str:
    """The idempotency key of an effect of this node run: the same when the node runs again after a kill."""
    task = state["task"]
    return f"{task['key']}/g{task.get('generation', 1)}/{state['step']}/{name}"


def start_state(task: dict[str, Any], *, attempts_before: int = 0) -> TaskState:
    """The state a task begins with; tries of an earlier generation are counted on."""
    return TaskState(
        task=task,
        step=0,
        base="",
        strategy="first",
        verdict="",
        escalation="",
        sub_task={},
        candidate=Candidate(
            tests={},
            files={},
            removed={},
            unproven=False,
            packages=list(task.get("packages", [])),
            diagnosis={},
            unfounded=False,
            report={},
            mutation={},
            reward=1.0,
            conflict={},
            commit="",
            author="",
        ),
        conversation=Conversation(tester=[], coder=[], messages_read=0),
        history=History(
            signatures=[],
            adjudicated=[],
            argued="",
            corrected="",
            refused={},
            failures=[],
            tried=[],
            exhausted=False,
            best={},
            best_here={},
            previous_failure={},
        ),
        memory=Memory(lessons=[], shown=[], unhelpful_lessons=[], learned={}),
        counters=Counters(
            attempt=attempts_before, approach=1, iteration=0, repairs=0, repairs_here=0, gate_rounds=0, review_rounds=0
        ),
    )
