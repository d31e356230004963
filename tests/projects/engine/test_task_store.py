"""The rows of one task as the engine reads them."""

import pytest

from projects.engine.event_log import DatabaseEventLog
from projects.engine.task_store import DatabaseTaskStore
from projects.services.decisions import approvals
from projects.services.work import approval_requests
from tests.factories import make_task, make_user

pytestmark = pytest.mark.django_db


def test_what_people_said_no_to_comes_with_their_reason():
    task, root = make_task(), make_user("root", superuser=True)
    for kind in ("gate", "escalation"):
        asked = approval_requests.ask(
            task.run.project, kind=kind, subject=kind, title="May it reach outside?", run=task.run, task=task
        )
        approvals.decide(asked, by=root, yes=False, reason="no network")
    store = DatabaseTaskStore(task, actor="w", event_log=DatabaseEventLog(task.run, actor="w", token=1, task=task))
    assert store.refusals() == ["May it reach outside?: no network"]
