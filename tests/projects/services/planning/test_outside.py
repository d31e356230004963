"""Which agent of another maker writes the code: named by an administrator, chosen by people, never by a model."""

import pytest

from agents.outside.table import AgentsFileError
from projects.errors import BadInput
from projects.models import Task
from projects.services.planning import outside, plans, projects
from tests.factories import make_document, make_plan, make_project, make_run, owner_of

pytestmark = pytest.mark.django_db

TABLE = """
[helper]
command = ["/opt/helper/bin/helper"]
hosts = ["api.example.org"]
note = "Code goes to Example."
"""


@pytest.fixture
def table(settings, tmp_path):
    settings.AGENTS_FILE = str(tmp_path / "agents.toml")
    file = tmp_path / "agents.toml"
    file.write_text(TABLE)
    return file


def problems(plan, severity):
    return [row["message"] for row in plan.problems if row["severity"] == severity and "agent" in row["code"]]


def given_to(plan, name):
    """The plan's content with its first task given to an agent."""
    tasks = [dict(task) for task in plan.content["tasks"]]
    tasks[0]["agent"] = name
    return plan.content | {"tasks": tasks}


def test_a_project_chooses_among_those_that_are_named(table):
    project = make_project()
    with pytest.raises(BadInput, match="an administrator has named: helper"):
        projects.update_settings(project, by=owner_of(project), coder_agent="other")
    projects.update_settings(project, by=owner_of(project), coder_agent="helper")
    project.refresh_from_db()
    assert outside.name_for(project, "coder") == "helper"
    assert outside.name_for(project, "other") == "other"
    plan = make_plan(make_document(project))
    (said,) = problems(plan, "warning")
    assert "the code is written by helper. Its code leaves this machine for api.example.org" in said
    assert said.endswith("Code goes to Example.")


def test_a_person_gives_a_task_to_an_agent_and_a_planner_cannot(table):
    plan = make_plan(make_document())
    proposed = plans.propose_plan(make_document(), content=given_to(plan, "helper"))
    assert {task["agent"] for task in proposed.content["tasks"]} == {"coder"}
    edited = plans.edit_plan(
        plan, content=given_to(plan, "helper"), by=owner_of(plan.project), base_hash=plan.content_hash
    )
    assert [task["agent"] for task in edited.content["tasks"]].count("helper") == 1
    assert len(problems(edited, "warning")) == 1
    with pytest.raises(BadInput, match="there is no agent 'nobody' here; there are coder, helper"):
        plans.edit_plan(
            edited, content=given_to(plan, "nobody"), by=owner_of(plan.project), base_hash=edited.content_hash
        )


def test_a_task_gets_its_agent_and_one_that_is_gone_says_so(table):
    run = make_run()
    task = run.tasks.first() or Task(run=run)
    assert outside.engaged_for(task) is None
    task.agent = "helper"
    engaged = outside.engaged_for(task)
    assert engaged is not None
    assert engaged.agent.command == ("/opt/helper/bin/helper",)
    table.unlink()
    engaged = outside.engaged_for(task)
    assert engaged is not None
    assert engaged.agent.command == ()
    table.write_text("[helper]\ncommand = 3\n")
    with pytest.raises(AgentsFileError):
        outside.agents()
    assert outside.names() == []
    engaged = outside.engaged_for(task)
    assert engaged is not None
    assert "command must be a list" in engaged.agent.note
