"""A task that finds something missing gets a sub-task and waits for it, through the real jobs."""

import pytest

from projects.engine import saver
from projects.errors import BadInput
from projects.jobs import runs as run_jobs
from projects.jobs.upkeep import sweep
from projects.models import Approval, Event, Plan, Run
from projects.services.audit import chain, events
from projects.services.decisions import approvals
from projects.services.planning import documents, runs
from projects.services.planning.progress import progress_of
from projects.services.work import sub_tasks, tasks
from projects.services.work.graphs import RunGraph
from projects.storage import paths
from tests.factories import PRD, make_project, owner_of
from tests.projects.jobs_driver import APPROVED, REAL_JOBS, reply, small_replies, write_scenario

pytestmark = REAL_JOBS

WISH = "Sums are shared with others.\n\nMISSING: function plus(a, b), in plus.py\n"
PLUS = '"""Plus."""\n\n\ndef plus(a: int, b: int) -> int:\n    """a + b."""\n    return a + b\n'
CALC = (
    PLUS.replace("Plus.", 'Sums."""\n\nfrom plus import plus', 1)
    .replace('plus"""', "plus", 1)
    .replace("def plus", "def add")
    .replace("return a + b", "return plus(a, b)")
)
CHECK = "from plus import plus\n\n\ndef test_plus():\n    assert plus(2, 3) == 5\n"
REPLIES = {
    "T-01/coder-code": WISH,
    "T-01/coder-code-resumed": reply("calc.py", CALC),
    "T-01.1/tester-tests": reply("tests/test_plus.py", CHECK),
    "T-01.1/coder-code": reply("plus.py", PLUS),
    "T-01.1/reviewer-review": APPROVED,
}


def building(tmp_path, driver, autonomy: str, **replies: str) -> Run:
    """A build of T-01 and T-02, of which the first asks for a sub-task."""
    said = small_replies("T-01", "T-02") | REPLIES | replies
    project = make_project("Sums", model=write_scenario(tmp_path / "scenario", said), autonomy=autonomy)
    document = documents.upload_document(project, PRD.encode(), "prd.md", by=owner_of(project))
    runs.start_planning(document, by=owner_of(project))
    driver.work()
    if autonomy != "none":
        documents.confirm_requirements(document, by=owner_of(project))
        driver.work()
        approvals.decide(Approval.objects.get(project=project), by=owner_of(project), yes=True)
        runs.start_build(Plan.objects.get(project=project), by=owner_of(project))
        driver.work()
    return Run.objects.get(project=project, kind=Run.Kind.BUILD)


def states(run: Run) -> dict[str, str]:
    return dict(run.tasks.values_list("key", "status"))


def told(run: Run, key: str) -> str:
    rows = Event.objects.filter(run=run, task__key=key, type="thought", role="coder").order_by("-seq")
    return events.event_blobs(rows[0])["prompt"][-1]


def test_what_a_task_lacks_is_built_first_and_the_task_goes_on_with_it(tmp_path, driver):
    run = building(tmp_path, driver, "none")
    assert states(run) == dict.fromkeys(("T-01", "T-01.1", "T-02"), "merged")
    assert run.status == Run.Status.FINISHED
    made = run.tasks.get(key="T-01.1")
    assert (made.asked_by.key, made.files) == ("T-01", ["plus.py"])
    assert set(made.requirements.all()) == set(made.asked_by.requirements.all())
    repository = paths.repository_of(run.project)
    assert "from plus import plus" in repository.read(repository.base_head(), "calc.py")
    (added,) = Event.objects.filter(run=run, type="task.added")
    assert added.payload == {
        **{"key": "T-01.1", "asked_by": "T-01", "what": "function plus(a, b)", "path": "plus.py"},
        "reason": "Sums are shared with others.",
    }
    assert Event.objects.filter(run=run, type="task.queued", task__key="T-01").count() == 1
    assert chain.verify_chain(run.pk).ok
    assert {one.state for one in progress_of(run.project, run.document)} == {"done"}
    assert not Approval.objects.filter(project=run.project).exists()
    assert ("T-01.1", "T-01", []) in RunGraph(run.tasks.all()).grid.edges


