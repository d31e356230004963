"""A program in TypeScript goes from a document to merged code: tested, repaired, scanned, with everything real but the
model."""

import subprocess

from projects.models import Attempt, Event, Run, Task
from projects.services.planning import documents, runs
from projects.storage import paths
from sandbox.node_env import find_node_modules
from tests.factories import PRD, make_project, owner_of
from tests.needs import missing
from tests.projects.jobs_driver import APPROVED, REAL_JOBS, plan_of, planned_task, write_scenario

pytestmark = REAL_JOBS
DIAGNOSIS = (
    "## Diagnosis\nCause: done ones are counted too\nEvidence: AssertionError\nHypothesis: a filter helps\n"
    "Plan: count open ones\n"
)


TASK = planned_task(
    "T-01",
    **{"title": "A list of things to do", "description": "Add and finish things to do, and count the open ones"},
    **{"expects": "open() counts what is not done", "files": ["src/todo.ts", "tests/todo.test.ts"]},
)


TESTS = """import { test } from "node:test";
import assert from "node:assert/strict";
import { TodoList } from "../src/todo.ts";

test("a new thing is open", () => {
  const list = new TodoList();
  list.add("milk");
  assert.equal(list.open(), 1);
});

test("a thing that is done is not open", () => {
  const list = new TodoList();
  list.finish(list.add("milk"));
  assert.equal(list.open(), 0);
});

test("a thing without a title is refused", () => {
  assert.throws(() => new TodoList().add(" "), /title/);
});
"""
CODE = """/** Things to do, in the order in which they were added. */
export class TodoList {
  private readonly items: { title: string; done: boolean }[] = [];

  /** Add a thing; returns its number. Throws for an empty title. */
  add(title: string): number {
    if (title.trim() === "") {
      throw new Error("a title is needed");
    }
    return this.items.push({ title, done: false }) - 1;
  }

  /** Mark a thing as done. */
  finish(number: number): void {
    this.items[number].done = true;
  }

  /** How many are not done. */
  open(): number {
    return this.items.length;
  }
}
"""


def written(path: str, text: str) -> str:
    return f"Here it is.\n\n```typescript path={path}\n{text}```\n"


REPLIES = {
    "plan/planner-infer": '{"requirements": []}',
    "plan/planner-plan": "One file does it.",
    "plan/planner-structure": plan_of(TASK),
    "T-01/tester-tests": written("tests/todo.test.ts", TESTS),
    "T-01/coder-code": written("src/todo.ts", CODE),
    "T-01/coder-repair": DIAGNOSIS
    + written("src/todo.ts", CODE.replace("this.items.length", "this.items.filter((item) => !item.done).length")),
    "T-01/reviewer-review": APPROVED,
}


def test_a_typescript_program_is_planned_tested_repaired_and_merged(tmp_path, driver, settings):
    settings.SANDBOX_BACKEND = "bubblewrap"  # an engine that other tests started has no image with Node
    if find_node_modules() is None:
        missing("the tools of Node for sandboxes: make install with npm on the PATH")
    project = make_project("Todo", model=write_scenario(tmp_path / "scenario", REPLIES), autonomy="none")
    document = documents.upload_document(project, PRD.encode(), "prd.md", by=owner_of(project))
    runs.start_planning(document, by=owner_of(project))
    driver.work()
    run = Run.objects.get(project=project, kind=Run.Kind.BUILD)
    task = run.tasks.get()
    told = [
        f"{event.type}: {event.summary} {str(event.payload)[:700]}"
        for event in Event.objects.filter(run=run).order_by("seq")
    ]
    assert task.status == Task.Status.MERGED, "\n".join(told[-40:])
    tries = Attempt.objects.order_by("number")
    assert list(tries.values_list("strategy", "outcome")) == [("first", "failed"), ("repair", "passed")]
    failed = Event.objects.filter(run=run, type="test.result", outcome="fail").order_by("seq").first()
    assert failed is not None
    (row,) = failed.payload["failures"]
    assert (row["kind"], row["nodeid"].partition("::")[0]) == ("AssertionError", "tests/todo.test.ts")
    assert Event.objects.filter(run=run, type="coverage.result").exists()
    shown = subprocess.run(
        ["git", "show", "main:src/todo.ts"],
        cwd=paths.repository_path(project),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "filter((item) => !item.done)" in shown.stdout
    assert "a title is needed" in shown.stdout
