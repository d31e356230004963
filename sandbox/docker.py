"""Sandboxes in Docker containers: the same agent as process 1 of a hardened container, spoken to over its attached
pipes.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Unpack

import docker
import docker.errors
import docker.types

from sandbox.agent import agent_source
from sandbox.base import (
    Availability,
    PackageSet,
    SandboxError,
    SandboxLimits,
    SandboxUnavailable,
    SandboxUnsafe,
    SandboxWish,
)
from sandbox.build_state import read_build
from sandbox.confinement import MEGABYTE, confined, is_root
from sandbox.docker_services import running
from sandbox.expected_state import PACKAGES_AT, container_problems
from sandbox.images import (
    BUILD,
    ENGINE_ERRORS,
    HOST,
    LABEL,
    OWNER,
    image_name,
    image_to_use,
    image_user,
    labels,
    put_files,
)
from sandbox.owners import lives
from sandbox.warm import WarmSandbox, agent_limits, environment
from sandbox.wire import Channel

PYTHON = PurePosixPath("/opt/venv/bin/python")
SITE = "/opt/venv/lib/python3.11/site-packages"
LONGEST_SECONDS = 24 * 3600  # a container of another host older than this belongs to nobody
NO_ENGINE = "start Docker, or point DOCKER_HOST at an engine, or install bubblewrap"
NOT_ALLOWED = "sudo usermod -aG docker $USER, then sign in again"
NO_IMAGE = "build it: aiswe sandbox build"
ROOT_IMAGE = "end its Dockerfile with USER 1000:1000, or unset AISWE_SANDBOX_IMAGE"
NO_RUNTIME = "register it with the engine (for gVisor: runsc install), or unset AISWE_DOCKER_RUNTIME"
_numbers = itertools.count()


class AttachedLine:
    """A Line over an attached container: its output arrives in frames that tell standard output from error."""

    def __init__(self, attached: Any) -> None:
        self._kept = attached  # docker-py closes the connection when this is collected
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._raw, self._out, self.stderr = bytearray(), bytearray(), bytearray()

    def _patience(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def read(self, count: int, deadline: float) -> bytes:
        """Some bytes of standard output; standard error is kept in `stderr`."""
        while not self._out:
            self._patience(deadline)
            piece = self._socket.recv(1 << 18)
            if not piece:
                return b""
            self._raw += piece
            self._unpack()
        found = bytes(self._out[:count])
        del self._out[:count]
        return found

    def _unpack(self) -> None:
        at = 0
        while len(self._raw) - at >= 8:
            size = int.from_bytes(self._raw[at + 4 : at + 8], "big")
            if len(self._raw) - at < 8 + size:
                break
            data = self._raw[at + 8 : at + 8 + size]
            if self._raw[at] == 1:
                self._out += data
            else:
                self.stderr = (self.stderr + data)[-2000:]
            at += 8 + size
        del self._raw[:at]

    def write(self, data: memoryview, deadline: float) -> int:
        """Send some bytes to the agent."""
        self._patience(deadline)
        return self._socket.send(data[: 1 << 18])

    def close(self) -> None:
        """Hang up: the agent ends when nobody listens."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Close the connection with all that docker-py keeps of it; only when nobody uses it any more."""
        for end in (self._kept, self._socket, getattr(self._kept, "_response", None)):
            if end is not None:
                with contextlib.suppress(OSError, ValueError):
                    end.close()


def connect(seconds: int = 30) -> docker.DockerClient:
    """A client for the engine that DOCKER_HOST names, else the local one; raises SandboxUnavailable."""
    try:
        return docker.from_env(timeout=seconds)
    except ENGINE_ERRORS as error:
        hint = NOT_ALLOWED if _holds_refusal(error) else NO_ENGINE
        raise SandboxUnavailable(f"no Docker engine answers ({str(error)[:160]}); {hint}") from None


def _holds_refusal(error: BaseException) -> bool:
    """Whether a PermissionError is behind it: the client's libraries wrap one another's errors."""
    inner = (*error.args, error.__cause__, error.__context__)
    found = (one for one in inner if isinstance(one, BaseException) and one is not error)
    return isinstance(error, PermissionError) or any(map(_holds_refusal, found))


def chosen_runtime() -> str:
    """`AISWE_DOCKER_RUNTIME`: the engine's runtime for sandboxes, for example runsc (gVisor); empty for its default."""
    return os.environ.get("AISWE_DOCKER_RUNTIME", "").strip()


