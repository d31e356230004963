"""One project with everything on its pages: made-up data, written through the services."""

from dataclasses import dataclass
from typing import Any

from projects.models import Approval, Finding, Plan, Project, RequirementDocument, Run, Task
from projects.services.planning import plans, runs
from projects.services.work import approval_requests, attempts, findings, tasks
from projects.storage.paths import repository_of
from tests.dashboard.story_events import ask_models, loop
from tests.factories import make_document, make_plan, make_project, make_user, owner_of, plan_content
from tests.rows import emit

DIFF = """diff --git a/app/todos.py b/app/todos.py
--- a/app/todos.py
+++ b/app/todos.py
@@ -1,3 +1,4 @@
 def add(title):
-    return title
+    if not title:
+        raise ValueError("a to-do needs a title")
"""

RUN_DIFF = """diff --git a/app/run.py b/app/run.py
new file mode 100644
index 0000000..{blob}
--- /dev/null
+++ b/app/run.py
@@ -0,0 +1,4 @@
+import subprocess
+
+def run(command: str) -> int:
+    return subprocess.call({argument}, shell=True)
"""


@dataclass
class Story:
    """The rows a test or a screenshot needs by name."""

    owner: Any
    project: Project
    document: RequirementDocument
    plan: Plan
    run: Run
    done: Task
    stuck: Task
    finding: Finding
    approval: Approval
    waiting_plan: Plan


SHELL = {
    "severity": "HIGH",
    "confidence": "HIGH",
    "cwe": "CWE-78",
    "path": "app/run.py",
    "line": 4,
    "message": "subprocess call with shell=True",
    "remediation": "Pass the command as a list.",
}
NEEDS = {"T-01": [], "T-02": ["T-01"], "T-03": ["T-01"], "T-04": ["T-02", "T-03"]}


def tell(owner: Any = None, name: str = "Todo API") -> Story:
    """Build it: a run with a merged, an escalated, a running and a waiting task; a second project with a plan."""
    from tests.factories import make_run

    owner = owner or make_user("ada")
    project = make_project(name, by=owner)
    document = make_document(project)
    plan = make_plan(document, needs=NEEDS)
    run = make_run(plan)
    by_key = {task.key: task for task in run.tasks.all()}
    done, stuck = by_key["T-01"], by_key["T-02"]
    _work(run, done)
    _struggle(run, stuck)
    tasks.move_task(by_key["T-03"], "ready")
    tasks.move_task(by_key["T-03"], "running")
    found = findings.record_findings(
        stuck,
        [
            {**SHELL, "tool": "bandit", "rule": "B602", "fingerprint": "f" * 64},
            {**SHELL, "tool": "semgrep", "rule": "py-shell", "confidence": "MEDIUM", "fingerprint": "e" * 64},
            {
                **SHELL,
                "tool": "bandit",
                "rule": "B404",
                "severity": "LOW",
                "line": 1,
                "message": "Imports subprocess",
                "fingerprint": "d" * 64,
            },
        ],
        attempt=2,
        blocking={"f" * 64, "e" * 64},
    )
    approval = approval_requests.ask(
        project,
        kind="package",
        subject="httpx",
        title="Install httpx",
        run=run,
        task=by_key["T-03"],
        why="T-03 wants to import httpx, which is not on the list.",
        on_yes="It is installed for this run.",
        on_no="The coder must do without.",
    )
    ask_models(run, stuck)
    loop(run, stuck)
    other = make_project("Notes", by=owner)
    waiting = make_plan(make_document(other), approved=False)
    return Story(owner, project, document, plan, run, done, stuck, found[0], approval, waiting)


