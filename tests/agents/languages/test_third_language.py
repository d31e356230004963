"""A language that is one folder and one line in the registry goes from a document to merged code."""

import json
import subprocess

import pytest

from agents.languages.registry import LANGUAGES
from projects.models import Attempt, Event, Run, Task
from projects.services.planning import documents, runs
from projects.storage import paths
from tests.factories import PRD, make_project, owner_of
from tests.projects.jobs_driver import APPROVED, REAL_JOBS, Driver, write_scenario

pytestmark = REAL_JOBS
DIAGNOSIS = "## Diagnosis\nCause: it subtracts\nEvidence: WrongValue\nHypothesis: it adds\nPlan: use a plus sign\n"


def written(path: str, text: str) -> str:
    return f"Here it is.\n\n```toy path={path}\n{text}\n```\n"


TASK = {
    "key": "T-01",
    "title": "Sums",
    "description": "add a b",
    "kind": "code",
    "agent": "coder",
    "minutes": 10,
    "requirements": ["FR-01", "FR-02"],
    "needs": [],
    "expects": "sums",
    "files": ["sums.toy"],
    "packages": [],
}
REPLIES = {
    "plan/planner-infer": '{"requirements": []}',
    "plan/planner-plan": "One file does it.",
    "plan/planner-structure": json.dumps({"tasks": [TASK], "notes": ""}),
    "T-01/tester-tests": written("tests/sums.toy", "add 2 3 is 5\nadd 0 0 is 0"),
    "T-01/coder-code": written("sums.toy", "add a b = a - b"),
    "T-01/coder-repair": DIAGNOSIS + written("sums.toy", "add a b = a + b"),
    "T-01/reviewer-review": APPROVED,
}


@pytest.fixture(autouse=True)
def _toy(monkeypatch):
    monkeypatch.setitem(LANGUAGES, "toy", "tests.agents.languages.toy.language.Toy")


def test_a_third_language_is_planned_tested_repaired_and_merged(tmp_path, monkeypatch):
    driver = Driver(monkeypatch)
    project = make_project("Sums", model=write_scenario(tmp_path / "scenario", REPLIES), autonomy="none")
    document = documents.upload_document(project, PRD.encode(), "prd.md", by=owner_of(project))
    runs.start_planning(document, by=owner_of(project))
    driver.work()
    run = Run.objects.get(project=project, kind=Run.Kind.BUILD)
    task = run.tasks.get()
    assert (task.files, task.status) == (["sums.toy"], Task.Status.MERGED)
    assert list(Attempt.objects.order_by("number").values_list("strategy", "outcome")) == [
        ("first", "failed"),
        ("repair", "passed"),
    ]
    events = Event.objects.filter(run=run)
    commands = {" ".join(event.payload["argv"]) for event in events.filter(type="cmd") if "argv" in event.payload}
    assert commands == {"toy tests"}
    failed, *_ = [event.payload for event in events.filter(type="test.result", outcome="fail").order_by("seq")]
    assert {(row["kind"], row["place"]) for row in failed["failures"]} == {("WrongValue", "sums.toy:1")}
    shown = subprocess.run(
        ["git", "show", "main:sums.toy"], cwd=paths.repository_path(project), capture_output=True, text=True, check=True
    )
    assert shown.stdout == "add a b = a + b\n"
