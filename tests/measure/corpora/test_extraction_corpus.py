"""The corpus for the extraction of requirements is sound: its expectations point at lines that say something."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from tests.tables import each_row

CORPUS = Path(__file__).parents[3] / "measure" / "corpora" / "extraction"
KINDS = ("requirement", "exclusion", "optional", "question")
EXPECTED = sorted(CORPUS.rglob("*.expected.toml"))
DOCUMENTS = sorted(path for path in (CORPUS / "documents").iterdir() if not path.name.endswith(".expected.toml"))


def name(path: Path) -> str:
    return path.name.removesuffix(".expected.toml")


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_each_document_has_its_expectations_and_the_other_way_round() -> None:
    assert [path.stem for path in DOCUMENTS] == [name(path) for path in EXPECTED if path.parent.name == "documents"]


@each_row("path", EXPECTED, ids=name)
def test_expectations_say_what_the_document_is_and_use_known_words_only(path: Path) -> None:
    expected = read(path)
    about = {"language", "style", "half"} | ({"document", "sha256"} if path.parent.name == "expected" else set())
    assert about <= set(expected) <= about | set(KINDS)
    assert expected["half"] in ("seen", "unseen")
    assert re.fullmatch(r"[0-9a-f]{64}", expected.get("sha256", "0" * 64))
    assert [set(entry) for kind in KINDS for entry in expected.get(kind, ()) if set(entry) != {"lines"}] == []


@each_row("path", DOCUMENTS, ids=lambda path: path.stem)
def test_expected_lines_begin_and_end_with_text_of_the_document(path: Path) -> None:
    expected = read(path.with_name(f"{path.stem}.expected.toml"))
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    assert lines == [*text.splitlines(), ""], "every way to count lines gives the same numbers"
    spans = [tuple(entry["lines"]) for kind in KINDS for entry in expected.get(kind, ())]
    assert spans
    wrong = [(first, last) for first, last in spans if not 1 <= first <= last < len(lines)]
    assert wrong == []
    assert [span for span in spans if not all(lines[number - 1].strip() for number in span)] == []


def test_both_halves_hold_documents_of_several_languages() -> None:
    languages = {
        half: {read(path)["language"] for path in EXPECTED if read(path)["half"] == half} for half in ("seen", "unseen")
    }
    assert min(map(len, languages.values())) >= 5
