"""`aiswe up` with a Docker engine that has no sandbox image."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.aiswe_site.running import COMMAND, environment, up
from tests.needs import missing
from tests.sandbox.conftest import docker_engine
from tests.sandbox.stand_in_engine import StandInEngine
from tests.sandbox.test_image_faults import Bench, needs_root, registry
from tests.waiting import eventually

__all__ = ["docker_engine", "registry"]
pytestmark = [pytest.mark.slow, pytest.mark.stage]


@pytest.fixture
def no_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All programs but bwrap."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in ("/usr/bin", "/usr/sbin"):
        for program in Path(folder).iterdir():
            if program.name != "bwrap" and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{programs}")


@pytest.fixture
def bench(
    tmp_path: Path, registry: tuple[str, str], monkeypatch: pytest.MonkeyPatch, no_bubblewrap: None
) -> Iterator[Bench]:
    """A debootstrap that hangs, an engine without the image, and no bubblewrap."""
    needs_root()
    with StandInEngine(tmp_path) as engine:
        made = Bench(tmp_path / "bench", registry[0], engine, registry[1])
        monkeypatch.setenv("PATH", f"{made.folder / 'bin'}:{os.environ['PATH']}")
        for name in ("TMPDIR", "DOCKER_HOST", "READY", "MARK"):
            monkeypatch.setenv(name, made.environment[name])
        monkeypatch.setenv("FAULT", "debootstrap hangs")
        yield made


def doctor(home: Path) -> dict[str, dict[str, str]]:
    """What the doctor says, by check."""
    done = subprocess.run([*COMMAND, "doctor", "--json"], env=environment(home), capture_output=True, text=True)
    return {row["name"]: row for row in json.loads(done.stdout)["checks"]}


def builder(bench: Bench) -> int:
    """The process that makes the image."""
    assert eventually(lambda: bool(list(bench.temporary.glob("aiswe-images-*/*.json"))))
    return int(bench.state().owner.partition("-")[0])


@pytest.mark.timeout(600)
def test_the_image_is_made_in_a_process_that_ends_with_the_product_and_is_begun_again_with_it(
    bench: Bench, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with up(home) as server:
        assert server.answers() == 200
        assert eventually(bench.ready.exists)
        checks = doctor(home)
        assert checks["Sandbox"]["detail"].startswith("Tasks wait: the sandbox image is being made: ")
        assert "fetching and unpacking Debian packages" in checks["Docker"]["detail"]
        first = builder(bench)
        bench.ready.unlink()
        os.kill(server.worker, signal.SIGKILL)  # the supervisor starts another one, which takes the build up again
        assert eventually(bench.ready.exists)
        assert builder(bench) != first
        assert len(bench.folders()) == 1
        server.stop()
    assert eventually(lambda: not bench.processes()), bench.processes()
    assert eventually(lambda: not bench.folders())
    assert bench.state().state == "interrupted"


@pytest.mark.timeout(600)
def test_a_builder_that_is_killed_is_a_failure_that_nobody_repeats_unasked(bench: Bench, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with up(home) as server:
        assert eventually(bench.ready.exists)
        os.kill(builder(bench), signal.SIGKILL)
        assert eventually(lambda: bench.state().state == "failed")
        assert bench.folders() == []
        checks = doctor(home)
        assert checks["Docker"]["ok"] is False
        assert "the builder was killed (SIGKILL)" in checks["Docker"]["detail"]
        assert "aiswe sandbox build" in checks["Docker"]["hint"]
        server.stop()
    assert eventually(lambda: not bench.processes()), bench.processes()


def test_with_neither_engine_nor_bubblewrap_the_missing_step_is_named(
    no_bubblewrap: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nowhere.sock")
    with up(tmp_path / "home") as server:
        server.wait_for(r"tasks wait, because no sandbox works here\. docker: no Docker engine answers.*bubblewrap: ")
        checks = doctor(tmp_path / "home")
    assert checks["Sandbox"]["ok"] is False
    assert "sudo apt-get install -y bubblewrap" in checks["Sandbox"]["hint"]


@pytest.mark.docker
@pytest.mark.timeout(1800)
def test_with_an_engine_and_no_bubblewrap_the_demo_merges_every_task(
    docker_engine: str, no_bubblewrap: None, tmp_path: Path
) -> None:
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    words = ["demo", "--headless", "--json", "--home", str(tmp_path / "home"), "--tokens-per-s", "5000"]
    done = subprocess.run([*COMMAND, *words], env=environment(tmp_path / "home"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
