import pytest
from django.db import transaction

from aiswe_site.celery import app
from projects.workers import queue

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_is_sent_after_the_commit_and_not_when_it_is_rolled_back(enqueued):
    with transaction.atomic():
        queue.enqueue("projects.jobs.run_task", 7)
        assert enqueued == []
    assert enqueued == [("projects.jobs.run_task", (7,))]
    with transaction.atomic():
        queue.enqueue("projects.jobs.run_task", 8)
        transaction.set_rollback(True)
    assert len(enqueued) == 1


def test_a_broker_that_is_down_fails_nobody(monkeypatch, caplog):
    def down(*args, **kwargs):
        raise ConnectionError("broker down")

    monkeypatch.setattr(app, "send_task", down)
    caplog.set_level("WARNING", logger="projects.workers.queue")
    queue.enqueue("projects.jobs.run_task", 7)
    assert "waits for the sweep" in caplog.text


def test_a_process_without_a_worker_sends_harmlessly():
    queue.enqueue("projects.jobs.run_task", 7)
