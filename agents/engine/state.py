"""The state of one task's graph: plain JSON data, saved after every node, resumed and shown."""

from __future__ import annotations

from typing import Any, TypedDict

from agents.llm.base import Message


class TaskState(TypedDict, total=False):
    """What the nodes of the task graph hand on. Everything here survives a kill."""

    task: dict[str, Any]  # key, title, description, expects, kind, files, packages, requirements, note
    step: int  # counts node runs; with the node's name it makes the key of every effect
    base: str  # commit the worktree starts from
    approach: int  # 1, 2, …: a new one starts a new conversation
    iteration: int  # model calls that wrote files, over all approaches
    repairs: int  # tries after a failure, over all approaches
    repairs_here: int  # tries after a failure in this approach
    exhausted: bool  # this approach repeats a failed try, so the next try takes another one
    attempt: int
    strategy: str  # first, repair, fresh, findings, conflict, adjudicated
    tester: list[Message]  # the tester's conversation
    coder: list[Message]  # the coder's conversation in this approach
    tests: dict[str, str]  # path -> content; read-only for the coder
    files: dict[str, str]  # path -> content of the candidate
    packages: list[str]
    report: dict[str, Any]  # the last test report
    signatures: list[str]  # of the failures in this approach, newest last
    adjudicated: list[str]  # signatures the tester has judged
    adjudications: int
    diagnosis: dict[str, str]
    failures: list[str]  # one line per failed try, for the next approach and the escalation
    best: dict[str, Any]  # reward, passed, files, tests of the best try so far
    best_here: dict[str, Any]  # the best failed try of this approach, to go back to (agents.engine.best_try)
    mutation: dict[str, Any]  # done, rounds, survivors: whether the tests notice small mistakes
    gate_rounds: int
    review_rounds: int
    conflict: dict[str, str]  # path -> text with markers
    verdict: str  # what the last node decided; routers read it
    messages_read: int  # how many of people's words the agents were told
    lessons: list[dict[str, Any]]
    commit: str
    escalation: str
    tried: list[dict[str, Any]]  # failed candidates: hash, attempt, failure, signature, tests, compiles
    unfounded: bool  # the last diagnosis named a line that nobody had shown
    previous_failure: dict[str, Any]  # the failing version that this one replaces: signature, files, packages, trace
    argued: str  # why the tester holds that the code is wrong, from its last word on it
    shown: list[str]  # lessons that the coming attempt was shown
    unhelpful_lessons: list[str]  # lessons that attempts of this task were shown and failed with
    # A cure that a test run proved, kept once it is merged: signature, failure, attempt, and cause with fix or, when it
    # came without a diagnosis, trace with diff.
    learned: dict[str, Any]
    reward: float  # of the try that passed the gates (SWE-MEM-3)


def start_state(task: dict[str, Any], *, attempts_before: int = 0) -> TaskState:
    """The state a task begins with; tries of an earlier generation are counted on."""
    return TaskState(
        task=task,
        step=0,
        base="",
        approach=1,
        iteration=0,
        repairs=0,
        repairs_here=0,
        exhausted=False,
        attempt=attempts_before,
        strategy="first",
        tester=[],
        coder=[],
        tests={},
        files={},
        packages=list(task.get("packages", [])),
        report={},
        signatures=[],
        adjudicated=[],
        adjudications=0,
        diagnosis={},
        failures=[],
        best={},
        best_here={},
        mutation={},
        gate_rounds=0,
        review_rounds=0,
        conflict={},
        messages_read=0,
        verdict="",
        lessons=[],
        commit="",
        escalation="",
        tried=[],
        unfounded=False,
        previous_failure={},
        argued="",
        shown=[],
        unhelpful_lessons=[],
        learned={},
        reward=1.0,
    )
