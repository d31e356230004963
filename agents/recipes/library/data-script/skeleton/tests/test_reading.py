"""From a file to its rows."""

from pathlib import Path

import pytest

from __PACKAGE__.__main__ import main
from __PACKAGE__.reading import UnusableInput, read_rows


def test_rows_of_a_csv_file_have_their_lines(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('name,note\nA,"two\nlines"\nB,\n')
    rows = [(3, {"name": "A", "note": "two\nlines"}), (4, {"name": "B", "note": ""})]
    assert list(read_rows(tmp_path / "in.csv")) == rows


def test_a_short_row_and_a_long_one_are_rows(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("name,note\nA\nB,b,more\n")
    rows = [(2, {"name": "A", "note": None}), (3, {"name": "B", "note": "b", "": ["more"]})]
    assert list(read_rows(tmp_path / "in.csv")) == rows


def test_rows_of_a_json_file_have_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('[{"name": "A", "amount": 1}]')
    assert list(read_rows(tmp_path / "in.json")) == [(1, {"name": "A", "amount": 1})]


@pytest.mark.parametrize("text", ["{", '{"a": 1}', "[1]"])
def test_what_holds_no_rows_cannot_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.json").write_text(text)
    with pytest.raises(UnusableInput):
        list(read_rows(tmp_path / "in.json"))


def test_a_file_that_is_not_there_fails_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "missing.csv")]) != 0
    assert "missing.csv" in capsys.readouterr().err
