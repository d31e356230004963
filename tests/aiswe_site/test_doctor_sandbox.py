"""What the doctor says about the sandbox."""

from __future__ import annotations

import pytest

from aiswe_site.doctor import tools
from sandbox import registry
from sandbox.base import SandboxUnsafe
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
