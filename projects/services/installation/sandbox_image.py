"""The image of Docker sandboxes, as pages show it, and what an administrator can ask of it."""

from __future__ import annotations

from django.contrib.auth.models import User

from projects.services.accounts.rights import require_administrator
from projects.services.audit.sitelog import note
from projects.workers.queue import enqueue
from sandbox.build_state import ImageBuild, read_build


def last_build() -> ImageBuild | None:
    """The build at work or the last one on this machine, for the engine in use; None when there was none."""
    return read_build()


def request_build(by: User, *, stop: bool = False) -> None:
    """Have a worker make the image, also after a failure, or stop making it. Raises NotAllowed."""
    require_administrator(by, "Making the sandbox image")
    note(by, "sandbox.image", "stopped" if stop else "requested")
    enqueue("projects.jobs.build_sandbox_image", stop)
