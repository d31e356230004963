"""Which sandbox backends there are, and which one to use."""

from __future__ import annotations

import contextlib
import os
import threading
from importlib import import_module
from typing import cast

from sandbox.base import Backend, SandboxError, SandboxPreparing, SandboxUnavailable, SandboxUnsafe

# Short name to class, imported on use. In the order of preference of "auto"; a bare process is never among them.
BACKENDS = {"docker": "sandbox.docker.DockerBackend", "bubblewrap": "sandbox.bubblewrap.BubblewrapBackend"}
# What a self-check depends on: when one of these changes it is made again.
DECIDES = (
    *("PATH", "DOCKER_HOST", "AISWE_SANDBOX_IMAGE", "AISWE_DOCKER_RUNTIME"),
    *("AISWE_SANDBOX_PYTHON", "AISWE_SANDBOX_NODE"),
)
SELFTEST_HINT = "`aiswe sandbox selftest` tries all its walls, docs/explanation/sandbox.md says what each means"
_held: set[tuple[object, ...]] = set()
_lock = threading.Lock()


def load_backend(name: str) -> Backend:
    """The backend of that name, usable here or not; raises SandboxError listing the known ones."""
    if name not in BACKENDS:
        raise SandboxError(f"unknown sandbox backend {name!r}; known: auto, {', '.join(BACKENDS)}")
    module, _, kind = BACKENDS[name].rpartition(".")
    return cast(Backend, getattr(import_module(module), kind)())


def open_backend(name: str = "auto", *, checked: bool = True) -> Backend:
    """A backend that works here: the named one, or Docker when it is ready, else bubblewrap.

    A sandbox of it has been looked at from inside, once per process, and was what it should be (`checked`).
    Raises SandboxError for an unknown name and SandboxUnavailable, with the way out, when nothing works:
    SandboxPreparing when one will soon, SandboxUnsafe when the named one works and does not hold.
    """
    problems, unsafe, preparing = [], False, ""
    for candidate in BACKENDS if name == "auto" else (name,):
        backend = load_backend(candidate)
        state = backend.availability()
        if not state.ok:
            problems.append(f"{candidate}: {state.problem}; {state.hint}")
            preparing = preparing or state.preparing
            continue
        try:
            if checked:
                _check_once(backend)
        except SandboxUnavailable as refusal:
            unsafe = unsafe or isinstance(refusal, SandboxUnsafe)
            problems.append(f"{candidate}: {refusal}; {SELFTEST_HINT}")
            continue
        return backend
    if preparing:
        raise SandboxPreparing(f"the sandbox image is being made: {preparing}")
    kind = SandboxUnsafe if unsafe else SandboxUnavailable
    raise kind("no sandbox works here. " + " | ".join(problems))


def _check_once(backend: Backend) -> None:
    """Raise SandboxUnsafe when a sandbox does not look as it should; one that did is not looked at again."""
    from sandbox.selftest import refuse_unsafe

    key = (backend.name, type(backend), os.getpid(), *(os.environ.get(variable, "") for variable in DECIDES))
    with _lock:  # several tasks start together: one looks, the others wait for its answer
        if key not in _held:
            refuse_unsafe(backend)
            _held.add(key)


def reap_all() -> dict[str, int]:
    """Remove what dead workers left behind; how many by backend, without those whose engine does not answer."""
    found = {}
    for name in BACKENDS:
        with contextlib.suppress(SandboxError):
            found[name] = load_backend(name).reap()
    return found
