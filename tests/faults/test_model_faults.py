"""A model server that hangs, drips, hangs up or talks nonsense: the work waits, says so, and goes on afterwards."""

import threading

import pytest

from agents.llm.base import Timeouts
from agents.llm.registry import make_provider
from agents.llm.runner import ModelRunner
from projects.engine import model_clients as engine_models
from projects.jobs.runs import AWAY
from projects.jobs.upkeep import sweep
from projects.models import Plan, Run, Task
from projects.services.planning import documents, runs
from tests.agents.llm.conftest import talk
from tests.agents.llm.fake_servers import FakeModelServer
from tests.factories import owner_of
from tests.faults.stage import WITH_BACKGROUND
from tests.projects.jobs_driver import small_replies, write_scenario
from tests.tables import each_row

pytestmark = pytest.mark.django_db(transaction=True)

FAULTS = {
    "hangs": {"kind": "hang"},
    "stalls": {"kind": "stall"},
    "drips": {"kind": "drip", "seconds": 0.7},
    "hangs up": {"kind": "close"},
    "sends garbage": {"kind": "garbage"},
    "sends half a line": {"kind": "half_json"},
    "reports a crash": {"kind": "error_line"},
    "is busy": {"kind": "status", "status": 429, "retry_after": 0.01},
    "is overloaded for long": {"kind": "status", "status": 503, "retry_after": 600},
    "lacks the model": {"kind": "status", "status": 404},
}


# One of each kind of error goes through the whole product, at different calls.
AT = [
    ("tester", "hangs"),
    ("tester", "lacks the model"),
    ("coder", "hangs up"),
    ("reviewer", "is overloaded for long"),
]


@each_row("name", FAULTS)
def test_each_fault_is_an_error_that_tasks_wait_for(tmp_path, name):
    """What a job does next depends on the error's type alone."""
    patience = 0.4 if FAULTS[name]["kind"] in ("hang", "stall", "drip") else 60.0
    limits = Timeouts(connect=10.0, first_token=patience, idle=patience, total=120.0)
    write_scenario(tmp_path, small_replies("T-01"))
    server = FakeModelServer(tmp_path, tokens_per_s=0)
    server.faults.add(**FAULTS[name])
    with server as url, ModelRunner(attempts=1) as asked, pytest.raises(AWAY):
        asked.complete(make_provider("ollama", server=url, model="m", timeouts=limits), talk())


@pytest.mark.parametrize(("persona", "name"), AT)
def test_a_task_waits_for_its_model_and_is_merged_when_it_is_back(still, persona, name):
    still.runner.order(persona, **FAULTS[name])
    run = still.build("T-01")
    task = still.task()
    assert task.status == Task.Status.READY
    assert task.why.startswith("waiting for the model: The ")
    assert run.status == Run.Status.RUNNING
    still.sweep()  # still away: nothing is lost, nothing is done twice
    assert still.task().status == Task.Status.READY
    still.runner.order("")
    still.sweep()
    assert still.task().status == Task.Status.MERGED
    assert still.run.status == Run.Status.FINISHED
    assert still.is_sound()


@pytest.mark.parametrize("name", ["stalls", "lacks the model"])
def test_planning_waits_for_its_model_and_goes_on_by_itself(still, name):
    document, _ = still.upload(small_replies("T-01"))
    still.runner.order("planner", **FAULTS[name])
    documents.confirm_requirements(document, by=owner_of(still.project))
    still.work()
    assert still.run.status == Run.Status.RUNNING
    assert still.run.why.startswith("waiting for the model: The ")
    still.runner.order("")
    still.sweep()
    assert still.run.status == Run.Status.FINISHED
    assert still.plan().status == Plan.Status.PROPOSED
    assert still.is_sound()


def test_one_fault_is_tried_over_and_one_endless_reply_is_asked_for_again(still):
    still.runner.order("coder", times=1, kind="flood")
    still.build("T-01")
    assert still.task().status == Task.Status.MERGED
    assert any("repeating itself" in text for text in still.summaries("error"))
    assert still.is_sound()


@pytest.mark.parametrize("persona", ["tester", "coder", "reviewer"])
def test_a_model_that_never_stops_talking_is_escalated_in_words_and_a_retry_merges(still, persona):
    still.runner.order(persona, kind="flood")
    run = still.build("T-01")
    task = still.task()
    assert task.status == Task.Status.ESCALATED
    assert "repeating itself" in task.escalation
    assert run.status == Run.Status.NEEDS_YOU
    assert "T-01" in run.why
    still.runner.order("")
    still.retry()
    assert still.task().status == Task.Status.MERGED
    assert still.is_sound()


def test_a_planner_that_never_stops_talking_fails_in_words_and_a_person_resumes(still):
    document, _ = still.upload(small_replies("T-01"))
    still.runner.order("planner", kind="flood")
    documents.confirm_requirements(document, by=owner_of(still.project))
    still.work()
    assert still.run.status == Run.Status.FAILED
    assert "repeating itself" in still.run.why
    still.runner.order("")
    runs.resume_run(still.run, by=owner_of(still.project))
    still.work()
    assert still.plan().status == Plan.Status.PROPOSED
    assert still.is_sound()


def test_a_model_away_while_reading_between_the_lines_costs_only_that(still):
    still.runner.order("planner", kind="close")
    document, run = still.upload(small_replies("T-01"), WITH_BACKGROUND)
    assert run.status == Run.Status.NEEDS_YOU
    assert document.requirements.filter(origin="explicit").count() == 2
    assert any("could not be asked" in text for text in still.summaries("error"))


def test_a_missing_model_is_named_with_the_command_that_fetches_it(still):
    still.runner.order("coder", kind="status", status=404)
    still.build("T-01")
    assert "ollama pull" in still.task().why


def test_the_run_says_what_all_its_tasks_wait_for(still):
    still.runner.order("coder", kind="close")
    run = still.build("T-01")
    assert run.status == Run.Status.RUNNING
    assert run.why.startswith("T-01 is waiting for the model: ")
    assert run.why_since is not None
    sweep()
    still.work()  # it rests: nobody is bothered
    assert still.runner.calls.count("coder") == 1
    still.runner.order("")
    still.sweep()
    assert still.task().status == Task.Status.MERGED
    assert "waiting" not in still.run.why


@pytest.mark.parametrize("persona", ["tester", "reviewer"])
def test_a_server_that_is_stopped_in_the_middle_of_a_call_is_waited_for(still, persona):
    def stop_soon(who):
        if who == persona:
            (server,) = engine_models._servers.values()
            server.faults.add("stall", times=2)
            threading.Timer(0.1, server.stop).start()

    still.runner.before = stop_soon
    still.build("T-01")
    assert still.task().why.startswith("waiting for the model")
    still.runner.before = lambda who: None
    still.sweep()
    assert still.task().status == Task.Status.READY
    (server,) = engine_models._servers.values()
    server.start()
    still.sweep()
    assert still.task().status == Task.Status.MERGED
    assert still.is_sound()
