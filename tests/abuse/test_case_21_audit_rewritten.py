"""Case 21: somebody edits, deletes, reorders or cuts off rows of the audit trail, or puts an old database back.

The database's own triggers refuse it (tests/projects/models/test_insert_only.py); here they are gone, as for somebody
who owns the database file, and verification must name the first bad row.
"""

from __future__ import annotations

import shutil
import sqlite3
from copy import copy
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from projects.models import Event, Run, SiteEvent
from projects.services.audit.canonical import GENESIS
from projects.services.audit.chain import link_problem, verify_run, verify_site
from projects.services.audit.checkpoints import note_heads
from projects.services.audit.hashing import COLUMNS, SITE_COLUMNS, event_hash
from projects.services.audit.sitelog import note
from tests.factories import bare_run, make_task
from tests.rows import emit

pytestmark = pytest.mark.django_db
ROWS = 500


@pytest.fixture(autouse=True)
def home(tmp_path: Any, settings: Any) -> Any:
    """A folder of its own for key and heads."""
    settings.AISWE_HOME = tmp_path
    return tmp_path


def a_log(events: int) -> Run:
    """A run's stream in which every column says something."""
    task = make_task()
    for number in range(events):
        emit(
            task.run_id,
            "cmd",
            summary=f"pytest {number}",
            role="tester",
            actor="worker:a:1",
            task_id=task.pk,
            attempt=1,
            payload={"argv": ["pytest", number]},
            blobs={"output": f"output {number % 7}"},
            outcome="fail",
            error_signature="abc",
            tokens=5,
            duration_ms=20,
            key=f"k{number}",
        )
    return Run.objects.get(pk=task.run_id)


def other(column: str, value: Any) -> Any:
    """A value of the same type that is not this one."""
    if column == "at":
        return value + timedelta(microseconds=1)
    if isinstance(value, dict):
        return {**value, "added": 1}
    if isinstance(value, int):
        return value + 1
    return "x" if value is None else f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}"


@pytest.mark.parametrize(("model", "columns"), [(Event, COLUMNS), (SiteEvent, SITE_COLUMNS)])
def test_every_column_of_every_row_of_a_long_log_is_covered(model: Any, columns: tuple[str, ...]) -> None:
    if model is Event:
        a_log(ROWS)
    else:
        for number in range(ROWS):
            note("anna", "role.given", f"person {number}", {"role": "viewer"})
    before, tried, missed = GENESIS, 0, []
    rows = list(model.objects.order_by("seq"))
    assert len(rows) == ROWS
    for place, row in enumerate(rows, 1):
        assert link_problem(row, place, before) is None
        for column in (*columns, "hash"):
            changed = copy(row)
            setattr(changed, column, other(column, getattr(row, column)))
            tried += 1
            found = link_problem(changed, place, before)
            if found is None or found[0] != place:
                missed.append((place, column))
        before = row.hash
    assert not missed
    assert tried == ROWS * (len(columns) + 1)


def test_a_row_rewritten_with_a_fitting_hash_is_found_at_the_next_one(unguarded: None) -> None:
    run = a_log(6)
    event = run.events.get(seq=3)
    event.summary = "nothing happened"
    Event.objects.filter(pk=event.pk).update(summary=event.summary, hash=event_hash(event))
    report = verify_run(run.pk)
    assert (report.ok, report.first_bad_seq, report.events) == (False, 4, 3)


def _forge_from(run: Run, seq: int) -> None:
    """Rewrite a row and the whole chain after it, and the run's own note of the end, as a thorough forger would."""
    before = run.events.get(seq=seq - 1).hash
    for event in run.events.filter(seq__gte=seq).order_by("seq"):
        event.prev_hash = before
        if event.seq == seq:
            event.summary = "nothing happened"
        before = event_hash(event)
        Event.objects.filter(pk=event.pk).update(summary=event.summary, prev_hash=event.prev_hash, hash=before)
    Run.objects.filter(pk=run.pk).update(head_hash=before)


def test_a_chain_rewritten_to_its_end_is_found_by_the_head_outside(unguarded: None) -> None:
    run = a_log(12)
    note_heads()
    _forge_from(run, 5)
    report = verify_run(run.pk)
    assert not report.ok
    assert report.first_bad_seq == 12
    assert "or one before it, was rewritten" in report.problem


def test_the_more_often_it_was_noted_the_nearer_is_the_row_that_is_named(unguarded: None) -> None:
    run = a_log(3)
    for _ in range(8):
        note_heads()
        emit(run.pk, "cmd", summary="more")
    run.refresh_from_db()
    _forge_from(run, 5)
    assert verify_run(run.pk).first_bad_seq == 5


@pytest.mark.parametrize("left", [0, 1, 9])
def test_a_tail_cut_off_with_the_runs_own_note_of_it_is_found(unguarded: None, left: int) -> None:
    run = a_log(12)
    note_heads()
    last = run.events.filter(seq=left).first()
    run.events.filter(seq__gt=left).delete()
    Run.objects.filter(pk=run.pk).update(last_seq=left, head_hash=last.hash if last else "")
    report = verify_run(run.pk)
    assert (report.ok, report.first_bad_seq, report.events) == (False, left + 1, left)


def test_rows_that_changed_places_or_were_doubled_are_found(unguarded: None) -> None:
    run = a_log(8)
    Event.objects.filter(run=run, seq=4).update(seq=1_004)
    Event.objects.filter(run=run, seq=5).update(seq=4)
    Event.objects.filter(run=run, seq=1_004).update(seq=5)
    assert verify_run(run.pk).first_bad_seq == 4


def test_a_row_moved_to_another_run_is_found_in_both(unguarded: None) -> None:
    run, taker = a_log(4), bare_run()
    Event.objects.filter(run=run, seq=4).update(run_id=taker.pk, seq=1)
    assert verify_run(run.pk).first_bad_seq == 4
    assert verify_run(taker.pk).first_bad_seq == 1


def test_the_sites_trail_cut_off_is_found(unguarded: None) -> None:
    for number in range(5):
        note("anna", "role.given", f"person {number}")
    note_heads()
    SiteEvent.objects.filter(seq__gt=3).delete()
    report = verify_site()
    assert (report.ok, report.first_bad_seq, report.events) == (False, 4, 3)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="putting back a file is SQLite's way of restoring a backup")
@pytest.mark.django_db(transaction=True)
def test_a_database_put_back_from_a_backup_is_found(tmp_path: Any) -> None:
    run = a_log(5)
    note_heads()
    backup = tmp_path / "backup.sqlite3"
    with sqlite3.connect(connection.settings_dict["NAME"]) as source, sqlite3.connect(backup) as target:
        source.backup(target)
    for _ in range(4):
        emit(run.pk, "cmd", summary="after the backup")
    note_heads()
    assert verify_run(run.pk).ok
    connection.close()
    with sqlite3.connect(backup) as source, sqlite3.connect(connection.settings_dict["NAME"]) as target:
        source.backup(target)
    report = verify_run(run.pk)
    assert (report.ok, report.first_bad_seq, report.events) == (False, 6, 5)
    assert "older copy" in report.problem
    shutil.rmtree(tmp_path / "audit")
    assert "is missing" in verify_run(run.pk).problem, "the site's trail knows that heads were noted"
