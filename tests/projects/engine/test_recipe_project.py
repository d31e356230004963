"""A project that starts from a recipe, to merged code: its service is started in the sandbox and asked over HTTP."""

from pathlib import Path

import pytest

from agents.recipes.recipe import load
from agents.workspace.git import out
from projects.models import Event, Plan, Project, Run, Task
from projects.services.audit.events import event_blobs
from projects.services.planning import documents, plans, runs
from projects.services.repositories.recipes import started_project
from projects.storage.paths import repository_of
from tests.factories import make_user
from tests.projects.jobs_driver import APPROVED, REAL_JOBS, Driver, plan_of, planned_task, reply, write_scenario

pytestmark = REAL_JOBS
PRD = "# Shop\n\nFR-01 The API shall tell the price of two pens in cents at /prices/pens.\n"
TESTS = """
import httpx


def test_the_price_of_pens(base_url):
    answer = httpx.get(f"{base_url}/prices/pens")
    assert (answer.status_code, answer.json()) == (200, {"cents": 240})
"""
ROUTER = '''"""Prices."""

from fastapi import APIRouter

router = APIRouter(prefix="/prices")


@router.get("/pens")
def pens() -> dict[str, int]:
    """The price of two pens."""
    return {"cents": 240}
'''
MAIN = '''"""The application: every router is included here."""

from __future__ import annotations

from fastapi import FastAPI

from shop.routes.prices import router as prices

app = FastAPI(title="Shop")
app.include_router(prices)


@app.get("/health")
def health() -> dict[str, str]:
    """Tell that the service answers."""
    return {"status": "ok"}
'''


TASK = planned_task(
    "T-01",
    **{"title": "Prices", "description": "GET /prices/pens", "requirements": ["FR-01"], "packages": ["fastapi"]},
    **{"expects": "the price in cents", "files": ["shop/routes/prices.py", "shop/main.py"]},
)


REPLIES = {
    "plan/planner-infer": '{"requirements": []}',
    "plan/planner-plan": "One router.",
    "plan/planner-structure": plan_of(TASK),
    "T-01/tester-tests": reply("tests/test_prices.py", TESTS),
    "T-01/coder-code": reply("shop/routes/prices.py", ROUTER) + reply("shop/main.py", MAIN),
    "T-01/reviewer-review": APPROVED,
}


def first_prompt(project: Project, role: str, step: str) -> str:
    """All turns of the first question to a role about a step."""
    asked = Event.objects.filter(run__project=project, type="thought", role=role, payload__step=step).order_by("seq")
    return "\n".join(event_blobs(asked[0])["prompt"])


def test_a_service_is_built_on_its_skeleton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, person = Driver(monkeypatch), make_user()
    model = write_scenario(tmp_path / "scenario", REPLIES)
    with started_project("Shop", by=person, recipe=load("service-fastapi"), model=model) as project:
        document = documents.upload_document(project, PRD.encode(), "prd.md", by=person)
        runs.start_planning(document, by=person)
    driver.work()
    plan = Plan.objects.get(project=project)
    assert plan.status == Plan.Status.PROPOSED, plan.problems
    planned = first_prompt(project, "planner", "plan")
    assert "A short wish stands for a small, complete API" in planned
    assert "shop/main.py" in planned
    plans.approve_plan(plan, content_hash=plan.content_hash, by=person)
    plan.refresh_from_db()
    run = runs.start_build(plan, by=person)
    driver.work()
    run.refresh_from_db()
    task = Task.objects.get(run=run)
    assert (run.status, task.status) == (Run.Status.FINISHED, Task.Status.MERGED), task.why
    assert "The fixture `base_url` of `tests/conftest.py` starts it" in first_prompt(project, "tester", "tests")
    assert "A new router is included in `shop/main.py`" in first_prompt(project, "coder", "code")
    repository = repository_of(project)
    head = repository.base_head()
    assert {"shop/routes/prices.py", "tests/conftest.py", "tests/test_prices.py"} <= set(repository.files(head))
    titles = out(repository.root, "log", "--format=%s%n%(trailers:key=Recipe)", head).split("\n")
    assert "Recipe: service-fastapi" in titles