def runtime_problem(known: Mapping[str, Any]) -> str:
    """Why the runtime that was asked for cannot be had; empty when it can."""
    wanted = chosen_runtime()
    if not wanted or wanted in known:
        return ""
    return f"the engine has no runtime {wanted!r} (AISWE_DOCKER_RUNTIME); it has {', '.join(sorted(known)) or 'none'}"


class DockerBackend:
    """Sandboxes in containers of the engine that DOCKER_HOST names, else of the local one."""

    name = "docker"

    def __init__(self, also: Mapping[str, Any] | None = None) -> None:
        """`also` are docker-py's words for a container, over ours: they are there to show that dangerous ones are
        refused.
        """
        self._also = dict(also or {})
        self._lock = threading.Lock()
        self._shared: docker.DockerClient | None = None
        self._filled: set[str] = set()

    def _client(self) -> docker.DockerClient:
        with self._lock:
            if self._shared is None:
                self._shared = connect()
            return self._shared

    def availability(self) -> Availability:
        """Tell whether an engine answers, knows the runtime that was asked for, and has the sandbox image."""
        try:
            client = connect(5)
        except SandboxUnavailable as error:
            problem, _, hint = str(error).rpartition("; ")
            return Availability(False, problem=problem, hint=hint)
        try:
            version = str(client.version().get("Version", ""))
            if problem := runtime_problem(client.info().get("Runtimes") or {}):
                return Availability(False, version, problem, NO_RUNTIME)
            name = image_name()
            user = image_user(client, name)
            if user is None:
                return _without_image(version, name)
            if is_root(user):
                return Availability(False, version, f"the image {name} runs as root", ROOT_IMAGE)
            return Availability(True, version)
        except SandboxUnavailable as error:
            return Availability(False, problem=str(error), hint=NO_IMAGE)
        except ENGINE_ERRORS as error:
            return Availability(False, problem=f"the Docker engine does not answer: {str(error)[:160]}", hint=NO_ENGINE)
        finally:
            client.close()

    def open(self, **wanted: Unpack[SandboxWish]) -> WarmSandbox:
        """Make a fresh container; raises SandboxUnavailable, and SandboxUnsafe before anything of it runs."""
        limits, packages = wanted.get("limits", SandboxLimits()), wanted.get("packages")
        client = self._client()
        name = image_to_use(client)
        container = ""
        try:
            volume = self._packages_volume(client, name, packages) if packages is not None and packages.names else ""
            container = self._create(client, name, limits, wanted.get("label", ""), volume)
            if problems := container_problems(client.api.inspect_container(container), volume):
                raise SandboxUnsafe(f"the container would not hold: {'; '.join(problems)}")
            line = AttachedLine(
                client.api.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            )
            client.api.start(container)
        except SandboxUnsafe:
            _remove(client, container)
            raise
        except docker.errors.ImageNotFound:
            raise SandboxUnavailable(f"the engine has no image {name}; {NO_IMAGE}") from None
        except ENGINE_ERRORS as error:
            if container:
                _remove(client, container)
            raise SandboxUnavailable(f"Docker made no sandbox: {str(error)[:200]}") from None

        def bury() -> None:
            line.close()
            _remove(client, container)

        sandbox = WarmSandbox(
            self.name,
            Channel(line),
            limits,
            kill=bury,
            release=line.release,
            why_dead=lambda: line.stderr.decode(errors="replace")[-300:],
            tag=container,
            run_beside=lambda box, services: running(client, box, services, labels()),
        )
        sandbox.greet(
            {
                "uid": 1000,
                "gid": 1000,
                "env": environment(PYTHON, packages),
                "site": [SITE],
                # All containers have one user: a bomb in one of them would leave the others no process.
                "limits": agent_limits(limits) | {"processes": 0},
            }
        )
        return sandbox

    def _create(self, client: docker.DockerClient, image: str, limits: SandboxLimits, label: str, volume: str) -> str:
        created = client.api.create_container(
            image,
            command=["-I", "-S", "-c", agent_source()],
            entrypoint=[str(PYTHON)],
            stdin_open=True,  # closed with our connection: a container whose worker died ends by itself
            user=self._also.get("user", "1000:1000"),
            environment=self._also.get("environment"),
            hostname="sandbox",
            network_disabled=True,
            labels=labels() | {"aiswe.task": label[:120]},
            host_config=client.api.create_host_config(**self._host_options(limits, volume)),
            name=f"aiswe-{os.getpid()}-{next(_numbers)}-{os.urandom(3).hex()}",
        )
        return str(created["Id"])

    def _host_options(self, limits: SandboxLimits, volume: str) -> dict[str, Any]:
        own = f"uid=1000,gid=1000,nosuid,nodev,nr_inodes={limits.inodes}"
        options: dict[str, Any] = {
            **confined(limits.memory_mb, limits.processes + 2),
            "network_mode": "none",
            "read_only": True,
            "auto_remove": True,
            "nano_cpus": int(limits.cpus * 1_000_000_000),
            "shm_size": 64 * MEGABYTE,
            "log_config": docker.types.LogConfig(type="none"),
            "restart_policy": {"Name": "no"},
            "tmpfs": {
                "/workspace": f"rw,exec,size={limits.disk_mb}m,mode=0755,{own}",
                "/tmp": f"rw,exec,size={max(16, limits.disk_mb // 4)}m,mode=1777,{own}",  # noqa: S108
            },
            "ulimits": [
                docker.types.Ulimit(name="core", soft=0, hard=0),
                docker.types.Ulimit(name="nofile", soft=1024, hard=1024),
            ],
            "binds": {volume: {"bind": PACKAGES_AT, "mode": "ro"}} if volume else None,
            "runtime": chosen_runtime() or None,
        }
        return options | {name: value for name, value in self._also.items() if name not in ("user", "environment")}

    def _packages_volume(self, client: docker.DockerClient, image: str, packages: PackageSet) -> str:
        """A volume that holds the packages, filled once per engine; a bind mount would need the engine to be on this
        host.
        """
        name = f"aiswe-packages-{packages.folder.name}"
        with self._lock:
            if name in self._filled:
                return name
            client.api.create_volume(name, labels={LABEL: "packages"})
            host = client.api.create_host_config(binds={name: {"bind": "/packages", "mode": "rw"}}, network_mode="none")
            helper = client.api.create_container(image, command=["true"], host_config=host, labels=labels())["Id"]
            try:
                try:
                    client.api.get_archive(helper, "/packages/.complete")[0].close()
                except docker.errors.NotFound:
                    put_files(client, helper, "/packages", {".": packages.folder})
                    with tempfile.NamedTemporaryFile() as mark:
                        put_files(client, helper, "/packages", {".complete": Path(mark.name)})
            finally:
                _remove(client, helper)
            self._filled.add(name)
            return name

    def reap(self) -> int:
        """Remove containers and tried images whose worker is dead; return how many.

        Raises SandboxError when no engine answers.
        """
        client = connect(10)
        try:
            found = client.api.containers(all=True, filters={"label": f"{LABEL}=1"})
            gone = sum(_remove(client, str(container["Id"])) for container in found if _orphaned(container))
            for image in client.api.images(all=True, filters={"label": BUILD}):  # of a try that never ended
                if _orphaned(image):
                    with contextlib.suppress(*ENGINE_ERRORS):
                        client.api.remove_image(image["Id"], force=True)
                        gone += 1
            return gone
        except ENGINE_ERRORS as error:
            raise SandboxError(f"cannot look for leftover containers: {str(error)[:160]}") from None
        finally:
            client.close()


def _without_image(version: str, name: str) -> Availability:
    """What the lack of the image means: whether it is being made, and why it was not."""
    build = read_build(name)
    if build is not None and build.state == "building":
        problem = f"the sandbox image is being made ({build.progress})"
        return Availability(False, version, problem, "wait until it is ready", preparing=build.progress)
    if build is not None and build.problem:
        return Availability(False, version, f"the sandbox image was not made: {build.problem}", build.hint or NO_IMAGE)
    return Availability(False, version, f"the engine has no image {name}", NO_IMAGE)


def _orphaned(container: Mapping[str, Any]) -> bool:
    labels = container.get("Labels") or {}
    if labels.get(HOST) == socket.gethostname():
        return not lives(labels.get(OWNER, ""))
    return time.time() - float(container.get("Created", 0)) > LONGEST_SECONDS


def _remove(client: docker.DockerClient, container: str) -> bool:
    """Kill and delete a container; False when it is gone or going already. What stays is found by the reaper."""
    try:
        client.api.remove_container(container, force=True, v=True)
    except ENGINE_ERRORS:
        return False
    return True
