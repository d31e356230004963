"""Which sandbox backends there are, and which one to use."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from sandbox.base import Backend, SandboxError, SandboxUnavailable

# Short name to class, imported on use. In the order of preference of "auto"; a bare process is never among them.
BACKENDS = {
    "docker": "sandbox.docker.DockerBackend",
    "bubblewrap": "sandbox.bubblewrap.BubblewrapBackend",
    "scripted": "sandbox.scripted.ScriptedBackend",
}
REAL = ("docker", "bubblewrap")


def load_backend(name: str) -> Backend:
    """The backend of that name, usable here or not; raises SandboxError listing the known ones."""
    if name not in BACKENDS:
        raise SandboxError(f"unknown sandbox backend {name!r}; known: auto, {', '.join(BACKENDS)}")
    module, _, kind = BACKENDS[name].rpartition(".")
    return cast(Backend, getattr(import_module(module), kind)())


def open_backend(name: str = "auto") -> Backend:
    """A backend that works here: the named one, or Docker when it is ready, else bubblewrap.

    Raises SandboxError for an unknown name and SandboxUnavailable, with the way out, when nothing works.
    """
    problems = []
    for candidate in REAL if name == "auto" else (name,):
        backend = load_backend(candidate)
        state = backend.availability()
        if state.ok:
            return backend
        problems.append(f"{candidate}: {state.problem}; {state.way_out}")
    raise SandboxUnavailable("no sandbox works here. " + " | ".join(problems))
