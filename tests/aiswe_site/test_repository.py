"""What must hold for the repository as a whole: locks, borders between rooms, scripts, Makefile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from aiswe_site import VERSION
from tests.aiswe_site.running import REPOSITORY
from tests.tables import each_row

LOCKS = sorted((REPOSITORY / "requirements").glob("*.lock.txt"))
SCRIPTS = [REPOSITORY / ".ci" / "run", *sorted((REPOSITORY / "scripts").glob("*.sh"))]


@each_row("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_names_no_host(lock: Path) -> None:
    assert re.findall(r"https?://|file:|index-url|find-links|trusted-host", lock.read_text()) == []


@each_row("lock", LOCKS, ids=lambda path: path.name)
def test_every_pin_of_a_lock_has_a_hash(lock: Path) -> None:
    pins = re.split(r"\n(?=[a-zA-Z0-9])", lock.read_text())
    without = [pin.split()[0] for pin in pins if "==" in pin.split("\n")[0] and "--hash=sha256:" not in pin]
    assert without == []


def test_every_list_of_packages_has_a_lock() -> None:
    lists = {path.name.removesuffix(".in") for path in (REPOSITORY / "requirements").glob("*.in")}
    assert lists == {path.name.removesuffix(".lock.txt") for path in LOCKS}


def test_imports_look_down() -> None:
    checker = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([checker, "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_sound_bash(script: Path) -> None:
    result = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    if script.name != "common.sh":
        assert "set -euo pipefail" in script.read_text()


@each_row("target", "install run demo doctor check test stages lint bench notices bill clean".split())
def test_make_knows_its_targets(target: str) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    result = subprocess.run(["make", "-n", target], cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_the_command_can_be_installed() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"aiswe": "aiswe_site.cli:main"}
