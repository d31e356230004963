"""What the models and the loop left in the stream of the story's run."""

from typing import Any

from projects.models import Run, Task
from projects.services.work import attempts
from tests.rows import emit

SYSTEM = "You write code.\n"
ASKED = "Task: T-02\nMark a to-do as done.\n\nThe tests that your code must pass:\nassert mark() == {'done': True}\n"
FAILED = "The tests ran.\nE   AssertionError: assert None == {'done': True}\n"


def ask_models(run: Run, task: Task) -> None:
    """Two model calls: a first version, and a repair whose prompt had to be shortened."""
    for number, (prompt, filled) in enumerate(
        [
            ([SYSTEM, ASKED], {"map": 700, "system": 200, "tests": 90, "task": 10}),
            ([SYSTEM, ASKED, "return None", FAILED], {"trace": 300, "system": 200, "tests": 90, "task": 10}),
        ]
    ):
        say = {"role": "coder", "actor": "worker:here:1", "task_id": task.pk, "attempt": number}
        key = f"T-02/g1/{number}/coder"
        if number:
            emit(
                run.pk,
                "context.compacted",
                summary="Older turns summed up, 700 tokens saved",
                payload={"saved": 700, "parts": {"map": [700, 0]}},
                key=f"{key}:compacted",
                **say,
            )
        payload = {
            "model": "qwen2.5-coder:7b",
            "prompt_tokens": sum(filled.values()),
            "reused_tokens": None,
            "window": 4_096,
            "completion_tokens": 80,
            "tokens_per_s": 41.0,
            "recorded": False,
            "truncated": bool(number),
            "filled_by": filled,
            "instead_of": ["bigger: 503"] if number else [],
        }
        emit(run.pk, "llm.usage", summary="80 tokens, 41 tok/s", payload=payload, tokens=80, key=f"{key}:usage", **say)
        emit(
            run.pk,
            "thought",
            summary="The return is missing.",
            payload={
                "text": "The return is missing.",
                "step": "repair",
                "steps": ["", "code", "", "repair"][: len(prompt)],
            },
            blobs={"prompt": prompt, "output": "return None"},
            tokens=80,
            duration_ms=2_000,
            key=key,
            **say,
        )


LESSON = {
    "id": "abc",
    "signature": "a" * 64,
    "cause": "a function returns nothing",
    "fix": "return the changed row",
    "reward": 1.0,
    "project": "todo-api",
    "task": "T-01",
    "run": "1",
    "attempt": 2,
    "by": "words",
    "similarity": 0.71,
    "weight": 0.66,
    "shown": 3,
    "helped": 2,
}
# One row of each kind that search, repair and memory leave: type, summary, outcome, payload.
ROWS: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "search.selected",
        "Sample 2 of 2 goes on: 4 tests passed, 1 behave the same; both samples are drawn",
        "",
        {
            "chosen": 2,
            "why": "all 2 samples are drawn",
            "samples": [
                {"number": 1, "ok": False, "passed": 3, "failed": 1, "agree": 1},
                {"number": 2, "ok": True, "passed": 4, "failed": 0, "agree": 1},
            ],
        },
    ),
    (
        "mutation.result",
        "The tests notice 1 of 3 small mistakes",
        "fail",
        {
            "mutants": 3,
            "noticed": 1,
            "seconds": 2.4,
            "survived": [{"path": "app/todos.py", "diff": "-    if not title:\n+    if title:"}],
        },
    ),
    (
        "attempt.taken_back",
        "Try 3 made it worse: back to try 1 (3 passed, 1 failed)",
        "",
        {
            "to": 1,
            "worse": {"passed": 2, "failed": 2, "errors": 0},
        },
    ),
    (
        "repeat",
        "Try 3 is the very code of try 1; it was not run again",
        "fail",
        {
            "of": 1,
            "hash": "b" * 64,
            "failure": "assert None == {'done': True}",
        },
    ),
    ("memory.recall", "This failure was met before (by words): a function returns nothing", "", {"lessons": [LESSON]}),
    ("memory.judged", "Try 3 with 1 lesson failed", "fail", {"shown": ["abc"], "passed": False}),
    ("memory.write", "Learned from 1 failed try: a function returns nothing", "", {"lessons": [LESSON]}),
    ("memory.refused", "Not learned: the diagnosis speaks to agents", "denied", {"reason": "speaks to agents"}),
    (
        "adjudication",
        "The code is wrong: FR-02 asks for it",
        "",
        {
            "verdict": "code",
            "reason": "FR-02 asks for it",
            "requirement": "FR-02",
        },
    ),
    (
        "diagnosis",
        "mark() returns nothing",
        "",
        {
            "cause": "mark() returns nothing",
            "evidence": "a line nobody saw",
            "hypothesis": "the return is missing",
            "plan": "return it",
            "evidence_found": False,
        },
    ),
    ("coverage.result", "branch coverage 71 %", "", {"branch": 71.5, "uncovered": {"app/todos.py": [4, 5]}}),
]


def loop(run: Run, task: Task) -> None:
    """What the loop does beside writing code, and the best try attached to its end."""
    say = {"actor": "worker:here:1", "task_id": task.pk, "attempt": 3}
    attempts.start_attempt(task, number=3, strategy="repair", diagnosis={"cause": "mark() returns nothing"})
    failures = [{"nodeid": "try 1", "message": "the very code of try 1"}]
    attempts.finish_attempt(
        task,
        number=3,
        outcome="failed",
        tests={"passed": 3, "failed": 1, "failures": failures},
        error_signature="a" * 64,
    )
    for type_, summary, outcome, payload in ROWS:
        emit(run.pk, type_, summary=summary, outcome=outcome, payload=payload, role="runtime", **say)
    emit(
        run.pk,
        "error",
        summary="Escalated: two tries failed",
        outcome="escalated",
        role="runtime",
        payload={
            "message": "Two tries failed.\n\n**What was tried**\n\n- try 1",
            "tool": "engine",
            "next_steps": ["retry"],
        },
        blobs={
            "best:tests/test_done.py": "def test_mark(): ...\n",
            "best:app/todos.py": "def mark(row):\n    return None\n",
        },
        **say,
    )
