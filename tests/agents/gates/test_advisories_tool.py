"""Versions with known weaknesses are found in the OSV files that are given; a broken file blocks."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.gates.advisories import AdvisoryError, load_index, read_record
from agents.gates.base import GateReport, Severity
from agents.gates.run import run_gates
from tests.tables import each_row

RECORD = {
    "id": "OSV-2099-1",
    "summary": "Runs what it is given.",
    "database_specific": {"severity": "MODERATE"},
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "Left_Pad"},
            "ranges": [
                {
                    "type": "ECOSYSTEM",
                    "events": [
                        {"introduced": "1.0"},
                        {"fixed": "1.4"},
                        {"introduced": "2.0"},
                        {"last_affected": "2.1"},
                    ],
                }
            ],
            "versions": ["0.1rc9"],
        },
        {
            "package": {"ecosystem": "npm", "name": "left-pad"},
            "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": "3.0.1"}]}],
        },
    ],
}


def scan(root: Path, monkeypatch: pytest.MonkeyPatch, index: Path | None) -> GateReport:
    if index is None:
        monkeypatch.delenv("AISWE_ADVISORIES", raising=False)
    else:
        monkeypatch.setenv("AISWE_ADVISORIES", str(index))
    return run_gates(root, tools=["advisories"])


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(RECORD))
    return folder


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("version", "bad"),
    [("0.9", False), ("1.0", True), ("1.3.9", True), ("1.4", False), ("2.1", True), ("2.2", False), ("0.1rc9", True)],
)
def test_a_pinned_version_is_matched_by_range(
    code: Path, index: Path, monkeypatch: pytest.MonkeyPatch, version: str, bad: bool
) -> None:
    (code / "requirements.txt").write_text(f"# deps\nleft-pad[extra]=={version} ; python_version > '3' \\\n")
    found = scan(code, monkeypatch, index).findings
    assert [(f.rule, f.line, f.severity) for f in found] == (
        [("known-vulnerability", 2, Severity.MEDIUM)] if bad else []
    )


def test_a_lock_file_of_npm_is_matched(code: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = {"lockfileVersion": 3, "packages": {"": {"version": "1"}, "node_modules/left-pad": {"version": "3.0.0"}}}
    (code / "package-lock.json").write_text(json.dumps(lock, indent=1))
    finding = scan(code, monkeypatch, index).findings[0]
    assert (finding.rule, finding.cwe) == ("known-vulnerability", "CWE-1395")
    assert finding.remediation == "Use left-pad 3.0.1 or newer."
    assert finding.line == 7


@each_row(
    ("version", "known_bad"),
    [
        ("3.0.1-1", True),
        ("v3.0.1-canary.9", True),
        ("3.0.1", False),
        ("3.0.1+build.1", False),
        ("4.0.0-canary.1", False),
        ("3.0.2-next-85acf2d19", False),
        ("3", True),
        ("none", True),
        ("9" * 5_000, True),
    ],
)
def test_versions_of_npm_are_ordered_as_npm_does(version: str, known_bad: bool) -> None:
    ((_, _), (_, advisory)) = read_record(RECORD)
    assert advisory.affects(version) is known_bad
    assert advisory.cures(version) == (["3.0.1"] if known_bad else [])


@pytest.mark.parametrize("text", ["{", "[1]", '{"id": "x", "affected": [{}]}'])
def test_a_broken_index_blocks_and_names_the_file(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "bad.json").write_text(text)
    (code / "requirements.txt").write_text("left-pad==1.0\n")
    report = scan(code, monkeypatch, tmp_path / "bad.json")
    assert report.verdict == "blocked"
    assert "bad.json" in report.reasons[0]


def test_an_index_that_is_not_there_blocks(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code / "a.txt").write_text("x")
    assert "no advisories there" in scan(code, monkeypatch, tmp_path / "nothing").reasons[0]
    with pytest.raises(AdvisoryError):
        load_index(tmp_path / "nothing")


def test_a_version_without_a_pin_and_an_address_are_named(
    code: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "requirements.txt").write_text("flask>=2\n-r other.txt\nx==1\nhttps://a/b.whl\n--hash=sha256:00\n")
    found = scan(code, monkeypatch, index).findings
    assert [(f.rule, f.line, f.severity) for f in found] == [
        ("not-checked", 4, Severity.MEDIUM),
        ("dependency-not-pinned", 1, Severity.LOW),
    ]


def test_a_withdrawn_record_gives_nothing() -> None:
    assert list(read_record({**RECORD, "withdrawn": "2099-01-01T00:00:00Z"})) == []


@given(st.text(max_size=30))
def test_any_text_as_a_version_gets_an_answer(version: str) -> None:
    advisory = dict(read_record(RECORD))["PyPI", "left-pad"]
    assert advisory.affects(version) in (True, False)
