"""What a Docker engine knows of a container that holds a release: its state, its output, its user."""

from __future__ import annotations

import contextlib
import io
import itertools
import tarfile
import time
from datetime import datetime
from typing import Any

import docker
import docker.errors

from sandbox.hosting.base import Log, Seen

MOST_SENT = 64 * 1024
SECOND = 1_000_000_000  # in nanoseconds
SETTLED = SECOND // 5  # output and errors arrive by two ways and may change places for an instant
STATES = {"created": "starting", "running": "running", "paused": "running", "removing": "gone"}  # else: exited


def seen_of(client: docker.DockerClient, container: str) -> Seen:
    """The state of its process, with what it uses."""
    told = client.api.inspect_container(container)
    state, restarts = told["State"], int(told["RestartCount"])
    if (kind := STATES.get(state["Status"])) == "gone":
        return Seen("gone")
    if kind == "starting":
        return Seen("starting", detail="starting its container")
    if kind is None:
        why = "used more memory than it may" if state["OOMKilled"] else f"ended with exit code {state['ExitCode']}"
        words = client.api.logs(container, tail=5).decode(errors="replace").strip().rpartition("\n")[2]
        detail = f"{why}: {words[:200]}" if words else why
        again = state["Status"] == "restarting"
        return Seen("exited", None, restarts, int(state["ExitCode"]), detail.replace("\0", ""), stuck=not again)
    health = state.get("Health") or {}
    answers = health.get("Log") or [{}]
    ready = {"healthy": True, "unhealthy": False, "starting": False}.get(health.get("Status", ""))
    detail = (
        "" if ready is not False else str(answers[-1].get("Output", "")).strip()[:300] or "no health check passed yet"
    )
    memory, cpu = _use(client, container)
    code = _last_exit_code(client, container) if restarts else None
    return Seen("running", ready, restarts, code, detail.replace("\0", ""), memory_mb=memory, cpu_seconds=cpu)


def _use(client: docker.DockerClient, container: str) -> tuple[float | None, float | None]:
    """Memory without the cache of files, in MB, and seconds of CPU."""
    try:
        told = client.api.stats(container, stream=False, one_shot=True)
        memory, cpu = told["memory_stats"], told["cpu_stats"]["cpu_usage"]["total_usage"]
        cached = memory["stats"].get("inactive_file", memory["stats"].get("total_inactive_file", 0))
        return round((memory["usage"] - cached) / 1024 / 1024, 1), cpu / SECOND
    except (docker.errors.DockerException, KeyError):  # it ended meanwhile, or the engine does not tell
        return None, None


def _last_exit_code(client: docker.DockerClient, container: str) -> int | None:
    """How the process before the present one ended, as long as the engine remembers."""
    wanted = {"container": container, "event": "die"}
    events: Any = client.api.events(since=1, until=int(time.time()) + 1, filters=wanted, decode=True)
    codes = [event["Actor"]["Attributes"].get("exitCode", "") for event in events]
    return int(codes[-1]) if codes and codes[-1].lstrip("-").isdecimal() else None


def read_log(client: docker.DockerClient, container: str, after: int, *, running: bool) -> Log:
    """Output after a position, which is the time in nanoseconds at which the engine took the last of it: that holds
    over restarts of either process and over log files that the engine drops.
    """
    until = time.time_ns() - SETTLED if running else 1 << 63
    kept, size, known, cut = list[tuple[int, bytes]](), 0, False, False
    frames = client.api.logs(container, stream=True, follow=False, timestamps=True, since=after // SECOND or None)
    try:
        for frame in frames:
            stamp, _, text = frame.partition(b" ")
            at = _nanoseconds(stamp.decode())
            known = known or at <= after
            if after < at <= until:
                kept.append((at, text))
                size += len(text)
            if cut := size > 4 * MOST_SENT:
                break
    finally:
        frames.close()
    kept.sort(key=lambda one: one[0])
    whole = [(at, b"".join(text for _, text in same)) for at, same in itertools.groupby(kept, lambda one: one[0])]
    piece, position = b"", after
    for at, text in whole[:-1] if cut and len(whole) > 1 else whole:
        if piece and len(piece) + len(text) > MOST_SENT:
            break
        piece, position = piece + text, at
    lost = len(piece) > MOST_SENT or bool(after >= SECOND and kept and not known)
    return Log(piece[:MOST_SENT].decode(errors="replace").replace("\0", "\u2400"), position, lost)


def _nanoseconds(stamp: str) -> int:
    whole, _, fraction = stamp.rstrip("Z").partition(".")
    seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
    return seconds * SECOND + int(fraction.ljust(9, "0")[:9] or 0)


def uid_problem(client: docker.DockerClient, container: str, user: str) -> str:
    """Why the user of an image may be root; "" when it is not. A name is looked up in the image, as the engine does."""
    name = user.partition(":")[0]
    if name.isdecimal():
        return "" if int(name) else "its user is root"
    with contextlib.suppress(docker.errors.NotFound, tarfile.TarError, KeyError, ValueError):
        pieces, _ = client.api.get_archive(container, "/etc/passwd")
        with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as tar:
            file = tar.extractfile(tar.getmembers()[0])
            lines = file.read().decode(errors="replace").splitlines() if file else []
        for line in lines:
            words = line.split(":")
            if words[0] == name and len(words) > 2:
                return "" if int(words[2]) else f"its user {name} is root"
    return f"its user {name} is not in the image's /etc/passwd; name one by its number"
