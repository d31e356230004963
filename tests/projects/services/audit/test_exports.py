"""What is taken away can be proven elsewhere, and is harmless in a spreadsheet."""

import csv
import io
import json

import pytest

from projects.errors import BadInput
from projects.services.audit import exports, signing
from projects.services.audit.sitelog import note
from tests.factories import bare_run
from tests.rows import emit, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(tmp_path):
    return signing.private_key(tmp_path)


def exported(events: int = 5) -> bytes:
    run = bare_run()
    for number in range(events):
        emit(run.pk, "cmd", summary=f"Befehl {number} läuft", payload={"n": number})
    return "".join(exports.export_events(run.pk)).encode()


def test_an_export_is_proven_by_its_signature_and_link_by_link(key):
    text = exported()
    report = exports.check_export(io.BytesIO(text), exports.signature_of(io.BytesIO(text), key), key.public_key())
    assert (report.ok, report.rows, report.problem) == (True, 5, "")


def test_any_changed_byte_is_found(key):
    text = exported(2)
    mark = exports.signature_of(io.BytesIO(text), key)
    for place in range(0, len(text), 7):
        other = text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
        report = exports.check_export(io.BytesIO(other), mark, key.public_key())
        assert not report.ok
        assert "changed after the export" in report.problem


def test_a_signature_of_another_key_or_a_changed_one_is_refused(key, tmp_path):
    text = exported(1)
    mark = exports.signature_of(io.BytesIO(text), key)
    (tmp_path / "other").mkdir()
    stranger = signing.private_key(tmp_path / "other").public_key()
    assert not exports.check_export(io.BytesIO(text), mark, stranger).ok
    for field, value in (("bytes", 1), ("sha256", "0" * 64), ("signature", "AAAA"), ("format", "x")):
        spoiled = json.dumps(json.loads(mark) | {field: value})
        assert not exports.check_export(io.BytesIO(text), spoiled, key.public_key()).ok
    for nonsense in ("", "[]", "{}", "null"):
        assert "cannot be read" in exports.check_export(io.BytesIO(text), nonsense, key.public_key()).problem


def test_a_signed_file_whose_chain_is_broken_is_named_by_its_line(key):
    lines = exported(4).splitlines(keepends=True)
    text = b"".join([lines[0], *lines[2:]])
    report = exports.check_export(io.BytesIO(text), exports.signature_of(io.BytesIO(text), key), key.public_key())
    assert (report.ok, report.rows) == (False, 1)
    assert "Line 2" in report.problem


@each_row("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1"])
@undone()
def test_no_cell_of_a_csv_export_begins_a_formula(start):
    note(start, "role.given", start, {"x": start})
    header, row = list(csv.reader(io.StringIO("".join(exports.export_site("csv")))))
    assert not [cell for cell in row if cell.lstrip().startswith(("=", "+", "-", "@", "＝"))]
    assert dict(zip(header, row, strict=True))["action"] == "role.given"


def test_the_sites_trail_is_exported_like_a_runs(key):
    note("anna", "role.given", "ben")
    note("anna", "role.taken", "ben")
    text = "".join(exports.export_site()).encode()
    report = exports.check_export(io.BytesIO(text), exports.signature_of(io.BytesIO(text), key), key.public_key())
    assert (report.ok, report.rows) == (True, 2)


def test_an_unknown_format_is_named():
    with pytest.raises(BadInput, match="'xml'"):
        exports.export_site("xml")
