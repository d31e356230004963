"""The process that gets the sandbox image, and what starts, follows and stops it.

`python -m sandbox.image_builder` works until the image is there, it failed, or its standard input ends: its parent
holds the other end, so that a product that dies takes its builder with it.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sandbox.base import SandboxError, SandboxUnavailable
from sandbox.build_state import ImageBuild, State, build_lock, read_build, write_build
from sandbox.contained import ImageNotMade
from sandbox.debian import Say
from sandbox.docker import DockerBackend, connect
from sandbox.images import ENGINE_ERRORS, build_image, image_name, image_present
from sandbox.owners import me
from sandbox.scratch import remove_leftovers
from sandbox.selftest import refuse_unsafe

REPOSITORY = Path(__file__).resolve().parent.parent
ENGINE_SECONDS = 900  # importing an image on a busy machine
START_SECONDS = 10.0
NOTE_SECONDS = 0.5
DISK_FULL = "free 3 GB, or set TMPDIR to a folder on a larger disk"
AGAIN = "aiswe sandbox build"
_builders: list[subprocess.Popen[bytes]] = []  # kept: a collected one would close the pipe that it lives by


class BuildEnded(BaseException):
    """The builder was asked to end."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.state: State = state


class BuildNotes:
    """Writes down where a build is, seldom enough to cost nothing, and tells `also`."""

    def __init__(self, image: str, also: Say) -> None:
        self.build = ImageBuild(image, "building", owner=me(), step="starting", started=time.time())
        self._also, self._noted = also, 0.0
        write_build(self.build)

    def __call__(self, step: str, percent: float, line: str = "") -> None:
        """Where it is now."""
        before, self.build = self.build, replace(self.build, step=step, percent=int(percent), line=line[:200])
        self._also(step, percent, line)
        if step != before.step or time.monotonic() - self._noted > NOTE_SECONDS:
            self._noted = time.monotonic()
            write_build(self.build)

    def end(self, state: State, problem: str = "", hint: str = "") -> ImageBuild:
        """Its result."""
        self.build = replace(self.build, state=state, problem=problem, hint=hint or (AGAIN if problem else ""))
        write_build(self.build)
        return self.build


def build_now(also: Say) -> ImageBuild | None:
    """Get the image in this process and return how it went; None when another process is at it.

    Raises SandboxUnavailable when no engine answers, BuildEnded when a signal ends it (see `end_on_signals`).
    """
    with build_lock() as mine:
        if not mine:
            return None
        remove_leftovers()
        client = connect(ENGINE_SECONDS)
        notes = BuildNotes(image_name(), also)
        try:
            build_image(client, notes)
            notes("checking a sandbox made of it", 97)
            refuse_unsafe(DockerBackend())
            notes("ready", 100)
            return notes.end("done")
        except BuildEnded as ended:
            problem = "it was stopped" if ended.state == "stopped" else ""
            notes.end(ended.state, problem)
            raise
        except ImageNotMade as error:
            return notes.end("failed", str(error), error.hint)
        except SandboxError as error:
            return notes.end("failed", str(error))
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            said = "the disk is full" if full else f"{error.strerror or error}"
            place = f" ({error.filename})" if error.filename else ""
            return notes.end(
                "failed", f"files of the image could not be written: {said}{place}", DISK_FULL if full else ""
            )
        except Exception as error:  # noqa: BLE001  whatever it is, people must not wait for this build
            return notes.end("failed", f"an unexpected {type(error).__name__}: {error}"[:300])
        finally:
            client.close()


def ensure_image(*, again: bool = False) -> ImageBuild | None:
    """Have a process get the image unless the engine has it, and return the build that is at it or failed before.

    None when there is nothing to build: no engine answers, or it has the image. A build that failed or was stopped is
    repeated only if `again`.
    """
    try:
        name, client = image_name(), connect(5)
        found = read_build(name)
        try:
            if image_present(client, name):
                if found is not None and found.state not in ("building", "done"):  # it came in another way
                    write_build(replace(found, state="done", problem="", hint=""))
                return None
        finally:
            client.close()
    except (SandboxUnavailable, *ENGINE_ERRORS):
        return None
    if found is not None and (found.state == "building" or (found.state in ("failed", "stopped") and not again)):
        return found
    _launch()
    return read_build(name)


def stop_build() -> bool:
    """End the build for this engine; False when there is none."""
    found = read_build()
    if found is None or found.state != "building":
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.kill(int(found.owner.partition("-")[0]), signal.SIGUSR1)
        return True
    return False


def _launch() -> None:
    """Start a builder, and return when it has begun or is not needed."""
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    builder = subprocess.Popen(
        [sys.executable, "-m", "sandbox.image_builder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    _builders.append(builder)
    threading.Thread(target=_watch, args=(builder,), name="image-builder", daemon=True).start()
    until = time.monotonic() + START_SECONDS
    while builder.poll() is None and time.monotonic() < until:
        if (found := read_build()) is not None and found.state == "building":
            return
        time.sleep(0.05)


def _watch(builder: subprocess.Popen[bytes]) -> None:
    """Wait for a builder's end; one that was killed left no word about it, and perhaps files."""
    code = builder.wait()
    _builders.remove(builder)
    if code >= 0:
        return
    with suppress(SandboxError, OSError), build_lock() as mine:
        found = read_build() if mine else None
        if found is not None and found.state == "interrupted" and found.owner.startswith(f"{builder.pid}-"):
            remove_leftovers()
            problem = f"the builder was killed ({signal.Signals(-code).name})"
            write_build(replace(found, state="failed", problem=problem, hint=f"{AGAIN}; perhaps memory was short"))


def end_on_signals() -> None:
    """Have the first signal end the build in order; later ones do not disturb the cleaning up."""
    ends: dict[int, State] = {
        signal.SIGTERM: "interrupted",
        signal.SIGINT: "stopped",
        signal.SIGHUP: "interrupted",
        signal.SIGUSR1: "stopped",
    }

    def end(number: int, _: object) -> None:
        for each in ends:
            signal.signal(each, signal.SIG_IGN)
        raise BuildEnded(ends[number])

    for each in ends:
        signal.signal(each, end)


def _follow_parent() -> None:
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """Exit code 0 when the image is there or another process is at it."""
    try:
        end_on_signals()
        threading.Thread(target=_follow_parent, name="lifeline", daemon=True).start()
        done = build_now(lambda *_: None)
    except BuildEnded:
        return 1
    except SandboxError as error:
        sys.stderr.write(f"aiswe: the sandbox image was not made: {error}\n")
        return 3
    if done is not None and done.problem:
        sys.stderr.write(f"aiswe: the sandbox image was not made: {done.problem}; {done.hint}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
