"""What the doctor says about the sandbox."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from aiswe_site.doctor import tools
from sandbox import docker, registry
from sandbox.base import SandboxUnsafe
from sandbox.inside import services
from tests.sandbox.fake_backend import FakeBackend


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
