"""What an index says about a release becomes OSV records. The index is a stand-in over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agents.gates.advisories import read_record
from sandbox.package_index.errors import IndexUnavailable
from sandbox.package_index.index import IndexClient
from sandbox.package_index.published import npm_advisories, npm_licence, python_release
from tests.advisory_index import AdvisoryIndex, advisory_index
from tests.tables import each_row


@pytest.fixture(scope="module")
def index() -> Iterator[AdvisoryIndex]:
    with advisory_index() as index:
        yield index


@each_row(
    ("text", "bad", "good", "cure"),
    [
        ("<1.3.2", ["0.1.0", "1.3.1"], ["1.3.2"], "1.3.2"),
        (">=1.0.0 <1.2.6 || <0.2.4", ["0.2.3", "1.0.0"], ["0.2.4", "1.2.6"], "0.2.4"),
        (">=2.0.0 || <1.0.0", ["0.9.0", "2.0.0"], ["1.0.0"], "1.0.0"),
        ("<=1.0.0", ["1.0.0"], ["1.0.1"], ""),
        ("=1.0.0", ["1.0.0"], ["0.9.0", "1.0.1"], ""),
        ("1.0.0", ["1.0.0"], ["1.0.1"], ""),
        (">= 2.0.0", ["2.0.0", "9.0.0"], ["1.0.0"], ""),
        ("*", ["0.1.0"], [], ""),
        ("", ["0.1.0"], [], ""),
        ("1.0.0 - 2.0.0", ["0.1.0"], [], ""),
    ],
)
def test_a_range_of_npm_is_read_and_one_that_cannot_be_read_excludes_nothing(
    index: AdvisoryIndex, text: str, bad: list[str], good: list[str], cure: str
) -> None:
    index.npm = {"a": [{"id": 7, "title": "It leaks.", "vulnerable_versions": text, "severity": "critical"}]}
    said = npm_advisories(IndexClient(index.address), {"a": [*bad, *good]})
    assert said is not None
    ((_, advisory),) = read_record(said["a"].records[0])
    assert (advisory.name, advisory.severity.name) == ("7", "CRITICAL")
    assert [version for version in [*bad, *good] if advisory.affects(version)] == bad
    assert (advisory.cures(bad[0]) or [""])[0] == cure


@pytest.mark.parametrize(
    ("info", "licence"),
    [
        ({"license_expression": "MIT"}, "MIT"),
        ({"classifiers": ["License :: OSI Approved :: Apache Software License"], "license": "x"}, "Apache-2.0"),
        ({"license": "BSD License"}, "BSD-3-Clause"),
        ({"license": "A long text.\n" * 9}, ""),
        ({}, ""),
    ],
)
def test_the_licence_of_a_python_release_is_read_wherever_it_stands(
    index: AdvisoryIndex, info: dict[str, Any], licence: str
) -> None:
    index.python["a/1"] = {"info": info, "vulnerabilities": []}
    said = python_release(IndexClient(f"{index.address}simple/"), "a", "1")
    assert said is not None
    assert said.licence == licence


def test_a_build_of_ones_own_has_the_weaknesses_of_its_release(index: AdvisoryIndex) -> None:
    index.knows("torch", "2.0.0", {"id": "PYSEC-2099-1", "fixed_in": []})
    said = python_release(IndexClient(f"{index.address}simple/"), "torch", "2.0.0+cu118")
    assert said is not None
    ((_, advisory),) = read_record(said.records[0])
    assert advisory.affects("2.0.0+cu118")


def test_a_registry_states_licences_in_two_forms(index: AdvisoryIndex) -> None:
    index.npm_licences = {"@a/b/1.0.0": "ISC", "old/1.0.0": {"type": "MIT", "url": "https://example.org"}}
    assert npm_licence(IndexClient(index.address), "@a/b", "1.0.0") == "ISC"
    assert npm_licence(IndexClient(index.address), "old", "1.0.0") == "MIT"
    assert npm_licence(IndexClient(index.address), "gone", "1.0.0") == ""


def test_an_index_that_is_away_or_switched_off_is_named() -> None:
    with pytest.raises(IndexUnavailable, match=r"127\.0\.0\.1:9"):
        python_release(IndexClient("http://127.0.0.1:9/simple/"), "a", "1")
    with pytest.raises(IndexUnavailable, match="no package index is configured"):
        npm_advisories(IndexClient("none"), {"a": ["1"]})


@pytest.fixture
def broken() -> Iterator[AdvisoryIndex]:
    with advisory_index() as index:
        yield index


def test_a_page_about_something_else_is_no_clean_result(broken: AdvisoryIndex) -> None:
    broken.instead = b'{"error": "not supported"}'
    assert npm_advisories(IndexClient(broken.address), {"a": ["1.0.0"]}) is None


def test_a_page_that_is_nested_too_deeply_is_invalid(broken: AdvisoryIndex) -> None:
    broken.instead = b"[" * 100_000
    with pytest.raises(IndexUnavailable, match="invalid JSON"):
        python_release(IndexClient(f"{broken.address}simple/"), "a", "1")
