"""The sandboxes of a project: with its limits, and where this process works on tasks, ready before they ask."""

from __future__ import annotations

import contextlib
import logging
import threading

from django.conf import settings

from projects.models import Baseline, Project
from sandbox.base import Backend, SandboxError, SandboxLimits, SandboxPreparing
from sandbox.pool import Fitted, ReadyPool
from sandbox.registry import BACKENDS, open_backend, reap_all
from sandbox.scratch import remove_leftovers

log = logging.getLogger("aiswe.sandboxes")
_lock = threading.Lock()
_pools: dict[str, ReadyPool] = {}
_keeping = threading.Event()


def limits_of(project: Project, seconds: float = 0.0) -> SandboxLimits:
    """What one sandbox of the project may use; what its settings do not name is as sandbox.base has it.

    A command may take at least `seconds`, and what the baseline found that the tests need.
    """
    plain, given, baseline = SandboxLimits(), project.limits, Baseline.usable(project)
    measured = float(baseline.setup.get("suite_seconds", 0)) if baseline is not None else 0.0
    return SandboxLimits(
        cpus=float(given.get("sandbox_cpus", plain.cpus)),
        memory_mb=int(given.get("sandbox_memory_mb", plain.memory_mb)),
        processes=int(given.get("sandbox_processes", plain.processes)),
        disk_mb=int(given.get("sandbox_disk_mb", plain.disk_mb)),
        seconds=max(float(given.get("sandbox_seconds", plain.seconds)), measured, seconds),
    )


def name_for(project: Project) -> str:
    """The backend that the project chose, else the configured one."""
    return project.sandbox_backend if project.sandbox_backend != "auto" else str(settings.SANDBOX_BACKEND)


def fitted(backend: Backend, project: Project, seconds: float = 0.0) -> Backend:
    """That backend with the project's limits, handing over what stands ready if this process keeps some."""
    if _keeping.is_set() and backend.name in BACKENDS:
        backend = _pool(backend)
    return Fitted(backend, limits_of(project, seconds))


def _pool(backend: Backend) -> ReadyPool:
    with _lock:
        if backend.name not in _pools:
            _pools[backend.name] = ReadyPool(backend, size=settings.SANDBOX_READY)
        return _pools[backend.name]


def keep_ready() -> None:
    """From now on this process keeps sandboxes ready (`AISWE_SANDBOX_READY`): for workers, not for single commands."""
    if settings.SANDBOX_READY < 1:
        return
    _keeping.set()
    _pool(open_backend(settings.SANDBOX_BACKEND)).prepare()


def tend_image(project: Project | None = None, *, again: bool = False) -> str:
    """Have Docker's image made in the background if it is wanted and missing; how far it is, "" if nobody makes it.

    A build that failed or was stopped is repeated only if `again`.
    """
    from sandbox.image_builder import ensure_image  # on use: it takes the Docker client along

    wanted = name_for(project) if project is not None else str(settings.SANDBOX_BACKEND)
    if wanted == "bubblewrap":
        return ""
    build = ensure_image(again=again)
    return build.progress if build is not None and build.state == "building" else ""


def awaited_image(project: Project) -> str:
    """How far the image is that the project's sandboxes wait for; "" when another one serves, or nobody makes it."""
    if progress := tend_image(project):
        try:
            open_backend(name_for(project), checked=False)
        except SandboxPreparing:
            return progress
        except SandboxError:
            pass
    return ""


def tidy() -> dict[str, int]:
    """Remove what dead workers left behind, and what stood ready for too long; how many leftovers by backend."""
    found = reap_all()
    with contextlib.suppress(SandboxError):
        for folder in remove_leftovers():
            log.warning("deleted %s, which the builder of a sandbox image left when it died", folder)
    for name, count in found.items():
        if count:
            log.warning("removed %d sandbox(es) that a dead worker left behind (%s)", count, name)
    with _lock:
        pools = list(_pools.values())
    for pool in pools:
        pool.tend()
    return found
