"""Somebody who owns the database changes it behind the triggers' back: verification names the first bad place."""

from itertools import product

import pytest
from django.db import connection
from django.db.models import F, QuerySet

from projects.errors import BadInput
from projects.models import Blob, Event, Run
from projects.services.audit.chain import verify_chain
from projects.services.audit.hashing import COLUMNS
from tests.factories import bare_run, make_task
from tests.rows import emit, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def a_log(events: int = 12) -> Run:
    task = make_task()
    while Run.objects.get(pk=task.run_id).last_seq < events:
        emit(
            task.run_id,
            "cmd",
            summary="pytest",
            role="tester",
            actor="worker:a:1",
            task_id=task.pk,
            attempt=1,
            payload={"argv": ["pytest"], "exit_code": 1},
            blobs={"output": f"output of {Run.objects.get(pk=task.run_id).last_seq}"},
            outcome="fail",
            error_signature="abc",
            tokens=5,
            duration_ms=20,
            key=f"k{Run.objects.get(pk=task.run_id).last_seq}",
        )
    return task.run


def other_value(column: str, event: Event):
    if column == "run_id":
        return bare_run().pk
    if column == "task_id":
        return None
    if column == "at":
        return event.at.replace(microsecond=(event.at.microsecond + 1) % 1_000_000)
    if column in ("payload", "blobs"):
        return {**getattr(event, column), "added": "0" * 64}
    if column == "seq":
        return event.seq + 1_000
    value = getattr(event, column)
    return value + 1 if isinstance(value, int) else f"x{value}"[: len(value) or 1]


@each_row("seq, column", list(product([1, 6, 12], [*COLUMNS, "hash"])))
@undone()
def test_a_change_of_any_column_is_found_at_its_place(unguarded, column, seq):
    run = a_log()
    event = Event.objects.get(run=run, seq=seq)
    Event.objects.filter(pk=event.pk).update(**{column: other_value(column, event)})
    report = verify_chain(run.pk)
    assert not report.ok
    assert report.first_bad_seq == seq
    assert str(seq) in report.problem
    assert report.events == seq - 1


@pytest.mark.slow
def test_every_row_of_a_long_log_is_covered(unguarded):
    run = a_log(520)  # more than one batch
    assert verify_chain(run.pk).events == 520
    for seq in (1, 2, 250, *range(498, 504), 519, 520):  # around the end of a batch
        rows = Event.objects.filter(run=run, seq=seq)
        rows.update(tokens=F("tokens") + 1)
        assert verify_chain(run.pk).first_bad_seq == seq
        rows.update(tokens=F("tokens") - 1)
    assert verify_chain(run.pk).ok


def exchanged(rows: QuerySet[Event]) -> None:
    for seq, other in ((4, 1_004), (5, 4), (1_004, 5)):
        rows.filter(seq=seq).update(seq=other)


def added(rows: QuerySet[Event]) -> None:
    event = rows.get(seq=12)
    event.pk, event.seq, event.key, event.prev_hash = None, 13, None, event.hash
    event.save()


def output(event: Event) -> QuerySet[Blob]:
    return Blob.objects.filter(pk=event.blobs["output"])


@each_row(
    ("change", "first_bad", "words"),
    [
        (lambda rows: rows.filter(seq=4).delete(), 4, "missing"),
        (lambda rows: rows.filter(seq__gt=9).delete(), 10, "12"),
        (lambda rows: output(rows.get(seq=7)).update(content="all tests passed"), 7, "was changed"),
        (lambda rows: output(rows.get(seq=2)).delete(), 2, "is missing"),
        (exchanged, 4, ""),
        (added, 13, ""),
    ],
    ids=["a row gone", "the end cut off", "content changed", "content gone", "rows exchanged", "a row added"],
)
@undone()
def test_what_is_gone_added_or_exchanged_is_found_at_its_place(unguarded, change, first_bad, words):
    run = a_log()
    change(Event.objects.filter(run=run))
    report = verify_chain(run.pk)
    assert (report.ok, report.first_bad_seq) == (False, first_bad)
    assert words in report.problem


def test_a_tail_cut_off_together_with_the_runs_note_needs_a_head_kept_elsewhere(unguarded):
    run = a_log()
    head = Event.objects.get(run=run, seq=12).hash
    last = Event.objects.get(run=run, seq=9)
    Event.objects.filter(run=run, seq__gt=9).delete()
    Run.objects.filter(pk=run.pk).update(last_seq=9, head_hash=last.hash)
    assert verify_chain(run.pk).ok
    report = verify_chain(run.pk, head=head)
    assert (report.ok, report.first_bad_seq) == (False, 10)


def test_an_older_head_from_a_commit_still_fits():
    run = a_log()
    assert verify_chain(run.pk, head=Event.objects.get(run=run, seq=3).hash).ok


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's types refuse such a value themselves")
def test_a_value_that_cannot_even_be_read_is_a_finding_and_not_a_crash(unguarded):
    run = a_log()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE projects_event SET at = 'yesterday' WHERE run_id = %s AND seq = 5", [run.pk])
    report = verify_chain(run.pk)
    assert (report.ok, report.first_bad_seq, report.events) == (False, 5, 4)


def test_an_empty_stream_is_whole():
    report = verify_chain(bare_run().pk)
    assert (report.ok, report.events, report.head_hash) == (True, 0, "")


def test_a_run_that_does_not_exist_is_named():
    with pytest.raises(BadInput, match="no run 424242"):
        verify_chain(424242)
