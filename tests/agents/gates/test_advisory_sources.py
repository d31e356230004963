"""In a fresh installation old versions are refused, and a package that no source answers for is not a clean result.

The package index is a stand-in over HTTP: no index that these tests can reach offers advisories.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agents.gates.advisory_sources import FRESH_SECONDS, USABLE_SECONDS
from agents.gates.base import Disposition, GateReport, Policy, Severity
from agents.gates.run import DEFAULT_POLICY, run_gates
from tests.advisory_index import AdvisoryIndex, advisory_index

DJANGO = {
    "id": "PYSEC-2099-7",
    "aliases": ["CVE-2099-7"],
    "summary": "It leaks.",
    "fixed_in": ["4.2.9", "5.1.1", "6.0"],
}


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh project in a fresh installation: no source is configured, and the index of the tests is away."""
    monkeypatch.delenv("AISWE_ADVISORIES")
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[AdvisoryIndex]:
    with advisory_index() as index:
        monkeypatch.setenv("AISWE_PYPI_INDEX", f"{index.address}simple/")
        monkeypatch.setenv("AISWE_NPM_REGISTRY", index.address)
        yield index


def scan(code: Path, policy: Policy = DEFAULT_POLICY, **files: str) -> GateReport:
    names = {"requirements": "requirements.txt", "package": "package.json", "lock": "package-lock.json"}
    for name, text in files.items():
        (code / names[name]).write_text(text)
    return run_gates(code, tools=["advisories"], policy=policy)


def known(report: GateReport) -> list[str]:
    return [finding.message for finding in report.findings if finding.rule == "known-vulnerability"]


def rules(report: GateReport) -> dict[str, Severity]:
    return {finding.rule: finding.severity for finding in report.findings}


@pytest.mark.parametrize(
    ("files", "package", "number", "cure"),
    [
        ({"requirements": "django==1.2.0\n"}, "django 1.2.0", "CVE-2010-4534", "django 1.2.4"),
        ({"requirements": "pyyaml==3.10\n"}, "pyyaml 3.10", "CVE-2020-14343", "pyyaml 5.4"),
        (
            {"package": '{"dependencies": {\n"lodash": "4.17.15"}}'},
            "lodash 4.17.15",
            "CVE-2021-23337",
            "lodash 4.17.21",
        ),
    ],
    ids=["django", "pyyaml", "lodash"],
)
def test_an_old_version_is_refused_in_a_fresh_installation_with_its_number_and_its_cure(
    code: Path, files: dict[str, str], package: str, number: str, cure: str
) -> None:
    report = scan(code, **files)
    assert report.verdict == "blocked"
    (finding,) = [one for one in report.findings if number in one.message]
    assert finding.message.startswith(f"{package}: {number}")
    assert finding.remediation.startswith(f"Use {cure} or newer.")
    assert finding.line == (2 if "package" in files else 1)


def test_the_lowest_version_that_cures_everything_is_named_too(code: Path) -> None:
    hints = [one.remediation for one in scan(code, requirements="django==1.2.0\n").findings]
    assert "Use django 1.2.4 or newer. django 1.4.11 is the lowest version without any weakness known here." in hints


def test_a_package_that_no_source_answers_for_blocks_and_the_way_out_is_said(code: Path) -> None:
    report = scan(code, requirements="left-pad==1.0\nright-pad==2.0\n")
    assert report.verdict == "blocked"
    (finding,) = report.findings
    assert (
        "left-pad 1.0, right-pad 2.0. No source answered: http://127.0.0.1:9/simple/ does not answer" in finding.message
    )
    assert "AISWE_ADVISORIES" in finding.remediation


def test_a_dependency_file_that_cannot_be_read_is_said_and_asked_about(code: Path) -> None:
    (finding,) = scan(code, package="{").tools["advisories"].findings
    assert (finding.rule, finding.severity) == ("not-checked", Severity.MEDIUM)
    assert "not valid JSON or TOML" in finding.message


def test_what_no_source_is_asked_about_is_said_and_asked_about(code: Path) -> None:
    (code / "Cargo.lock").write_text('[[package]]\nname = "time"\nversion = "0.1.0"\n')
    (code / "notes.txt").write_text("a==1; " + "(" * 5_000 + "os_name == 'x'" + ")" * 5_000)
    found = scan(code, requirements="git+https://x/a\n").findings
    assert {(one.path, one.rule, one.severity.name) for one in found} == {
        (path, "not-checked", "MEDIUM") for path in ("Cargo.lock", "notes.txt", "requirements.txt")
    }


def test_answers_that_cannot_be_kept_are_used_all_the_same(code: Path, index: AdvisoryIndex) -> None:
    index.knows("django", "7.0")
    (code / "file").write_text("not a folder\n")
    assert scan(code, Policy(answers=code / "file"), requirements="django==7.0\n").passed


def test_a_project_without_dependencies_asks_nobody(code: Path) -> None:
    (code / "app.py").write_text("x = 1\n")
    assert scan(code, requirements="# none yet\n").findings == ()


