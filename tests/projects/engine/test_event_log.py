"""A run goes on with exactly the words it had, while the stream shows them without secrets."""

import pytest

from agents.engine.contracts import Stopped
from agents.events.reasoning import ModelCalled, Thought
from projects.engine.event_log import DatabaseEventLog
from projects.models import Event, SealedReply
from projects.services.audit.events import event_blobs
from projects.services.work import leases
from tests.factories import make_run, make_task

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
CALLED = ModelCalled(
    summary="80 tokens",
    role="coder",
    duration_ms=2_500,
    model="m",
    prompt_tokens=300,
    reused_tokens=None,
    completion_tokens=80,
    tokens_per_s=32.0,
    window=4_096,
    recorded=False,
    truncated=False,
    filled_by={"system": 300},
    instead_of=[],
)


@pytest.mark.django_db
def test_a_reply_is_remembered_word_for_word_and_shown_redacted():
    run = make_run()
    task = make_task(run, status="running")
    token = leases.claim(type(task), task.pk, owner="worker", seconds=60)
    event_log = DatabaseEventLog(run, actor="worker", token=token, task=task)
    words = f"```python path=a.py\nTOKEN = {TOKEN!r}\n```"
    thought = Thought(
        summary="wrote a.py",
        blobs={"output": words},
        text="",
        step="code",
        model="m",
        truncated=True,
        steps=[],
        sources=[],
        untrusted=[],
    )
    event_log.emit(thought, key="T-01/g1/1/coder")
    assert event_log.remembered("T-01/g1/1/coder") == (words, True)
    assert TOKEN not in event_blobs(Event.objects.get(key="T-01/g1/1/coder"))["output"]
    SealedReply.objects.all().delete()  # what the stream shows is not what was written: it is asked again
    assert event_log.remembered("T-01/g1/1/coder") is None
    assert event_log.remembered("T-01/g1/2/coder") is None


@pytest.mark.django_db
def test_a_model_call_counts_once_as_spent_also_for_a_worker_that_lost_its_lease():
    run = make_run()
    task = make_task(run, status="running")
    token = leases.claim(type(task), task.pk, owner="worker", seconds=60)
    event_log = DatabaseEventLog(run, actor="worker", token=token, task=task)
    for _ in range(2):
        event_log.emit(CALLED, key="T-01/g1/1/coder:usage")
    spent = event_log.spent()
    assert (spent.task_tokens, spent.run_tokens, spent.task_seconds) == (380, 380, 2.5)
    stale = DatabaseEventLog(run, actor="other", token=token + 1, task=task)
    with pytest.raises(Stopped):
        stale.emit(CALLED, key="T-01/g1/2/coder:usage")
    assert event_log.spent().task_tokens == 760
    assert Event.objects.filter(run=run, type="llm.usage").count() == 1


@pytest.mark.django_db
def test_the_totals_of_a_run_are_never_ahead_of_its_stream(monkeypatch):
    run = make_run()
    task = make_task(run, status="running")
    token = leases.claim(type(task), task.pk, owner="worker", seconds=60)
    event_log = DatabaseEventLog(run, actor="worker", token=token, task=task)

    def broken(*args, **more):
        raise OSError("no room")

    monkeypatch.setattr("projects.services.audit.events.emit", broken)
    with pytest.raises(OSError, match="no room"):
        event_log.emit(CALLED, key="T-01/g1/1/coder:usage")
    assert event_log.spent().run_tokens == 0
