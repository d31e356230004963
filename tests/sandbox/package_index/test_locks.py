"""Locks: written, read back, joined, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.base import SandboxError
from sandbox.package_index.locks import (
    Lock,
    joined,
    learned,
    parse_requirements_lock,
    read_lock,
    requirements_lock,
    write_lock,
)
from sandbox.package_index.pip import Wheel

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)
PINS = st.dictionaries(
    NAMES,
    st.tuples(
        st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}", fullmatch=True), st.lists(st.just("ab" * 32), min_size=1, max_size=2)
    ),
)


def wheels(pins: dict[str, tuple[str, list[str]]]) -> list[Wheel]:
    return [Wheel(Path("x"), name, version, hashes[0], tuple(hashes)) for name, (version, hashes) in pins.items()]


@given(PINS)
def test_what_is_written_is_read_back(pins: dict[str, tuple[str, list[str]]]) -> None:
    text = requirements_lock(wheels(pins))
    assert parse_requirements_lock(text) == {name: (version, tuple(hashes)) for name, (version, hashes) in pins.items()}
    assert joined(text, text) == text


@pytest.mark.slow
@given(PINS, PINS)
def test_of_two_locks_the_newer_one_counts_and_nothing_is_lost(
    earlier: dict[str, tuple[str, list[str]]], newer: dict[str, tuple[str, list[str]]]
) -> None:
    both = parse_requirements_lock(joined(requirements_lock(wheels(earlier)), requirements_lock(wheels(newer))))
    assert both.keys() == earlier.keys() | newer.keys()
    assert all(both[name][0] == version for name, (version, _) in newer.items())


def test_a_project_s_lock_survives_on_disk_and_grows(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "lock.json"
    assert read_lock(file) == Lock()
    first = learned(Lock(), {"requirements.lock.txt": requirements_lock(wheels({"a": ("1.0", ["00" * 32])}))})
    write_lock(file, first)
    second = learned(read_lock(file), {"package-lock.json": '{"packages": {}}'})
    assert second.python == first.python
    assert second.npm == '{"packages": {}}'


def test_a_damaged_lock_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "lock.json"
    for text in ("{", "[]", '{"python": {"a": {}}}'):
        file.write_text(text)
        with pytest.raises(SandboxError, match=r"lock\.json"):
            read_lock(file)


def test_a_locked_version_is_kept_until_a_requirement_excludes_it() -> None:
    lock = Lock({"a": ("1.0", ("00",)), "b": ("2.0", ("00",))})
    assert lock.fitting(["a>=1", "c"]) == {"a": "1.0", "b": "2.0"}
    assert lock.fitting(["A>1.5"]) == {"b": "2.0"}