def _work(run: Run, task: Task) -> None:
    """A task that went well."""
    tasks.move_task(task, "ready")
    tasks.move_task(task, "running")
    attempts.start_attempt(task, number=1, strategy="first")
    say = {"role": "coder", "actor": "worker:here:1", "task_id": task.pk, "attempt": 1}
    emit(
        run.pk,
        "thought",
        summary="A to-do is a title and a flag; a dict is enough.",
        payload={
            "text": "A to-do is a *title* and a flag; a `dict` is enough.\n\n- no class\n- no ORM",
            "step": "coder-code",
        },
        blobs={"prompt": ["You write code.", "Task: T-01"], "output": "Here is the file."},
        tokens=212,
        duration_ms=4100,
        **say,
    )
    emit(
        run.pk,
        "decision",
        summary="chose a dict over a dataclass because it is JSON already",
        payload={"choice": "dict", "rejected": "dataclass", "reason": "it is JSON already", "requirements": ["FR-01"]},
        **say,
    )
    emit(
        run.pk,
        "file.diff",
        summary="app/todos.py +2 −1",
        payload={"path": "app/todos.py", "added": 2, "removed": 1},
        blobs={"diff": DIFF},
        **say,
    )
    emit(
        run.pk,
        "test.result",
        summary="4 passed, branch 92 %",
        payload={"passed": 4, "failed": 0, "errors": 0, "skipped": 0, "failures": []},
        outcome="ok",
        duration_ms=820,
        **{**say, "role": "tester"},
    )
    emit(run.pk, "gate.verdict", summary="passed: bandit, semgrep, secrets ran; nothing found", outcome="ok", **say)
    attempts.finish_attempt(
        task,
        number=1,
        outcome="passed",
        tests={"passed": 4, "failed": 0, "errors": 0, "skipped": 0, "failures": []},
        branch_coverage=92.0,
        diff=DIFF,
        reward=1.0,
    )
    tasks.move_task(task, "merged")


def _struggle(run: Run, task: Task) -> None:
    """A task the agents gave up."""
    tasks.move_task(task, "ready")
    tasks.move_task(task, "running")
    failed = {
        "passed": 3,
        "failed": 1,
        "errors": 0,
        "skipped": 0,
        "failures": [
            {"nodeid": "tests/test_done.py::test_mark", "message": "AssertionError: assert None == {'done': True}"}
        ],
    }
    for number, strategy in ((1, "first"), (2, "repair")):
        diagnosis = (
            {}
            if number == 1
            else {
                "cause": "mark() returns nothing",
                "evidence": "assert None == …",
                "hypothesis": "the return statement is missing",
                "plan": "return the changed to-do",
            }
        )
        attempts.start_attempt(task, number=number, strategy=strategy, diagnosis=diagnosis or None)
        say = {"role": "coder", "actor": "worker:here:1", "task_id": task.pk, "attempt": number}
        if diagnosis:
            emit(run.pk, "diagnosis", summary="mark() returns nothing", payload=diagnosis, **say)
        emit(
            run.pk,
            "cmd",
            summary="pytest -q → exit 1",
            payload={
                "argv": ["python", "-m", "pytest", "-q"],
                "exit_code": 1,
                "seconds": 3.4,
                "tail": "1 failed, 3 passed",
            },
            outcome="fail",
            duration_ms=3400,
            **say,
        )
        emit(
            run.pk,
            "test.result",
            summary="3 passed 1 failed",
            payload=failed,
            outcome="fail",
            **{**say, "role": "tester"},
        )
        attempts.finish_attempt(
            task,
            number=number,
            outcome="failed",
            tests=failed,
            branch_coverage=71.5,
            diff=DIFF + RUN_DIFF.format(blob=str(number) * 7, argument=("command", "f'{command} -v'")[number - 1]),
            error_signature="a" * 64,
        )
    attempts.judge_diagnosis(task, number=2, outcome="refuted")
    tasks.move_task(task, "escalated", reason="the same error twice")
    Task.objects.filter(pk=task.pk).update(
        escalation="Two tries failed with the **same** error.\n\nThe test wants a dict."
    )
    task.refresh_from_db()


