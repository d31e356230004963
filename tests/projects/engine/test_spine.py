"""A run goes on with exactly the words it had, while the stream shows them without secrets."""

from __future__ import annotations

import pytest

from projects.engine.spine import DatabaseSpine
from projects.models import Event, SealedReply
from projects.services import leases
from projects.services.events import event_blobs
from tests.factories import make_run, make_task

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.mark.django_db
def test_a_reply_is_remembered_word_for_word_and_shown_redacted():
    run = make_run()
    task = make_task(run, status="running")
    token = leases.claim(type(task), task.pk, owner="worker", seconds=60)
    spine = DatabaseSpine(run, actor="worker", token=token, task=task)
    words = f"```python path=a.py\nTOKEN = {TOKEN!r}\n```"
    spine.emit(
        "thought", summary="wrote a.py", key="T-01/g1/1/coder", blobs={"output": words}, payload={"truncated": True}
    )
    assert spine.remembered("T-01/g1/1/coder") == (words, True)
    assert TOKEN not in event_blobs(Event.objects.get(key="T-01/g1/1/coder"))["output"]
    SealedReply.objects.all().delete()  # as in a run that an older version began
    assert TOKEN not in (spine.remembered("T-01/g1/1/coder") or ("",))[0]
    assert spine.remembered("T-01/g1/2/coder") is None
