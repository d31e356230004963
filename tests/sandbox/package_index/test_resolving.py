"""A resolver says whether requirements fit together, of an index of ours, and nothing is installed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.base import PackageRefused
from sandbox.package_index.errors import IndexUnavailable
from sandbox.packages import PackageSupply
from tests.needs import missing
from tests.sandbox.local_index import LocalIndex, wheel_bytes


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as found:
        yield found


@pytest.fixture
def supply(tmp_path: Path, index: LocalIndex) -> PackageSupply:
    if not (Path(sys.executable).with_name("uv").is_file() or shutil.which("uv")):
        missing("uv is not installed")
    index.add_file("goodpkg", "goodpkg-1.0-py3-none-any.whl", wheel_bytes("goodpkg", {}, needs="helperpkg<2"))
    for version in ("1.0", "2.0"):
        wheel = wheel_bytes("helperpkg", {"helperpkg.py": ""}, version=version)
        index.add_file("helperpkg", f"helperpkg-{version}-py3-none-any.whl", wheel)
    return PackageSupply(tmp_path / "cache", ["goodpkg"], index=index.python)


def test_a_choice_that_fits_is_named_with_what_is_on_no_list(supply: PackageSupply) -> None:
    found = supply.resolve(["goodpkg"])
    assert (found.ok, found.tool) == (True, "uv")
    assert found.chosen == ("goodpkg==1.0", "helperpkg==1.0")


def test_a_conflict_is_explained(supply: PackageSupply) -> None:
    found = supply.resolve(["goodpkg", "helperpkg==2.0"], ">=3.9")
    assert not found.ok
    assert "goodpkg" in found.said
    assert "unsatisfiable" in found.said


def test_an_index_that_is_away_is_no_conflict(supply: PackageSupply, index: LocalIndex) -> None:
    index.stop()
    with pytest.raises(IndexUnavailable):
        supply.resolve(["goodpkg"])


@pytest.mark.parametrize("line", ["x @ https://host/x.whl", "-r other.txt", "git+https://host/x", "../x"])
def test_what_is_no_name_of_an_index_is_refused(supply: PackageSupply, line: str) -> None:
    with pytest.raises(PackageRefused):
        supply.resolve([line])