CODE = {
    "README.md": "# Todo API\n\nKeeps *to-dos*.\n\n<script>alert(1)</script>\n",
    "app/__init__.py": "",
    "app/todos.py": '"""To-dos."""\n\n\ndef add(title: str) -> str:\n    if not title:\n'
    '        raise ValueError("a to-do needs a title")\n    return title\n',
    "tests/test_todos.py": 'from app.todos import add\n\n\ndef test_add() -> None:\n    assert add("a") == "a"\n',
}


def add_code(story: Story, files: dict[str, str] = CODE) -> str:
    """Give the story's project a repository in which T-01 is merged; returns the commit."""
    repository = repository_of(story.project)
    base = repository.ensure(story.project.name)
    tree = repository.worktree(f"run-{story.run.pk}-T-01", base)
    tree.write(files)
    thought = story.run.events.filter(task=story.done, type="thought").latest("seq")
    trailers = {"Task": "T-01", "Requirement": "FR-01", "Run": str(story.run.pk), "Event": str(thought.seq)}
    commit = tree.commit(base, "Write the list", "A to-do has a title.", trailers)
    repository.fast_forward(commit)
    Task.objects.filter(pk=story.done.pk).update(commit=commit)
    story.done.refresh_from_db()
    return commit


def move_base(story: Story, files: dict[str, str] | None = None) -> None:
    """Give the story's build a commit, and put one of somebody else on its base branch."""
    repository, base = repository_of(story.project, story.run), repository_of(story.project)
    begun = repository.begin()
    Run.objects.filter(pk=story.run.pk).update(base_commit=begun)
    theirs = base.candidate("theirs", begun, files or {"theirs.py": "theirs = 1\n"}).commit(begun, "Theirs", "", {})
    base._move(("refs/heads/main", theirs, begun))
    tree = repository.candidate("mine", begun, {"app/new.py": "mine = 1\n"})
    repository.fast_forward(tree.commit(begun, "Mine", "", {"Run": str(story.run.pk), "Task": "T-01"}))


def finish(story: Story, *, whole: bool = False) -> Run:
    """End the story's build: nothing is left out when `whole`, else every open task."""
    run = story.run
    for task in run.tasks.exclude(status="merged"):
        if whole:
            Task.objects.filter(pk=task.pk).update(status="merged", commit=story.done.commit)
        else:
            Task.objects.filter(pk=task.pk).update(status="skipped")
    runs.finish_if_done(run.pk)
    run.refresh_from_db()
    return run


def second_version(story: Story) -> Plan:
    """An edited plan: v2 differs from v1 in one task and one more."""
    content = plan_content()
    content["tasks"][0]["title"] = "Write the list"
    content["tasks"].append({**content["tasks"][1], "key": "T-03", "title": "Write the docs", "needs": ["T-02"]})
    plan = story.waiting_plan
    return plans.edit_plan(
        plan, content=content, by=owner_of(plan.project), comment="smaller", base_hash=plan.content_hash
    )


def ask_gate(story: Story) -> Approval:
    """Have the security gate ask about the third task, whose change has the findings of the escalated one."""
    task = story.run.tasks.get(key="T-03")
    attempts.start_attempt(task, number=1, strategy="first")
    diff = RUN_DIFF.format(blob="1" * 7, argument="command")
    attempts.finish_attempt(task, number=1, outcome="rejected", diff=diff, tests={"passed": 4, "failed": 0})
    rows = [{**SHELL, "tool": "bandit", "rule": "B602", "fingerprint": "1" * 64}]
    findings.record_findings(task, rows, attempt=1, blocking={"1" * 64})
    asked = approval_requests.ask(
        story.project,
        kind="gate",
        subject="T-03#1:" + "1" * 12,
        title="T-03 failed the security gate",
        run=story.run,
        task=task,
        why="HIGH bandit B602",
        on_yes="The gate runs again with what you decided about each finding.",
        on_no="The task is escalated.",
    )
    tasks.move_task(task, "needs_you")
    return asked
