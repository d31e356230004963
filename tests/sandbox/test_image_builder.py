"""Who makes the sandbox image, when, and what is known of it meanwhile."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import build_state, image_builder, registry
from sandbox.base import Availability, Backend, SandboxPreparing, SandboxUnavailable
from sandbox.build_state import ImageBuild, build_lock, read_build, write_build
from sandbox.docker import DockerBackend
from sandbox.image_builder import ensure_image, stop_build
from sandbox.images import image_name
from sandbox.owners import me
from tests.sandbox.fake_backend import FakeBackend
from tests.sandbox.stand_in_engine import StandInEngine
from tests.waiting import eventually


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary files of the test's own, no engine, and no image named."""
    for name in ("AISWE_SANDBOX_IMAGE", "AISWE_SANDBOX_IMAGE_FILE", "AISWE_DOCKER_RUNTIME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nowhere.sock")
    return tmp_path


@pytest.fixture
def engine(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInEngine]:
    """An engine without the image, and no debootstrap to make it."""
    with StandInEngine(place) as made:
        monkeypatch.setenv("DOCKER_HOST", made.url)
        monkeypatch.setenv("PATH", str(place))
        yield made


def building(percent: int = 40) -> ImageBuild:
    """A build of this process."""
    made = ImageBuild(image_name(), "building", owner=me(), step="packing", percent=percent, started=time.time() - 5)
    write_build(made)
    return made


def test_without_an_engine_or_with_the_image_nothing_is_built(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_builder, "_launch", lambda: pytest.fail("started a builder"))
    assert ensure_image() is None
    with StandInEngine(place) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.url)
        engine.images[image_name()] = {"User": "1000:1000"}
        assert ensure_image(again=True) is None


@pytest.mark.slow
def test_a_build_that_failed_is_repeated_only_when_somebody_asks(engine: StandInEngine) -> None:
    def ended() -> bool:
        return (found := read_build()) is not None and found.state == "failed" and not image_builder._builders

    ensure_image()
    assert eventually(ended)
    first = read_build()
    assert first is not None
    assert "debootstrap was not found" in first.problem or "needs root" in first.problem
    assert first.hint
    assert ensure_image() == first
    assert not image_builder._builders, "nobody asked for another try"
    ensure_image(again=True)
    assert eventually(ended)
    second = read_build()
    assert second is not None
    assert second.started > first.started


def test_while_one_process_builds_no_other_does(engine: StandInEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_builder, "_launch", lambda: pytest.fail("started a second builder"))
    made = building()
    found = ensure_image(again=True)
    assert found is not None
    assert (found.state, found.owner) == ("building", made.owner)
    with build_lock() as mine:
        assert mine
        with build_lock() as second:
            assert not second
        assert image_builder.build_now(lambda *_: None) is None


def test_each_engine_has_a_build_of_its_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    building()
    monkeypatch.setenv("DOCKER_HOST", "unix:///another.sock")
    assert read_build() is None
    with build_lock() as mine:
        assert mine


def test_a_builder_that_is_gone_was_interrupted_and_another_image_is_another_build(place: Path) -> None:
    write_build(replace(building(), owner="4194999-1"))
    found = read_build()
    assert found is not None
    assert found.state == "interrupted"
    assert read_build("another:1") is None


def test_a_torn_note_is_no_build(place: Path) -> None:
    building()
    build_state._place(".json").write_text('{"image": ')
    assert read_build() is None


def test_stopping_reaches_the_builder_and_only_while_there_is_one(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    assert not stop_build()
    write_build(replace(building(), state="done"))
    assert not stop_build()
    building()
    assert stop_build()
    assert sent == [(os.getpid(), signal.SIGUSR1)]


def test_while_the_image_is_made_docker_tells_how_far_it_is_and_afterwards_why_it_failed(engine: StandInEngine) -> None:
    assert DockerBackend().availability().problem == f"the engine has no image {image_name()}"
    building(40)
    found = DockerBackend().availability()
    assert not found.ok
    assert found.preparing == "40 % (packing)"
    write_build(replace(building(), state="failed", problem="the disk is full", hint="free 3 GB"))
    found = DockerBackend().availability()
    assert (found.problem, found.hint, found.preparing) == (
        "the sandbox image was not made: the disk is full",
        "free 3 GB",
        "",
    )


def test_with_bubblewrap_nobody_waits_for_the_image_and_without_it_the_wait_is_named(
    engine: StandInEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    building(40)
    other: Backend = FakeBackend()
    monkeypatch.setattr(registry, "load_backend", lambda name: DockerBackend() if name == "docker" else other)
    assert registry.open_backend(checked=False) is other

    class Missing(FakeBackend):
        def availability(self) -> Availability:
            return Availability(False, problem="bwrap was not found", hint="install it")

    other = Missing()
    with pytest.raises(SandboxPreparing, match=r"the sandbox image is being made: 40 % \(packing\)$"):
        registry.open_backend(checked=False)
    write_build(replace(building(), state="failed", problem="the disk is full"))
    with pytest.raises(SandboxUnavailable, match=r"the disk is full.*bwrap was not found; install it") as refusal:
        registry.open_backend(checked=False)
    assert not isinstance(refusal.value, SandboxPreparing)


@pytest.mark.parametrize("user", ["", "0", "root", "0:1000"])
def test_an_image_that_runs_as_root_is_refused(engine: StandInEngine, user: str) -> None:
    engine.images[image_name()] = {"User": user}
    found = DockerBackend().availability()
    assert not found.ok
    assert found.problem == f"the image {image_name()} runs as root"
    assert "USER 1000:1000" in found.hint


def test_a_stand_in_with_the_right_answers_is_found_out_by_its_first_container(engine: StandInEngine) -> None:
    engine.images[image_name()] = {"User": "1000:1000"}
    assert DockerBackend().availability().ok
    with pytest.raises(SandboxUnavailable, match=r"docker: Docker made no sandbox.*this engine runs no containers"):
        registry.open_backend("docker")


def test_an_answer_that_no_engine_gives_is_no_engine(engine: StandInEngine) -> None:
    engine.images[image_name()] = None  # type: ignore[assignment]  # the configuration is not an object
    found = DockerBackend().availability()
    assert not found.ok
    assert "the Docker engine does not answer" in found.problem
