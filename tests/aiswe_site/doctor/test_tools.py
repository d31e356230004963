"""What the doctor says about the sandbox."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aiswe_site.doctor import tools
from sandbox import docker, registry
from sandbox.base import SandboxPreparing, SandboxUnsafe
from sandbox.images import image_name
from sandbox.inside import services
from tests.needs import missing
from tests.sandbox.conftest import docker_engine
from tests.sandbox.fake_backend import FakeBackend
from tests.sandbox.stand_in_engine import StandInEngine

__all__ = ["docker_engine"]


def test_a_sandbox_that_does_not_hold_is_red_and_the_way_to_see_why_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsafe(name: str) -> FakeBackend:
        raise SandboxUnsafe("the docker sandbox does not hold: no capabilities: 0x200000")

    monkeypatch.setattr(registry, "open_backend", unsafe)
    verdict = tools.sandbox()
    assert verdict.ok is False
    assert "0x200000" in verdict.detail
    assert "aiswe sandbox selftest" in verdict.hint


def test_a_sandbox_that_holds_is_said_to_have_been_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "open_backend", lambda name: FakeBackend())
    verdict = tools.sandbox()
    assert verdict.ok
    assert "isolation verified from inside" in verdict.detail


def test_servers_for_tests_are_listed_with_their_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "open_backend", lambda name: FakeBackend())
    there = {"postgres": "/opt/pg/postgres", "redis-server": "", "mariadbd": ""}
    monkeypatch.setattr(services, "program", lambda *names: there[names[0]])
    verdict = tools.test_servers()
    assert verdict.ok
    assert verdict.detail.startswith("PostgreSQL (/opt/pg/postgres), no MySQL, no Redis; ")


def test_with_docker_the_images_of_the_engine_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = FakeBackend()
    backend.name = "docker"
    monkeypatch.setattr(registry, "open_backend", lambda name: backend)
    tags = ["pgvector/pgvector:pg16", "registry.example:5000/redis:7", "python:3.11"]
    client = SimpleNamespace(images=SimpleNamespace(list=lambda: [SimpleNamespace(tags=tags)]), close=lambda: None)
    monkeypatch.setattr(docker, "connect", lambda seconds: client)
    detail = tools.test_servers().detail
    assert detail.startswith("PostgreSQL (pgvector/pgvector:pg16), no MySQL, Redis (registry.example:5000/redis:7); ")


def test_a_sandbox_that_waits_for_its_image_is_neither_red_nor_green(monkeypatch: pytest.MonkeyPatch) -> None:
    def soon(name: str) -> FakeBackend:
        raise SandboxPreparing("the sandbox image is being made: 40 % (packing)")

    monkeypatch.setattr(registry, "open_backend", soon)
    verdict = tools.sandbox()
    assert verdict.ok is None
    assert verdict.detail == "Tasks wait: the sandbox image is being made: 40 % (packing)"


def test_an_engine_that_runs_no_container_is_red_whatever_it_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    settings.SANDBOX_BACKEND = "auto"
    with StandInEngine(tmp_path) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.url)
        engine.images[image_name()] = {"User": "1000:1000"}
        verdict = tools.docker()
        assert verdict.ok is False
        assert "this engine runs no containers" in verdict.detail
        assert "aiswe sandbox selftest --backend docker" in verdict.hint
        engine.images[image_name()] = {"User": "root"}
        assert "runs as root" in tools.docker().detail


def test_no_engine_is_red_only_where_docker_was_asked_for(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.SANDBOX_BACKEND = "bubblewrap"
    assert tools.docker().detail == "Not used: AISWE_SANDBOX is bubblewrap"
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    settings.SANDBOX_BACKEND = "docker"
    verdict = tools.docker()
    assert verdict.ok is False
    assert "start Docker" in verdict.hint


@pytest.mark.docker
def test_a_real_engine_is_green_because_a_container_was_looked_at(docker_engine: str, settings: Any) -> None:
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    settings.SANDBOX_BACKEND = "auto"
    verdict = tools.docker()
    assert verdict.ok, verdict
    assert "a container was started and checked from inside" in verdict.detail
