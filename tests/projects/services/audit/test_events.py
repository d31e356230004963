import csv
import hashlib
import io
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projects.errors import BadInput
from projects.models import Blob, Event
from projects.services.audit.chain import verify_chain
from projects.services.audit.events import (
    event_blobs,
    events_after,
)
from projects.services.audit.exports import export_events
from tests.factories import bare_run, make_task
from tests.projects.threads import at_once
from tests.rows import emit, fresh

pytestmark = pytest.mark.django_db

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_events_of_a_run_are_numbered_from_one_without_a_gap():
    run, other = bare_run(), bare_run()
    for number in range(5):
        emit(run.pk, "thought", summary=f"thought {number}")
        emit(other.pk, "thought", summary="elsewhere")
    assert [event.seq for event in events_after(run.pk, 0)] == [1, 2, 3, 4, 5]
    assert (fresh(run).last_seq, run.head_hash) == (5, Event.objects.get(run=run, seq=5).hash)


@pytest.mark.django_db(transaction=True)
def test_many_writers_at_once_leave_no_gap_and_an_unbroken_chain():
    run = bare_run()

    def write() -> None:
        for number in range(10):
            emit(run.pk, "cmd", summary=f"command {number}")

    assert at_once([write] * 8) == [None] * 8
    assert [event.seq for event in events_after(run.pk, 0)] == list(range(1, 81))
    assert verify_chain(run.pk).ok


@pytest.mark.django_db(transaction=True)
def test_the_same_key_from_many_threads_is_one_row():
    run = bare_run()
    rows = at_once([lambda: emit(run.pk, "cmd", summary="pytest", key="T-01/verify/1").pk] * 8)
    assert len(set(rows)) == 1
    assert Event.objects.filter(run=run).count() == 1


def test_the_same_key_twice_keeps_the_first_row_unchanged():
    run = bare_run()
    first = emit(run.pk, "cmd", summary="pytest", key="T-01/verify/1", payload={"n": 1})
    second = emit(run.pk, "cmd", summary="pytest, again", key="T-01/verify/1", payload={"n": 2})
    assert first.pk == second.pk
    assert (second.summary, second.payload) == ("pytest", {"n": 1})


def test_keys_longer_than_the_column_stay_different():
    run = bare_run()
    long = "k" * 300
    assert emit(run.pk, "cmd", summary="a", key=long + "1").pk != emit(run.pk, "cmd", summary="b", key=long + "2").pk
    assert emit(run.pk, "cmd", summary="c", key=long + "1").summary == "a"


def test_an_event_for_a_run_that_does_not_exist_is_refused():
    with pytest.raises(BadInput, match="no run 987654"):
        emit(987654, "thought", summary="lost")


def test_secrets_are_taken_out_before_anything_is_hashed():
    run = bare_run()
    event = emit(
        run.pk,
        "cmd",
        summary=f"curl -H {SECRET}",
        payload={"argv": ["curl", SECRET], "deep": {"tail": f"x {SECRET} y"}},
        blobs={"prompt": ["hello", f"use {SECRET}"], "output": SECRET},
    )
    stored = Event.objects.get(pk=event.pk)
    assert SECRET not in json.dumps([stored.summary, stored.payload, stored.blobs])
    assert not Blob.objects.filter(content__contains=SECRET).exists()
    assert hashlib.sha256(SECRET.encode()).hexdigest() not in json.dumps(stored.blobs)
    assert verify_chain(run.pk).ok


def test_a_conversation_stores_each_message_once():
    run = bare_run()
    emit(run.pk, "thought", summary="one", blobs={"prompt": ["system", "first"], "output": "answer"})
    second = emit(run.pk, "thought", summary="two", blobs={"prompt": ["system", "first", "answer", "more"]})
    assert Blob.objects.count() == 4
    assert event_blobs(second) == {"prompt": ["system", "first", "answer", "more"]}
    assert Blob.objects.get(pk=second.blobs["prompt"][0]).content == "system"


@pytest.mark.slow
def test_very_long_content_keeps_its_beginning_and_its_end():
    run = bare_run()
    event = emit(run.pk, "cmd", summary="noisy", blobs={"output": "a" * 5_000_000 + "the end"})
    text = event_blobs(event)["output"]
    assert len(text) < 4_100_000
    assert text.startswith("aaa")
    assert text.endswith("the end")
    assert "characters cut" in text


def test_a_summary_is_one_line_that_fits_its_column():
    event = emit(bare_run().pk, "thought", summary="one\ntwo\r\n\tthree " + "x" * 1_000)
    assert event.summary.startswith("one two three xxx")
    assert len(event.summary) == 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=st.dictionaries(st.text(st.characters(codec=None), max_size=12), JSON, max_size=5), text=st.text())
def test_any_payload_survives_the_database_with_its_hash(payload, text):
    run = bare_run(project=_project())
    event = emit(run.pk, "thought", summary=text, payload=payload, blobs={"output": text})
    assert Event.objects.get(pk=event.pk).payload == event.payload
    assert verify_chain(run.pk).ok


def _project():
    from projects.models import Project
    from tests.factories import make_project

    return Project.objects.first() or make_project()


def test_numbers_hash_alike_on_every_database():
    event = emit(
        bare_run().pk,
        "health",
        summary="numbers",
        payload={"whole": 1.0, "large": 1e22, "small": 1e-7, "nan": float("nan"), "minus": -0.0, "set": {2, 1}},
    )
    assert event.payload == {"whole": 1, "large": 10**22, "small": 1e-07, "nan": "nan", "minus": 0, "set": [1, 2]}


def test_events_after_a_cursor_can_be_limited_and_filtered():
    run = bare_run()
    for number in range(6):
        emit(run.pk, "cmd" if number % 2 else "thought", summary=str(number))
    assert [event.seq for event in events_after(run.pk, 2, limit=2)] == [3, 4]
    assert [event.seq for event in events_after(run.pk, 0, types=["cmd"])] == [2, 4, 6]
    assert len(events_after(run.pk, 0, limit=0)) == 1


def test_an_exported_line_can_be_verified_without_the_database():
    task = make_task()
    emit(task.run_id, "thought", summary="Grüße", task_id=task.pk, payload={"b": 1.5, "a": ["x"]}, tokens=7)
    emit(task.run_id, "cmd", summary="second")
    before = "0" * 64
    for line in export_events(task.run_id):
        row = json.loads(line)
        claimed = row.pop("hash")
        assert row["prev_hash"] == before
        text = json.dumps(row, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256((before + text).encode()).hexdigest() == claimed
        before = claimed


def test_a_csv_export_holds_no_formula():
    run = bare_run()
    emit(run.pk, "cmd", summary="=HYPERLINK(1)", payload={"x": 'a,b\n"c"'}, actor="@me")
    header, row = list(csv.reader(io.StringIO("".join(export_events(run.pk, "csv")))))
    cells = dict(zip(header, row, strict=True))
    assert cells["summary"] == "'=HYPERLINK(1)"
    assert cells["actor"] == "'@me"
    assert json.loads(cells["payload"]) == {"x": 'a,b\n"c"'}


def test_an_unknown_export_format_is_named():
    with pytest.raises(BadInput, match="'xml'"):
        export_events(bare_run().pk, "xml")