def test_a_person_may_be_asked_instead_and_decides_about_exactly_these_packages(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AISWE_UNCHECKED_DEPENDENCIES", "ask")
    (finding,) = scan(code, requirements="left-pad==1.0\n").findings
    assert finding.severity is Severity.MEDIUM
    (code / "requirements.txt").write_text("left-pad==1.0\n")

    decided = {finding.fingerprint: Disposition("We wrote it.", datetime.now(UTC) + timedelta(days=1))}
    assert run_gates(code, tools=["advisories"], dispositions=decided).passed
    (code / "requirements.txt").write_text("left-pad==1.0\nright-pad==2.0\n")
    assert not run_gates(code, tools=["advisories"], dispositions=decided).passed


def test_the_index_answers_for_a_python_release(code: Path, index: AdvisoryIndex) -> None:
    index.knows("django", "5.1", DJANGO)
    index.knows("left-pad", "1.0")
    report = scan(code, requirements="django==5.1\nleft-pad==1.0\n")
    assert known(report) == ["django 5.1: CVE-2099-7 (PYSEC-2099-7): It leaks."]
    assert report.findings[0].remediation == "Use django 5.1.1 or newer."
    assert report.findings[0].severity is Severity.HIGH
    index.knows("django", "5.1.1")
    assert scan(code, requirements="django==5.1.1\nleft-pad==1.0\n").passed


def test_the_registry_answers_for_npm_packages_in_one_question(code: Path, index: AdvisoryIndex) -> None:
    url = "https://github.com/advisories/GHSA-aaaa"
    index.npm = {
        "left-pad": [{"url": url, "title": "It leaks.", "severity": "moderate", "vulnerable_versions": "<1.3.2"}]
    }
    places = {
        "node_modules/left-pad": "1.3.0",
        "node_modules/a/node_modules/left-pad": "1.3.2",
        "node_modules/a": "1.0.0",
    }
    lock = {"packages": {"": {"version": "1"}, **{place: {"version": version} for place, version in places.items()}}}
    report = scan(code, lock=json.dumps(lock, indent=1))
    assert known(report) == ["left-pad 1.3.0: GHSA-aaaa: It leaks."]
    assert report.findings[0].remediation == "Use left-pad 1.3.2 or newer."
    assert report.findings[0].severity is Severity.MEDIUM
    assert len(index.asked) == 1


@pytest.mark.parametrize("page", [None, {"info": {}}, {"vulnerabilities": [{"summary": "without a number"}]}, []])
def test_an_index_without_advisories_or_without_the_release_is_no_source(
    code: Path, index: AdvisoryIndex, page: Any
) -> None:
    if page is not None:
        index.python["left-pad/1.0"] = page
    assert rules(scan(code, requirements="left-pad==1.0\n")) == {"dependencies-not-checked": Severity.HIGH}
    index.npm = None
    assert "offers no advisories" in scan(code, package='{"dependencies": {"a": "1.0.0"}}').reasons[0]


def test_osv_files_answer_for_their_ecosystems_and_the_index_for_the_others(
    code: Path, index: AdvisoryIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"ecosystem": "npm", "name": "lodash"}
    lodash = {
        "id": "MINE-1",
        "aliases": ["CVE-2021-23337"],
        "affected": [{"package": package, "versions": ["4.17.20"]}],
    }
    (tmp_path / "osv.json").write_text(json.dumps(lodash))
    monkeypatch.setenv("AISWE_ADVISORIES", str(tmp_path / "osv.json"))
    index.knows("left-pad", "1.0")
    manifest = '{"dependencies": {"lodash": "4.17.20", "react": "18.0.0"}}'
    report = scan(code, requirements="left-pad==1.0\n", package=manifest)
    # The snapshot knows the same weakness by its CVE: it is one finding.
    assert known(report) == ["lodash 4.17.20: CVE-2021-23337 (MINE-1): A known weakness."]
    assert index.asked == ["/pypi/left-pad/1.0/json"]
    assert set(rules(report)) == {"known-vulnerability"}


def test_a_decision_about_one_advisory_says_nothing_about_the_next(code: Path, index: AdvisoryIndex) -> None:
    index.knows("left-pad", "1.0", DJANGO)
    (first,) = scan(code, requirements="left-pad==1.0\n").findings
    decided = {first.fingerprint: Disposition("Not reached.", datetime.now(UTC) + timedelta(days=1))}
    assert run_gates(code, tools=["advisories"], dispositions=decided).passed
    index.knows("left-pad", "1.0", {**DJANGO, "id": "AAA-1", "aliases": []}, DJANGO)
    report = run_gates(code, tools=["advisories"], dispositions=decided)
    assert [reason for reason in report.reasons if "AAA-1" in reason] == list(report.reasons)
    assert len(report.reasons) == 1


def test_a_decision_about_a_version_ends_with_that_version_where_its_line_does_not_name_it(
    code: Path, index: AdvisoryIndex
) -> None:
    index.npm = {"left-pad": [{"url": "x/GHSA-aaaa", "title": "It leaks.", "vulnerable_versions": "<2.0.0"}]}

    def lock(version: str) -> str:
        return json.dumps({"packages": {"node_modules/left-pad": {"version": version}}}, indent=1)

    (finding,) = scan(code, lock=lock("1.0.0")).findings
    decided = {finding.fingerprint: Disposition("Not reached.", datetime.now(UTC) + timedelta(days=1))}
    assert run_gates(code, tools=["advisories"], dispositions=decided).passed
    (code / "package-lock.json").write_text(lock("1.1.0"))
    assert not run_gates(code, tools=["advisories"], dispositions=decided).passed


def test_a_withdrawn_advisory_of_the_index_counts_for_nothing(code: Path, index: AdvisoryIndex) -> None:
    index.knows("django", "5.1", {**DJANGO, "withdrawn": "2099-01-01T00:00:00Z"})
    assert scan(code, requirements="django==5.1\n").passed


def test_an_answer_is_kept_and_an_old_one_is_said(code: Path, index: AdvisoryIndex, tmp_path: Path) -> None:
    policy = replace(DEFAULT_POLICY, answers=tmp_path / "answers")
    index.knows("left-pad", "1.0")
    for _ in range(2):
        assert scan(code, policy, requirements="left-pad==1.0\n").passed
    assert len(index.asked) == 1
    (kept,) = (tmp_path / "answers").iterdir()
    document = json.loads(kept.read_text())
    kept.write_text(json.dumps({**document, "time": time.time() - FRESH_SECONDS * 3 - 60}))
    index.python.clear()
    report = scan(code, policy, requirements="left-pad==1.0\n")
    assert report.passed
    assert "up to 3 days old" in report.findings[0].message
    kept.write_text(json.dumps({**document, "time": time.time() - USABLE_SECONDS - 60}))
    assert not scan(code, policy, requirements="left-pad==1.0\n").passed


def test_a_reserved_name_is_asked_of_its_own_index_only(code: Path, index: AdvisoryIndex, tmp_path: Path) -> None:
    with advisory_index() as ours:
        reserved = tmp_path / "list.toml"
        reserved.write_text(f'[python.indexes]\n"acme-*" = "{ours.address}simple/"\n')
        ours.knows("acme-core", "1.0")
        policy = replace(DEFAULT_POLICY, package_lists=(reserved,))
        assert scan(code, policy, requirements="acme-core==1.0\n").passed
        assert index.asked == []


@pytest.mark.parametrize(
    ("licence", "refused", "expected"),
    [
        ("AGPL-3.0-or-later", "AGPL,SSPL-1.0", {"licence-refused": Severity.HIGH}),
        ("MIT OR GPL-2.0-only", "GPL", {}),
        ("MIT AND GPL-2.0-only", "GPL", {"licence-refused": Severity.HIGH}),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", "GPL-3.0", {"licence-refused": Severity.HIGH}),
        ("LGPL-3.0-only", "GPL", {}),
        ("", "GPL", {"licence-unknown": Severity.MEDIUM}),
        ("GNU GPL 3", "GPL", {"licence-unknown": Severity.MEDIUM}),
        ("GPLv3+", "GPL", {"licence-unknown": Severity.MEDIUM}),
        ("GPL 3.0 AND MIT", "GPL", {"licence-unknown": Severity.MEDIUM}),
        ("MIT AND LicenseRef-own", "LicenseRef-own", {"licence-refused": Severity.HIGH}),
        ("Apache-2.0+ AND GPL-2.0+", "SSPL", {"licence-copyleft": Severity.LOW}),
        ("see the file (", "GPL", {"licence-unknown": Severity.MEDIUM}),
        ("AGPL-3.0-only", "", {"licence-copyleft": Severity.LOW}),
        ("", "", {}),
    ],
)
def test_a_licence_is_judged_by_the_policy(
    code: Path, index: AdvisoryIndex, monkeypatch: pytest.MonkeyPatch, licence: str, refused: str, expected: Any
) -> None:
    monkeypatch.setenv("AISWE_REFUSED_LICENCES", refused)
    index.knows("left-pad", "1.0", licence=licence)
    assert rules(scan(code, requirements="left-pad==1.0\n")) == expected


def test_the_licence_of_an_npm_package_comes_from_its_lock_or_its_registry(
    code: Path, index: AdvisoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AISWE_REFUSED_LICENCES", "SSPL")
    index.npm_licences["b/1.0.0"] = "SSPL-1.0"
    lock = {"packages": {f"node_modules/{name}": {"version": "1.0.0"} for name in "ab"}}
    lock["packages"]["node_modules/a"]["license"] = "SSPL-1.0"
    assert [f.message.split(",")[0] for f in scan(code, lock=json.dumps(lock)).findings] == [
        "a 1.0.0 has the licence SSPL-1.0",
        "b 1.0.0 has the licence SSPL-1.0",
    ]
