"""A document that changes in the middle of a build, through the real jobs: nothing is lost, nothing unwanted stays."""

import json

from projects.engine import building
from projects.jobs.upkeep import sweep
from projects.models import Approval, Plan, Run, Task
from projects.services.decisions import approvals
from projects.services.planning import documents, plans, runs
from projects.services.planning.progress import progress_of
from projects.storage import paths
from tests.factories import make_project, owner_of
from tests.projects.jobs_driver import APPROVED, REAL_JOBS, Driver, reply, write_scenario

pytestmark = REAL_JOBS

FIRST = """# Lists

FR-1: The user shall add an entry to a list.

FR-2: The user shall export a list as text.

FR-3: The user shall mark an entry as done.

FR-4: The user shall print a list.
"""
SECOND = """# Lists

FR-1: The user shall add an entry to a list.

FR-3: The user shall mark an entry as done or as cancelled.

FR-5: The user shall count the entries of a list.
"""
ADD = (
    '"""Lists."""\n\n\ndef add(entries: list[str], entry: str) -> list[str]:\n'
    '    """With the entry."""\n    return [*entries, entry]\n'
)
EXPORT = ADD + '\n\ndef export(entries: list[str]) -> str:\n    """As text."""\n    return "\\n".join(entries)\n'
GONE = "import lists\n\n\ndef test_nothing_is_exported():\n    assert not hasattr(lists, 'export')\n"


def function(name: str, value: str) -> str:
    return f'"""Marks."""\n\n\ndef {name}() -> str:\n    """The mark."""\n    return "{value}"\n'


def checked(module: str, check: str) -> str:
    return f"import {module}\n\n\ndef test_{module}():\n    assert {module}.{check}\n"


WORK = {
    "T-01": (("test_add", checked("lists", 'add([], "a") == ["a"]')), ("lists", ADD)),
    "T-02": (("test_export", checked("lists", 'export(["a"]) == "a"')), ("lists", EXPORT)),
    "T-03": (("test_marks", checked("marks", 'mark() == "done"')), ("marks", function("mark", "done"))),
    "T-11": (("test_export", GONE), ("lists", ADD)),
    "T-12": (("test_marks", checked("marks", 'mark() == "cancelled"')), ("marks", function("mark", "cancelled"))),
    "T-13": (("test_counts", checked("counts", 'count() == "0"')), ("counts", function("count", "0"))),
}


def plan_of(*tasks: tuple[str, str, str, list[str]]) -> str:
    rows = [
        {"key": key, "title": title, "requirements": [wanted], "needs": needs, "expects": "It works.", "minutes": 10}
        | {"files": [f"{WORK[key][1][0]}.py" if key in WORK else "printing.py"], "description": title, "kind": "code"}
        for key, title, wanted, needs in tasks
    ]
    return json.dumps({"tasks": rows, "notes": ""})


PLAN = plan_of(
    ("T-01", "Add entries", "FR-1", []),
    ("T-02", "Export lists", "FR-2", ["T-01"]),
    ("T-03", "Mark entries", "FR-3", ["T-02"]),
    ("T-04", "Print lists", "FR-4", ["T-03"]),
)
SECOND_PLAN = plan_of(
    ("T-11", "Remove export from lists", "R2", []),
    ("T-12", "Mark entries as cancelled; change mark", "FR-3", ["T-11"]),
    ("T-13", "Count entries", "FR-5", ["T-12"]),
)


def replies() -> dict[str, str]:
    said = {"plan/planner-plan": "One after another.", "plan/planner-structure": PLAN}
    for key, ((tests, asked), (module, code)) in WORK.items():
        said |= {
            f"{key}/tester-tests": reply(f"tests/{tests}.py", asked),
            f"{key}/coder-code": reply(f"{module}.py", code),
            f"{key}/reviewer-review": APPROVED,
        }
    return said


def states(project) -> dict[str, tuple[str, bool]]:
    return {one.requirement.key: (one.state, one.built) for one in progress_of(project, project.documents.first())}


def give(project, text: str):
    document = documents.upload_document(project, text.encode(), "lists.md", by=owner_of(project))
    return documents.confirm_requirements(documents.extract_written(document), by=owner_of(project))


def start_build(project, by):
    plan = Plan.objects.filter(project=project).order_by("-version").first()
    assert plan.status == Plan.Status.PROPOSED, plan.problems
    plans.approve_plan(plan, content_hash=plan.content_hash, by=by)
    return runs.start_build(plan, by=by)


def test_a_document_that_changes_while_a_task_runs_ends_in_code_for_what_it_says_now(tmp_path, monkeypatch):
    driver, folder = Driver(monkeypatch), tmp_path / "scenario"
    project = make_project("Lists", model=write_scenario(folder, replies()))
    by = owner_of(project)
    runs.start_planning(give(project, FIRST), by=by)
    driver.work()
    first = start_build(project, by)
    real, planning = building.build, []

    def build(task, **more):
        if task.key == "T-03" and not planning:  # its requirement is altered while it is being worked on
            write_scenario(folder, {"plan/planner-structure": SECOND_PLAN})
            planning.append(runs.start_planning(give(project, SECOND), by=by))
        return real(task, **more)

    monkeypatch.setattr(building, "build", build)
    driver.work()
    first.refresh_from_db()
    ended = dict(first.tasks.values_list("key", "status"))
    assert ended == {"T-01": "merged", "T-02": "merged", "T-03": "merged", "T-04": "skipped"}
    assert "no longer asks for it" in first.tasks.get(key="T-04").why
    assert first.status == Run.Status.FINISHED
    assert states(project)["R3"] == ("stale", True)
    assert states(project)["R2"] == ("removed", True)
    assert states(project)["R4"] == ("removed", False)
    sweep()  # whatever was lost on the way
    driver.work()
    planning[0].refresh_from_db()
    assert (planning[0].status, planning[0].why) == (Run.Status.FINISHED, "plan proposed")
    second = start_build(project, by)
    driver.work()
    for key in ("T-11", "T-12"):  # the test of what was dropped, then of what was altered
        changed = Approval.objects.get(run=second, status="pending")
        assert (changed.kind, changed.task.key) == ("test_change", key)
        approvals.decide(changed, by=by, yes=True)
        driver.work()
    second.refresh_from_db()
    assert dict(second.tasks.values_list("key", "status")) == dict.fromkeys(("T-11", "T-12", "T-13"), "merged"), [
        (task.key, task.why, task.escalation[:500]) for task in second.tasks.exclude(status=Task.Status.MERGED)
    ]
    assert states(project) == {
        "R1": ("done", True),
        "R3": ("done", True),
        "R5": ("done", True),
        "R2": ("removed", False),
        "R4": ("removed", False),
    }
    repository = paths.repository_of(project)
    head = repository.base_head()
    assert "export" not in repository.read(head, "lists.py")
    assert "cancelled" in repository.read(head, "marks.py")