def test_where_plans_are_approved_a_person_says_yes_first(tmp_path, driver):
    run = building(tmp_path, driver, "plan_only")
    assert states(run) == {"T-01": "needs_you", "T-02": "queued"}
    assert run.tasks.get(key="T-01").why == "needs you: asks for a sub-task (function plus(a, b), in plus.py)"
    (question,) = approvals.pending_for(owner_of(run.project))
    assert (question.kind, question.task.key) == ("plan", "T-01")
    assert "Sums are shared with others." in question.why
    with pytest.raises(BadInput, match="Give a reason"):
        approvals.decide(question, by=owner_of(run.project), yes=False)
    approvals.decide(question, by=owner_of(run.project), yes=True)
    driver.step(2)
    assert states(run) == {"T-01": "queued", "T-01.1": "queued", "T-02": "queued"}
    assert run.tasks.get(key="T-01").why == "waits for its sub-task T-01.1"
    driver.work()
    assert set(states(run).values()) == {"merged"}


def test_a_task_whose_sub_task_is_refused_goes_on_and_knows_why(tmp_path, driver):
    own = small_replies("T-01")["T-01/coder-code"]
    run = building(tmp_path, driver, "plan_only", **{"T-01/coder-code-resumed": own})
    (question,) = approvals.pending_for(owner_of(run.project))
    approvals.decide(question, by=owner_of(run.project), yes=False, reason="Add them in calc.")
    driver.work()
    assert states(run) == {"T-01": "merged", "T-02": "merged"}
    assert "A person said no (Add them in calc.)" in told(run, "T-01")


def test_a_task_behind_a_sub_task_that_fails_is_blocked_until_a_person_leaves_it_out(tmp_path, driver):
    own = small_replies("T-01")["T-01/coder-code"]
    bad = dict.fromkeys(("T-01.1/coder-code", "T-01.1/coder-again", "T-01.1/coder-again-2"), WISH)
    run = building(tmp_path, driver, "none", **bad, **{"T-01/coder-code-resumed": own})
    assert states(run) == {"T-01": "blocked", "T-01.1": "escalated", "T-02": "blocked"}
    made = run.tasks.get(key="T-01.1")
    assert "plus.py is yours to write" in made.escalation or "Nothing more" in made.escalation
    tasks.skip_task(made, by=owner_of(run.project), reason="not needed")
    driver.work()
    assert states(run) == {"T-01": "merged", "T-01.1": "skipped", "T-02": "merged"}
    assert "left it out (not needed)" in told(run, "T-01")


class Killed(BaseException):
    """The worker is gone: nothing of it runs any more."""


@pytest.mark.parametrize("point", [*range(2, 6), "added", "rests", "merged"])
def test_a_worker_killed_around_the_request_leaves_one_sub_task_and_the_same_code(tmp_path, driver, monkeypatch, point):
    """Before a checkpoint of the task that asks, by number, or where its rows are written."""
    real, moved, added, seen = saver.DjangoSaver.put, run_jobs.move_task, sub_tasks.emit, []

    def put(self, config, *more):
        seen.extend([config] * config["configurable"]["thread_id"].startswith("task-"))
        if len(seen) == point:
            raise Killed
        return real(self, config, *more)

    def move(task, to, **more):
        if point == {"queued": "rests", "merged": "merged"}.get(to) and to not in seen:
            seen.append(to)
            raise Killed
        return moved(task, to, **more)

    def emit(*args, **more):
        if point == "added" and "added" not in seen:
            seen.append("added")
            raise Killed
        return added(*args, **more)

    monkeypatch.setattr(saver.DjangoSaver, "put", put)
    monkeypatch.setattr(run_jobs, "move_task", move)
    monkeypatch.setattr(sub_tasks, "emit", emit)
    with pytest.raises(Killed):
        building(tmp_path, driver, "none")
    sweep()
    driver.work()
    run = Run.objects.get(kind=Run.Kind.BUILD)
    assert states(run) == dict.fromkeys(("T-01", "T-01.1", "T-02"), "merged")
    assert Event.objects.filter(run=run, type="task.added").count() == 1
    asked = Event.objects.filter(run=run, type="thought", task__key="T-01", role="coder")
    assert asked.count() == 2, "nothing is paid for twice"
    repository = paths.repository_of(run.project)
    assert "from plus import plus" in repository.read(repository.base_head(), "calc.py")
