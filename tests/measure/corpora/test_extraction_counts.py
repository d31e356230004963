"""The figures of extraction count as the README of the corpus says, and tell no single document of the unseen half."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from measure.corpora.extraction import check as extraction_corpus
from measure.corpora.extraction.check import Count, count, main, match

DOCUMENT = """# Features
- Save notes.
- Find notes.

# Background
Notes must be kept.

# Out of scope
- Sync
"""


def counts(folder: Path, **lines: list[tuple[int, int]]) -> Count:
    path = folder / "notes.md"
    path.write_text(DOCUMENT, "utf-8")
    none: dict[str, list[tuple[int, int]]] = {kind: [] for kind in extraction_corpus.KINDS}
    return count({**none, **lines}, path)


def test_each_extracted_piece_stands_for_one_expectation() -> None:
    assert match([(1, 1), (1, 1), (2, 3)], [(1, 1), (3, 3)]) in ({0: 0, 2: 1}, {1: 0, 2: 1})
    assert len(match([(1, 5), (2, 2)], [(2, 2), (4, 4)])) == 2


def test_what_nobody_expects_is_invented_and_optional_spans_are_neither(tmp_path: Path) -> None:
    found = counts(tmp_path, requirement=[(2, 2)], optional=[(3, 3)], exclusion=[(9, 9)])
    assert (found.expected, found.found, found.pieces) == (1, 1, 0)
    assert (found.exclusions, found.kept, found.built) == (1, 1, 0)
    stricter = counts(tmp_path, requirement=[(2, 2)], exclusion=[(9, 9)])
    assert stricter.invented == found.invented + 1


def test_a_task_within_an_exclusion_is_a_violation_unless_a_requirement_shares_the_line(tmp_path: Path) -> None:
    assert counts(tmp_path, exclusion=[(3, 3)]).built == 1
    assert counts(tmp_path, exclusion=[(3, 3)], requirement=[(3, 3)]).built == 0


@pytest.mark.slow
def test_the_report_names_documents_of_the_seen_half_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    halves = {e.name: e.half for e in extraction_corpus.read_corpus([])}
    assert {halves[name] for name in report["document"]} == {"seen"}
    assert set(report["half"]) == {"seen", "unseen"}
    assert set(report["missing"]) == {e.name for e in extraction_corpus.read_corpus([]) if e.path is None}
