"""The ends of the trails, noted outside the database."""

import json
import logging

import pytest

from projects.errors import BadInput
from projects.jobs import upkeep
from projects.models import Run
from projects.services.audit import signing
from projects.services.audit.chain import missing_runs, verify_run, verify_site
from projects.services.audit.checkpoints import heads_path, note_heads, read_heads, trail_of
from projects.services.audit.sitelog import note
from tests.factories import bare_run
from tests.rows import emit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]


def a_run(events: int = 3) -> Run:
    run = bare_run()
    for number in range(events):
        emit(run.pk, "cmd", summary=f"command {number}")
    return run


def test_every_trail_that_grew_gets_a_line_and_the_others_none():
    run, other = a_run(3), a_run(2)
    note("anna", "role.given", "ben")
    assert note_heads() == 3
    assert note_heads() == 0
    emit(run.pk, "cmd", summary="more")
    assert note_heads() == 1
    heads = read_heads()
    assert heads.ok
    assert heads.lines == 4
    assert [anchor.seq for anchor in heads.anchors[trail_of(run.pk)]] == [3, 4]
    assert [anchor.seq for anchor in heads.anchors[trail_of(other.pk)]] == [2]
    assert [anchor.seq for anchor in heads.anchors["site"]] == [1]


def test_a_run_without_events_is_not_noted():
    bare_run()
    assert note_heads() == 0


def test_no_file_means_nothing_noted_and_no_problem():
    heads = read_heads()
    assert (heads.ok, heads.lines) == (True, 0)


def test_the_file_may_lie_elsewhere(tmp_path, settings):
    settings.AUDIT_HEADS = str(tmp_path / "other disk" / "heads.jsonl")
    a_run()
    note_heads()
    assert heads_path() == tmp_path / "other disk" / "heads.jsonl"
    assert read_heads().lines == 1


def changed(lines, number, **fields):
    row = json.loads(lines[number]) | fields
    return [*lines[:number], json.dumps(row, sort_keys=True, separators=(",", ":")), *lines[number + 1 :]]


@pytest.mark.parametrize(
    ("spoil", "first_bad"),
    [
        (lambda lines: changed(lines, 1, seq=1), 2),
        (lambda lines: changed(lines, 1, hash="0" * 64), 2),
        (lambda lines: changed(lines, 1, trail="run:999"), 2),
        (lambda lines: changed(lines, 0, at="2020-01-01T00:00:00.000000Z"), 1),
        (lambda lines: [lines[0], *lines[2:]], 2),
        (lambda lines: [lines[1], lines[0], *lines[2:]], 1),
        (lambda lines: [*lines[:2], "garbage", *lines[2:]], 3),
        (lambda lines: [*lines[:2], "[]"], 3),
        (lambda lines: [*lines, lines[-1]], 4),
    ],
)
def test_a_change_of_the_file_is_found_at_its_line(spoil, first_bad):
    run = a_run(1)
    for _ in range(3):
        note_heads()
        emit(run.pk, "cmd", summary="more")
    path = heads_path()
    path.write_text("\n".join(spoil(path.read_text().splitlines())) + "\n")
    heads = read_heads()
    assert not heads.ok
    assert heads.lines == first_bad - 1
    assert f"Line {first_bad} " in heads.problem
    assert not verify_run(run.pk).ok


def test_lines_signed_with_another_key_are_refused(home):
    a_run()
    note_heads()
    (home / "audit" / signing.KEY_FILE).unlink()
    assert "signed with another key" in read_heads().problem


def test_a_run_that_is_gone_and_one_that_went_back_are_named(unguarded, caplog):
    run, lost = a_run(4), a_run(2)
    note("anna", "role.given", "ben")
    note("anna", "role.given", "carla")
    note_heads()
    gone = trail_of(lost.pk)
    lost.events.all().delete()
    lost.delete()
    kept = run.events.get(seq=2)
    run.events.filter(seq__gt=2).delete()
    Run.objects.filter(pk=run.pk).update(last_seq=2, head_hash=kept.hash)  # as an older copy of the database would say
    from projects.models import SiteEvent

    SiteEvent.objects.filter(seq=2).delete()
    heads = read_heads()
    assert missing_runs(heads) == [gone]
    report = verify_run(run.pk)
    assert (report.ok, report.first_bad_seq, report.events) == (False, 3, 2)
    assert "older copy" in report.problem
    assert (verify_site(heads).ok, verify_site(heads).first_bad_seq) == (False, 2)
    with caplog.at_level(logging.ERROR, logger="aiswe.audit"):
        assert note_heads() == 0
    assert "restored" in caplog.text


def test_a_run_that_went_back_and_then_grew_again_is_still_found(unguarded):
    run = a_run(4)
    note_heads()
    kept = run.events.get(seq=2)
    run.events.filter(seq__gt=2).delete()
    Run.objects.filter(pk=run.pk).update(last_seq=2, head_hash=kept.hash)
    for number in range(5):
        emit(run.pk, "cmd", summary=f"another history {number}")
    note_heads()
    report = verify_run(run.pk)
    assert (report.ok, report.first_bad_seq) == (False, 4)
    assert "line 1 of heads.jsonl" in report.problem


@pytest.mark.django_db(transaction=True)
def test_the_clock_notes_them_and_a_full_disk_is_logged(monkeypatch, caplog):
    a_run()
    upkeep.note_heads()
    assert read_heads().lines == 1
    emit(Run.objects.get().pk, "cmd", summary="more")
    monkeypatch.setattr("projects.services.audit.checkpoints.os.write", lambda descriptor, text: len(text) // 2)
    with caplog.at_level(logging.ERROR):
        upkeep.note_heads()
    assert "could not be stored" in caplog.text
    monkeypatch.undo()
    assert read_heads().ok
    upkeep.note_heads()
    assert read_heads().lines == 2


def test_a_file_that_is_gone_or_cut_is_found(home):
    run = a_run()
    note_heads()
    emit(run.pk, "cmd", summary="more")
    note_heads()
    assert read_heads().ok
    path = heads_path()
    whole = path.read_bytes()
    path.unlink()
    assert "is missing" in read_heads().problem
    path.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    assert "deleted or cut off" in read_heads().problem
    with pytest.raises(BadInput, match="lost lines"):
        note_heads()
    path.write_bytes(whole)
    assert read_heads().ok


def test_the_count_beside_the_file_may_not_go_or_change(home):
    a_run()
    note_heads()
    beside = heads_path().with_name("heads.jsonl.count")
    kept = beside.read_text()
    beside.write_text(kept.replace('"lines":1', '"lines":0'))
    assert "was changed" in read_heads().problem
    beside.unlink()
    assert not read_heads().ok
    beside.write_text("[]")
    assert not read_heads().ok
    beside.write_text(kept)
    assert read_heads().ok


def test_file_and_count_deleted_together_are_found_by_the_sites_trail(home):
    a_run()
    note_heads()
    for path in (heads_path(), heads_path().with_name("heads.jsonl.count")):
        path.unlink()
    assert "the site's trail counted 1" in read_heads().problem


def test_counting_does_not_make_the_trail_grow_by_itself():
    a_run()
    assert [note_heads() for _ in range(4)] == [1, 0, 0, 0]


def test_a_copy_kept_elsewhere_may_be_shorter(tmp_path):
    run = a_run()
    note_heads()
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(heads_path().read_bytes())
    emit(run.pk, "cmd", summary="more")
    note_heads()
    assert read_heads(copy).ok
