"""Choosing a backend; the fake one that other tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import registry
from sandbox.base import Availability, ExecResult, PathRefused, SandboxError, SandboxUnavailable
from tests.sandbox.fake_backend import FakeBackend


class Broken(FakeBackend):
    """A backend that does not work here."""

    def availability(self) -> Availability:
        return Availability(False, problem="no engine", hint="start one")


def test_an_unknown_backend_names_the_known_ones() -> None:
    with pytest.raises(SandboxError, match="'vm'; known: auto, docker, bubblewrap"):
        registry.open_backend("vm")


def test_auto_takes_the_first_that_works_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load_backend", lambda name: Broken() if name == "docker" else FakeBackend())
    assert type(registry.open_backend(checked=False)) is FakeBackend
    monkeypatch.setattr(registry, "load_backend", lambda name: Broken())
    with pytest.raises(SandboxUnavailable, match=r"docker: no engine; start one \| bubblewrap: no engine; start one"):
        registry.open_backend()


def test_the_fake_sandbox_answers_and_stores(tmp_path: Path) -> None:
    backend = FakeBackend(lambda argv: ExecResult(argv, len(argv), "said", "", 0.0))
    (tmp_path / "a.txt").write_text("a")
    with backend.open() as box:
        assert box.exec(["one", "two"]).exit_code == 2
        box.put({"x/y": b"1"})
        assert box.get(["x/y", "z"]) == {"x/y": b"1"}
        box.mirror(tmp_path)
        assert box.files == {"a.txt": b"a"}
        with pytest.raises(PathRefused):
            box.put({"../x": b""})
        assert box.commands == [("one", "two")]
    with pytest.raises(SandboxUnavailable):
        box.exec(["true"])
