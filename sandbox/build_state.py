"""What is known of the image build for an engine: a small file of this user, written by the builder and read by all.

It survives the product and is gone with the machine's temporary files, when whether the engine has the image is all
that counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from sandbox.base import SandboxError
from sandbox.locks import owned
from sandbox.owners import lives
from sandbox.scratch import private_folder

State = Literal["building", "done", "failed", "stopped", "interrupted"]
DEFAULT_ENGINE = "unix:///var/run/docker.sock"


@dataclass(frozen=True)
class ImageBuild:
    """One build; `state` is "interrupted" when its builder ended without a result."""

    image: str
    state: State
    owner: str = ""  # the builder's process, as sandbox.owners describes one
    step: str = ""
    percent: int = 0
    line: str = ""  # the last that the program at work printed
    started: float = 0.0
    updated: float = 0.0
    problem: str = ""
    hint: str = ""

    @property
    def seconds(self) -> float:
        """How long it has taken so far, or took."""
        return max(0.0, (time.time() if self.state == "building" else self.updated) - self.started)

    @property
    def progress(self) -> str:
        """Where it is, in a few words."""
        return f"{self.percent} % ({self.step})"


def engine_address() -> str:
    """Where the engine is, as docker-py reads it."""
    return os.environ.get("DOCKER_HOST", "").strip() or DEFAULT_ENGINE


def _place(suffix: str) -> Path:
    return private_folder() / (hashlib.sha256(engine_address().encode()).hexdigest()[:16] + suffix)


def read_build(image: str = "") -> ImageBuild | None:
    """The last build for this engine, of that image if one is named; None when there is none that can be read."""
    try:
        found = ImageBuild(**json.loads(_place(".json").read_text()))
    except (OSError, SandboxError, ValueError, TypeError):
        return None
    if image and found.image != image:
        return None
    if found.state == "building" and not lives(found.owner):
        return replace(found, state="interrupted")
    return found


def write_build(build: ImageBuild) -> None:
    """Note where a build is; a full disk does not end it."""
    target = _place(".json")
    draft, text = target.with_suffix(f".{os.getpid()}"), json.dumps(asdict(replace(build, updated=time.time())))
    try:
        draft.write_text(text)
        draft.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
            target.write_text(text)  # in the room of the older note


def build_lock() -> contextlib.AbstractContextManager[bool]:
    """Whether this process is now the only builder for the engine; the kernel drops the lock with the process."""
    return owned(_place(".lock"))
