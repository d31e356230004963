"""What the state of a Deployment and its Pods means, and what their containers printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sandbox.hosting.base import Log, Seen
from sandbox.hosting.kubernetes_api import Api, ApiError, brief
from sandbox.hosting.kubernetes_objects import CONTAINER

RESTARTED = "kubectl.kubernetes.io/restartedAt"
MOST_TEXT, MOST_LINE = 64_000, 16_000
HOPELESS = {
    "ImagePullBackOff": "the image {image} cannot be pulled",
    "ErrImageNeverPull": "the image {image} is not on the node, which may not pull it",
    "InvalidImageName": "{image} is not the name of an image",
    "CreateContainerConfigError": "its container cannot be set up",
    "CreateContainerError": "its container cannot be made",
}
STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?")
NON_ROOT = "; give its Dockerfile a numeric USER other than 0"
NUL, SYMBOL_FOR_NUL = "\0", "\u2400"  # databases refuse the first


def seen(deployment: dict[str, Any], pods: list[dict[str, Any]]) -> Seen:
    """How a release fares."""
    status = deployment.get("status") or {}
    conditions = {entry["type"]: entry for entry in status.get("conditions") or ()}
    late = conditions.get("Progressing", {}).get("reason") == "ProgressDeadlineExceeded"
    # Right after a restart the Pod of before is still there, and ready.
    fresh = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    fresh = fresh and status.get("updatedReplicas", 0) > 0
    alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]] if fresh else []
    if not alive:
        failure = conditions.get("ReplicaFailure", {})
        why = f"no Pod can be made: {brief(failure.get('message'))}" if failure.get("status") == "True" else ""
        return Seen("starting", False, detail=why or "the cluster has not made its Pod yet", stuck=late)
    return _of_pod(max(alive, key=_age), late)


def _of_pod(pod: dict[str, Any], late: bool) -> Seen:
    """How its newest Pod fares; `late` when the cluster waited long enough for it."""
    box: dict[str, Any] = next(iter(pod["status"].get("containerStatuses") or ()), {})
    now, before = box.get("state") or {}, (box.get("lastState") or {}).get("terminated")
    ended = now.get("terminated") or before
    restarts, code = int(box.get("restartCount", 0)), ended.get("exitCode") if ended else None
    waits = now.get("waiting") or {}
    reason = str(waits.get("reason") or "")
    if "running" in now:
        ready = box.get("ready") is True
        why = "" if ready else "it runs, but its health check does not succeed"
        if ended and not ready:
            why += f"; before, it {_end(ended)}"
        return Seen("running", ready, restarts, code, why, stuck=late and not ready)
    if reason in HOPELESS:
        why = f"{HOPELESS[reason].format(image=brief(box.get('image'), 120))}: {brief(waits.get('message'))}"
        why += NON_ROOT if "non-root" in why or "non-numeric" in why else ""
        return Seen("starting", False, restarts, code, why, stuck=True)
    if ended:
        again = "; the cluster starts it again after a pause" if reason else ""
        return Seen("exited", False, restarts, code, f"it {_end(ended)}{again}", stuck=late)
    if pod["status"].get("phase") == "Failed":
        why = f"its Pod ended: {brief(pod['status'].get('reason'), 60)} {brief(pod['status'].get('message'))}"
        return Seen("exited", False, restarts, detail=why, stuck=late)
    return Seen("starting", False, restarts, code, _pending(pod, waits), stuck=late)


def _pending(pod: dict[str, Any], waits: dict[str, Any]) -> str:
    """Why a container is not there yet."""
    places = [entry for entry in pod["status"].get("conditions") or () if entry["type"] == "PodScheduled"]
    if places and places[0].get("status") == "False":
        return f"no node of the cluster takes it: {brief(places[0].get('message'))}"
    return brief(f"its container is not up yet ({waits.get('reason') or 'pending'}) {waits.get('message') or ''}")


def _age(pod: dict[str, Any]) -> tuple[str, bool]:
    return str(pod["metadata"]["creationTimestamp"]), "deletionTimestamp" not in pod["metadata"]


def _end(ended: dict[str, Any]) -> str:
    if ended.get("reason") == "OOMKilled":
        return "was killed because it used more memory than its limit"
    message = f": {brief(ended['message'])}" if ended.get("message") else ""
    return f"ended with exit code {ended.get('exitCode')}{message}"


def logs(api: Api, pods: list[dict[str, Any]], after: int) -> Log:
    """What was printed after the line whose time, in nanoseconds since 1970, is `after`.

    The API counts no bytes, and asked from a second on, it repeats lines. So the line of before is looked for, and what
    stands behind it is new, in whatever order standard output and error got there. If that line is gone, so may others.
    """
    sources, complete = _sources(pods)
    page, found = _LogPage(), after == 0
    for path, over, params in sources:
        for when, line in _lines(api, path, over, params, after):
            if when == after:
                page, found = _LogPage(), True
            elif (found or when > after) and not page.add(when, line) and found:
                return page.log(after, lost=after == 0 and not complete)
    return page.log(after, lost=not found or (after == 0 and not complete))


def _sources(pods: list[dict[str, Any]]) -> tuple[list[tuple[str, bool, dict[str, str]]], bool]:
    """The logs that there are, oldest first: of which Pod, whether it grows no more, how to ask for it; and whether
    these are all that there ever were.
    """
    sources, complete = list[tuple[str, bool, dict[str, str]]](), True
    for pod in sorted(pods, key=_age)[-3:]:
        box: dict[str, Any] = next(iter(pod["status"].get("containerStatuses") or ()), {})
        state, last = box.get("state") or {}, (box.get("lastState") or {}).get("terminated") or {}
        running = "running" in state
        current = box.get("containerID") if running else (state.get("terminated") or {}).get("containerID")
        name, count = str(pod["metadata"]["name"]), len(sources)
        # While a container waits to be started again, the plain log is that of the one before.
        if current and last.get("containerID") and last["containerID"] != current:
            sources.append((name, True, {"previous": "true"}))
        if current or last:
            sources.append((name, not running, {}))
        ever = int(box.get("restartCount", 0)) + (1 if current or last else 0)
        complete = complete and len(sources) - count >= ever
        complete = complete and (len(pods) > 1 or RESTARTED not in (pod["metadata"].get("annotations") or {}))
    return sources, complete


def _lines(api: Api, pod: str, over: bool, params: dict[str, str], after: int) -> Iterator[tuple[int, bytes]]:
    """Lines with their times; one that is still being written comes later."""
    asked = {"container": CONTAINER, "timestamps": "true", **params}
    if after:
        asked["sinceTime"] = datetime.fromtimestamp(after // 10**9 - 1, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        with api.stream("GET", api.path("pods", pod) + "/log", **asked) as pieces:
            rest = b""
            for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                rest = rest[: 2 * MOST_LINE]
                for line in lines:
                    yield from _stamped(line)
            if over:
                yield from _stamped(rest)
    except ApiError as error:
        if error.status not in (400, 404):  # the container was just removed, or has not begun
            raise


def _stamped(line: bytes) -> Iterator[tuple[int, bytes]]:
    if found := STAMP.match(line):  # what has no time was not printed by the program, but by the node
        whole = datetime.fromisoformat((found[1] + found[3].replace(b"Z", b"+00:00")).decode())
        yield int(whole.timestamp()) * 10**9 + int((found[2] or b"0").ljust(9, b"0")), line[found.end() :]


class _LogPage:
    """Lines until there is no more room."""

    def __init__(self) -> None:
        self.lines, self.room, self.cut, self.full = list[tuple[int, bytes]](), MOST_TEXT, False, False

    def add(self, when: int, line: bytes) -> bool:
        """Whether there was room. Lines of one moment stay together, for the next page begins after a moment."""
        kept = line[:MOST_LINE]
        if not self.full and len(kept) < self.room:
            self.lines.append((when, kept))
            self.room -= len(kept) + 1
            self.cut = self.cut or len(line) > MOST_LINE
            return True
        if not self.full:
            self.full = True
            end = len(self.lines)
            while end and self.lines[end - 1][0] == when:
                end -= 1
            self.lines, self.cut = self.lines[: end or None], self.cut or not end
        return False

    def log(self, after: int, *, lost: bool) -> Log:
        if not self.lines:
            return Log("", after)
        text = b"".join(line + b"\n" for _, line in self.lines).decode(errors="replace")
        return Log(text.replace(NUL, SYMBOL_FOR_NUL), self.lines[-1][0], lost or self.cut)
