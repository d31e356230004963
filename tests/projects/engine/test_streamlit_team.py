"""From "Build a CRM" to a merged Streamlit app: a blueprint, a person's yes, proven fragments, tests, review."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agents.recipes.recipe import load
from projects.models import Event, Plan, Project, Run, Task
from projects.services.audit.events import event_blobs
from projects.services.planning import documents, plans, runs
from projects.services.repositories.recipes import started_project
from projects.storage import paths
from tests.agents.fragments import crm
from tests.agents.fragments.stand_in import add_streamlit
from tests.factories import make_user
from tests.projects.jobs_driver import APPROVED, REAL_JOBS, Driver, write_scenario
from tests.sandbox.local_index import LocalIndex

REAL_INDEX = os.environ.get("STREAMLIT_INDEX", "")  # to fetch the real Streamlit from, in place of the stand-in
pytestmark = REAL_JOBS
TEXT = """# Build a CRM

FR-01 The user shall add a customer with a name and the worth of the deal.

FR-02 The user shall find customers by a part of their name.
"""


def with_mistakes() -> dict[str, Any]:
    value = crm.blueprint()
    value["logic"][2]["returns"] = "Decimal"
    value["ui"][0]["uses"] = ["search_customers"]
    return value


REPLIES = {
    "plan/planner-infer": '{"requirements": []}',
    "plan/architect-blueprint": f"Here it is:\n```json\n{json.dumps(with_mistakes())}\n```",
    "plan/architect-blueprint-2": json.dumps(crm.blueprint()),
    **{f"T-01/logic_coder-logic-{name}": crm.fenced(text) for name, text in crm.LOGIC.items()},
    "T-01/logic_coder-logic-calculate_tax": crm.fenced(crm.BROKEN_TAX),
    "T-01/debugger-debug-calculate_tax": crm.fenced(crm.LOGIC["calculate_tax"]),
    **{f"T-01/ui_composer-ui-{name}": crm.fenced(text) for name, text in crm.UI.items()},
    "T-01/reviewer-review": APPROVED,
}


def prompt_of(project: Project, step: str, number: int) -> str:
    """The last turn of the question that was asked the given time."""
    asked = Event.objects.filter(run__project=project, type="thought", payload__step=step).order_by("run_id", "seq")
    return str(event_blobs(asked[number])["prompt"][-1])


def test_a_crm_is_planned_approved_composed_and_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, person = Driver(monkeypatch), make_user()
    model = write_scenario(tmp_path / "scenario", REPLIES)
    with started_project("CRM", by=person, recipe=load("streamlit"), model=model) as project:
        document = documents.upload_document(project, TEXT.encode(), "prd.md", by=person)
    with LocalIndex() as index:
        add_streamlit(index)
        monkeypatch.setenv("AISWE_PYPI_INDEX", REAL_INDEX or index.python)
        runs.start_planning(document, by=person)
        driver.work()
        documents.confirm_requirements(document, by=person)
        driver.work()
        plan = Plan.objects.get(project=project)
        assert plan.status == Plan.Status.PROPOSED, plan.problems
        (task,) = plan.content["tasks"]
        assert task["requirements"] == ["R1", "R2"]
        assert "calculate_tax('100', 0.19) → 19.0" in task["description"]  # what a person sees before the yes
        assert not Run.objects.filter(project=project, kind=Run.Kind.BUILD).exists()
        plans.ask_for_changes(plan, by=person, comment="Keep the tax.")
        driver.work()
        plan = Plan.objects.get(project=project, version=2)
        assert plan.status == Plan.Status.PROPOSED, plan.problems
        plans.approve_plan(plan, content_hash=plan.content_hash, by=person)
        plan.refresh_from_db()
        runs.start_build(plan, by=person)
        driver.work()
        run = Run.objects.get(project=project, kind=Run.Kind.BUILD)
        done = run.tasks.get()
        assert done.status == Task.Status.MERGED, done.escalation

    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "main"],
        cwd=paths.repository_path(project),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {"app.py", "logic.py", "state.py", "requirements.txt", "tests/test_app.py", "tests/test_logic.py"} <= {
        *listed
    }
    summaries = list(Event.objects.filter(run=run).order_by("seq").values_list("summary", flat=True))
    failed = "harness of calculate_tax → TEST_FAILED: TypeError: can't multiply sequence by non-int of type 'float'"
    assert failed in summaries
    assert "harness of calculate_tax → TEST_PASSED" in summaries[summaries.index(failed) :]
    back = prompt_of(project, "blueprint", 1)
    assert "logic · calculate_tax · returns: 'Decimal' is not a type that fragments use" in back
    assert "UI fragment customers uses search_customers, which is not a logic fragment" in back
    replanned = prompt_of(project, "blueprint", 2)
    assert "Keep the tax." in replanned
    assert '"name": "calculate_tax"' in replanned  # the last plan
    for_logic = prompt_of(project, "logic-find_customers", 0)
    assert "find_customers([{'name': 'Ada'}], 'ad') → [{'name': 'Ada'}]" in for_logic
    assert "calculate_tax" not in for_logic  # a fragment's question holds that fragment alone
    for_page = prompt_of(project, "ui-customers", 0)
    assert "def find_customers(" in for_page
    assert "add_customer" not in for_page
