"""A project whose code another agent writes: asked for, built, merged, and all of it on a sound trail."""

import json
import subprocess

import pytest

from agents.events.reasoning import Thought
from projects.models import Approval, Event, Run, Task
from projects.services.audit import chain
from projects.services.decisions import approvals
from projects.services.planning import documents, plans, projects, runs
from projects.storage import paths
from tests.agents.outside.support import stand_in
from tests.factories import PRD, make_project, owner_of
from tests.projects.jobs_driver import REAL_JOBS, small_replies, write_scenario
from tests.rows import fresh

pytestmark = REAL_JOBS
GOOD = '"""Sums."""\n\n\ndef add(a: int, b: int) -> int:\n    """a + b."""\n    return a + b\n'


@pytest.fixture
def helper(settings, tmp_path):
    agent = stand_in([["say", "It is done with key sk-ant-api03-abcdefghijklmnop"], ["own_write", "calc.py", GOOD]])
    rows = {
        "command": list(agent.command),
        "folders": [str(folder) for folder in agent.folders],
        "hosts": ["api.example.org"],
        "note": "Code goes to Example.",
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in rows.items()]
    lines += ["[helper.variables]", *(f"{name} = {json.dumps(value)}" for name, value in agent.variables)]
    file = tmp_path / "agents.toml"
    file.write_text("\n".join(["[helper]", *lines]))
    settings.AGENTS_FILE = str(file)


def test_a_person_allows_what_leaves_the_machine_and_the_work_is_merged(tmp_path, driver, helper):
    replies = small_replies("T-01")
    del replies["T-01/coder-code"]
    project = make_project("Sums", model=write_scenario(tmp_path / "scenario", replies))
    by = owner_of(project)
    projects.update_settings(project, by=by, coder_agent="helper")
    document = documents.upload_document(project, PRD.encode(), "prd.md", by=by)
    runs.start_planning(document, by=by)
    driver.work()
    documents.confirm_requirements(document, by=by)
    driver.work()
    plan = project.plans.get()
    assert any("leaves this machine for api.example.org" in row["message"] for row in plan.problems)
    plans.approve_plan(plan, content_hash=plan.content_hash, by=by)
    run = runs.start_build(plan, by=by)
    driver.work()
    asked = Approval.objects.get(run=run, status=Approval.Status.PENDING)
    assert asked.title == "May helper send this project's code to api.example.org?"
    approvals.decide(asked, by=by, yes=True)
    driver.work()
    assert fresh(run).status == Run.Status.FINISHED
    assert [task.status for task in run.tasks.all()] == [Task.Status.MERGED]
    line = paths.repository_of(project, run)
    assert line.read(line.head(), "calc.py") == GOOD
    log = subprocess.run(
        ["git", "log", "--format=%B", line.head()],
        cwd=paths.repository_path(project),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Agent: helper (stand-in 1.2)" in log.stdout
    said = Event.objects.filter(run=run, type=Thought.type, role="coder").get()
    assert "It is done" in said.payload["text"]
    assert "abcdefghijklmnop" not in said.payload["text"]
    assert chain.verify_chain(run.pk).ok
