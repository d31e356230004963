"""The installation works with uv, without it, and where uv cannot reach what pip can."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

COMMON = Path(__file__).parents[2] / "scripts" / "common.sh"
LOCK = "requirements/base.lock.txt"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with one lock and a Python that records what it is asked to do instead of doing it."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / LOCK).write_text("one==1 \\\n    --hash=sha256:0\n")
    program(tmp_path / ".venv" / "bin" / "python", 'case "$*" in *uv.lock.txt*) cp fetched .venv/bin/uv;; esac')
    program(tmp_path / "fetched", "")
    return tmp_path


def program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/bash\n[ "$*" = --version ] || echo "${{0##*/}} $*" >>calls\n{body}\n')
    path.chmod(0o755)


def fill(checkout: Path, *, path: str = "/usr/bin:/bin") -> tuple[int, list[str]]:
    """Install the lock into .venv; the exit code and the commands that were run."""
    script = f"set -euo pipefail; source {COMMON}; fill_env .venv {LOCK}"
    done = subprocess.run(["bash", "-c", script], cwd=checkout, env={"PATH": path}, capture_output=True, text=True)
    calls = checkout / "calls"
    return done.returncode, calls.read_text().splitlines() if calls.exists() else []


def test_without_uv_pip_fetches_it_from_its_lock_and_it_installs_the_rest(checkout: Path) -> None:
    code, (fetch, install) = fill(checkout)
    assert code == 0
    assert fetch.startswith("python -m pip install")
    assert fetch.endswith("--require-hashes -r requirements/uv.lock.txt")
    assert install.startswith("uv pip install")
    assert install.endswith(f"--require-hashes --no-deps -r {LOCK}")


def test_an_installed_uv_is_used(checkout: Path) -> None:
    program(checkout / "bin" / "uv", "")
    code, calls = fill(checkout, path=f"{checkout}/bin:/usr/bin:/bin")
    assert code == 0
    assert [call.split()[0] for call in calls] == ["uv"]


def test_where_uv_cannot_install_pip_does(checkout: Path) -> None:
    program(checkout / "fetched", "[ $1 != pip ]")
    code, calls = fill(checkout)
    assert code == 0
    assert calls[-1].startswith("python -m pip install")
    assert calls[-1].endswith(f"--require-hashes --no-deps -r {LOCK}")


def test_a_second_installation_does_nothing_and_a_failed_one_is_tried_again(checkout: Path) -> None:
    program(checkout / ".venv" / "bin" / "python", "exit 1")
    assert fill(checkout)[0] == 1
    program(checkout / ".venv" / "bin" / "python", "")
    code, calls = fill(checkout)
    assert (code, bool(calls)) == (0, True)
    (checkout / "calls").unlink()
    assert fill(checkout) == (0, [])
