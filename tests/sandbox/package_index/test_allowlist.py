"""Allow-lists: the product's own is sound, and files of the operator add to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.base import SandboxError
from sandbox.package_index.allowlist import NODE, PYTHON, load
from sandbox.package_index.names import BUILTIN, NPM_NAME, Judgement, judge
from tests.tables import each_row

LISTS = {name: load(name) for name in (PYTHON, NODE)}


def test_the_product_s_lists_hold_well_formed_names_and_wait_for_fresh_releases() -> None:
    assert len(LISTS[PYTHON].names) > 150
    assert len(LISTS[NODE].names) > 60
    assert all(NPM_NAME.fullmatch(name) and name not in BUILTIN for name in LISTS[NODE].names | LISTS[NODE].popular)
    for known in LISTS.values():
        assert known.cooldown_days >= 3
        assert not known.names & known.popular


def test_a_file_adds_names_and_indexes_and_changes_the_numbers(tmp_path: Path) -> None:
    more = tmp_path / "more.toml"
    more.write_text(
        '[python]\nnames = ["In_House"]\ncooldown_days = 0\n[python.indexes]\n"acme-*" = "https://pypi.acme.example/simple/"\n'
    )
    known = load(PYTHON, more)
    assert "in-house" in known.names
    assert "requests" in known.names
    assert known.cooldown_days == 0
    assert known.listed_only
    assert known.index_for("acme-tools") == "https://pypi.acme.example/simple/"
    assert known.index_for("requests") == ""
    assert load(NODE, more) == LISTS[NODE]


def test_a_file_that_is_not_there_adds_nothing(tmp_path: Path) -> None:
    assert load(PYTHON, tmp_path / "none.toml") == LISTS[PYTHON]


@each_row(
    ("text", "words"),
    [
        ("[python", "more.toml"),
        ('[python]\nnames = "requests"', "list of package names"),
        ("[python]\nnames = [1]", "list of package names"),
        ("[python]\nname = []", "unknown key 'name'"),
        ("[python]\ncooldown_days = -1", "not a number of days"),
        ('[python]\ndependencies = "all"', "it may be 'listed' or 'vouched'"),
        ('[python.indexes]\n"a" = "file:///x"', "not the address of an index"),
        ("python = 3", "more.toml"),
    ],
)
def test_a_mistake_in_a_file_is_an_error_that_names_it(tmp_path: Path, text: str, words: str) -> None:
    more = tmp_path / "more.toml"
    more.write_text(text)
    with pytest.raises(SandboxError, match=r"more\.toml") as said:
        load(PYTHON, more)
    assert words in str(said.value)


@each_row(
    ("line", "judgement", "reason"),
    [
        ("npm:express@^4", Judgement.ALLOWED, "on the allow-list"),
        ("npm:@jest/globals", Judgement.ALLOWED, "on the allow-list"),
        ("npm:fs", Judgement.REFUSED, "part of Node itself"),
        ("npm:Express", Judgement.REFUSED, "not the name of an npm package"),
        ("npm:express@workspace:*", Judgement.REFUSED, "addresses and files"),
        ("npm:", Judgement.REFUSED, "not the name"),
        ("npm:left-pad", Judgement.NEEDS_APPROVAL, "a person must approve"),
        ("npm:expres", Judgement.NEEDS_APPROVAL, "looks like express"),
        ("torch", Judgement.NEEDS_APPROVAL, "a person must approve"),
        ("pytest", Judgement.ALLOWED, "already in the sandbox"),
        ("pytest==1", Judgement.REFUSED, "another version cannot replace it"),
    ],
)
def test_a_requirement_is_judged_by_its_name(line: str, judgement: Judgement, reason: str) -> None:
    verdict = judge(line, LISTS, (), {"pytest": "9.0"})
    assert verdict.judgement is judgement
    assert reason in verdict.reason


def test_what_a_person_approved_counts_in_its_own_ecosystem_only() -> None:
    assert judge("npm:left-pad", LISTS, ["npm:left-pad"], {}).allowed
    assert not judge("left-pad", LISTS, ["npm:left-pad"], {}).allowed
