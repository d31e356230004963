"""Case 11: a sandbox that is configured to be escaped from is refused before any code gets into it.

Each bad thing is really asked for, once where its configuration is read, and once more with that reading switched off:
then the probe inside must notice.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from sandbox import bubblewrap, docker, registry
from sandbox.base import Backend, Sandbox, SandboxUnavailable, SandboxUnsafe
from sandbox.bubblewrap import BubblewrapBackend
from sandbox.docker import DockerBackend
from sandbox.expected_state import container_problems, load_expected_state, strange_mounts
from sandbox.selftest import refuse_unsafe
from tests.needs import missing
from tests.sandbox.fake_backend import FakeBackend
from tests.tables import each_row

SOCKET = "/var/run/docker.sock"
VOLUME = "aiswe-test-case-11"
# What docker-py is asked for beside ours, and the words of the refusal.
CONTAINERS: dict[str, tuple[dict[str, Any], str]] = {
    "privileged": ({"privileged": True}, "it is privileged"),
    "the host's process ids": ({"pid_mode": "host"}, "it shares process ids"),
    "the host's network": ({"network_mode": "host"}, "it has a network"),
    "a bridge": ({"network_mode": "bridge"}, "it has a network"),
    "the host's shared memory": ({"ipc_mode": "host"}, "it shares memory"),
    "a capability": ({"cap_add": ["SYS_ADMIN"]}, "extra capabilities"),
    "the usual capabilities": ({"cap_drop": []}, "it keeps capabilities"),
    "a leftover secret": (
        {"environment": {"AWS_SECRET_ACCESS_KEY": "x"}},
        "its environment holds AWS_SECRET_ACCESS_KEY",
    ),
    "root": ({"user": "0"}, "it runs as root"),
    "new privileges": ({"security_opt": []}, "it may gain privileges"),
    "no system call filter": (
        {"security_opt": ["no-new-privileges:true", "seccomp=unconfined"]},
        "protection switched off",
    ),
    "a writable root": ({"read_only": False}, "its root can be written"),
    "a disk": ({"devices": ["/dev/null:/dev/vda:r"]}, "it has devices"),
    "a group of the host": ({"group_add": ["0"]}, "extra groups"),
    "no limit of memory": ({"mem_limit": 0, "memswap_limit": 0}, "no limit of memory"),
    "no limit of processes": ({"pids_limit": 0}, "no limit of processes"),
    "a volume that stays": ({"binds": {VOLUME: {"bind": "/kept", "mode": "rw"}}}, "a volume is inside"),
}


@pytest.fixture
def engine(docker_engine: str) -> Iterator[str]:
    """The address of a Docker engine; the volume that a test may have asked for is removed."""
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    yield docker_engine
    client = docker.connect()
    try:
        with contextlib.suppress(APIError):  # most tests ask for none
            client.api.remove_volume(VOLUME)
    finally:
        client.close()


@pytest.mark.docker
@each_row(("asked", "words"), CONTAINERS.values(), ids=CONTAINERS)
def test_a_dangerous_container_is_removed_before_it_starts(engine: str, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(SandboxUnsafe, match=words):
        DockerBackend(asked).open(label="case 11")
    client = docker.connect()
    try:
        left = client.api.containers(all=True, filters={"label": "aiswe.task=case 11"})
    finally:
        client.close()
    assert left == []


@pytest.mark.docker
@pytest.mark.parametrize("mode", ["rw", "ro"])
def test_a_folder_of_the_host_is_refused_readable_or_writable(engine: str, tmp_path: Path, mode: str) -> None:
    with pytest.raises(SandboxUnsafe, match="a folder of the host is inside"):
        DockerBackend({"binds": [f"{tmp_path}:/host:{mode}"]}).open()


@pytest.mark.docker
def test_the_engines_own_socket_is_refused(engine: str) -> None:
    where = engine.removeprefix("unix://") or SOCKET
    with pytest.raises(SandboxUnsafe, match="the engine's socket is inside"):
        DockerBackend({"binds": [f"{where}:{SOCKET}"]}).open()


INSIDE: dict[str, tuple[dict[str, Any], str]] = {
    "privileged": ({"privileged": True}, "devices are the harmless ones"),
    "a capability": ({"cap_add": ["SYS_ADMIN"]}, "no capabilities: 0x200000"),
    "the host's shared memory": ({"ipc_mode": "host"}, "namespaces are its own: ipc"),
    "a writable root": ({"read_only": False}, "mounts are the expected ones"),
    "a disk": ({"devices": ["/dev/null:/dev/vda:r"]}, "devices are the harmless ones: vda"),
    "no system call filter": ({"security_opt": ["seccomp=unconfined"]}, "system calls are filtered"),
    "a volume that stays": (
        {"binds": {VOLUME: {"bind": "/kept", "mode": "rw"}}},
        r"mounts are the expected ones: /kept",
    ),
}


@pytest.mark.docker
@each_row(("asked", "words"), INSIDE.values(), ids=INSIDE)
def test_the_probe_sees_from_inside_what_the_engine_did_not_tell(
    engine: str, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr(docker, "container_problems", lambda about, volume="": [])
    with pytest.raises(SandboxUnsafe, match=words):
        refuse_unsafe(DockerBackend(asked))


@pytest.mark.docker
def test_a_mounted_engine_socket_is_seen_from_inside(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker, "container_problems", lambda about, volume="": [])
    where = engine.removeprefix("unix://") or SOCKET
    with pytest.raises(SandboxUnsafe, match="no engine socket"):
        refuse_unsafe(DockerBackend({"binds": [f"{where}:{SOCKET}"]}))


@pytest.mark.docker
def test_the_agent_does_not_work_among_the_processes_of_the_host(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker, "container_problems", lambda about, volume="": [])
    with pytest.raises(SandboxUnavailable, match="process 1 of its own namespace"):
        refuse_unsafe(DockerBackend({"pid_mode": "host"}))


LINES: dict[str, tuple[list[str], str]] = {
    "the host's network": (["--share-net"], "--share-net is not allowed"),
    "a variable": (["--setenv", "AWS_SECRET_ACCESS_KEY", "x"], "--setenv is not allowed"),
    "a writable folder": (["--bind", "/home", "/host"], "--bind is not allowed"),
    "devices": (["--dev-bind", "/dev", "/dev"], "--dev-bind is not allowed"),
    "a capability": (["--cap-add", "CAP_SYS_ADMIN"], "capabilities are kept: CAP_SYS_ADMIN"),
}


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("asked", "words"), LINES.values(), ids=LINES)
def test_a_dangerous_bubblewrap_line_is_never_started(asked: list[str], words: str) -> None:
    with pytest.raises(SandboxUnsafe, match=words):
        BubblewrapBackend(asked).open()


SEEN: dict[str, tuple[list[str], str]] = {
    "a writable folder": (["--bind", "/home", "/host"], r"mounts are the expected ones: /host \(\w+, writable\)"),
    "a readable folder": (["--ro-bind", "/home", "/host"], r"mounts are the expected ones: /host"),
    "more memory to write to": (["--tmpfs", "/var"], r"mounts are the expected ones: /var"),
    "the host's network": (["--share-net"], "namespaces are its own: net"),
}


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("asked", "words"), SEEN.values(), ids=SEEN)
def test_the_probe_sees_from_inside_what_the_line_did_not_tell(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], words: str
) -> None:
    if asked == ["--share-net"] and os.geteuid():
        missing("only root's sandboxes name each namespace, so only there one can be shared")
    monkeypatch.setattr(bubblewrap, "line_problems", lambda *words, **more: [])
    if asked == ["--share-net"]:
        kept = bubblewrap.namespaces
        monkeypatch.setattr(bubblewrap, "namespaces", lambda: [word for word in kept() if word != "--unshare-net"])
        asked = []
    with pytest.raises(SandboxUnsafe, match=words):
        refuse_unsafe(BubblewrapBackend(asked))


@pytest.mark.bubblewrap
def test_a_mounted_socket_of_the_host_is_seen_from_inside(tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "docker.sock"))
        assert stat.S_ISSOCK((tmp_path / "docker.sock").stat().st_mode)
        with pytest.raises(SandboxUnsafe, match=r"mounts are the expected ones: /run/docker\.sock"):
            refuse_unsafe(BubblewrapBackend(["--ro-bind", str(tmp_path / "docker.sock"), "/run/docker.sock"]))


def test_the_real_sandbox_looks_like_the_expected_state(backend: Backend) -> None:
    refuse_unsafe(backend)


class Leaky(FakeBackend):
    """A backend whose sandbox cannot show what it is."""

    name = "bubblewrap"


def test_a_backend_that_does_not_hold_is_not_opened_and_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load_backend", lambda name: Leaky())
    for name in ("bubblewrap", "auto"):
        with pytest.raises(SandboxUnsafe, match="aiswe sandbox selftest"):
            registry.open_backend(name)


def test_a_sandbox_is_looked_at_once_for_many_tasks(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Sandbox] = []

    def counted(self: Backend, **more: Any) -> Sandbox:
        opened.append(original(self, **more))
        return opened[-1]

    original = type(backend).open
    monkeypatch.setattr(type(backend), "open", counted)
    monkeypatch.setattr(registry, "_held", set())
    for _ in range(3):
        registry.open_backend(backend.name)
    assert len(opened) == 1


def test_what_is_not_on_the_list_is_strange() -> None:
    mount = {"place": "/workspace", "kind": "ext4", "writable": True}
    assert strange_mounts("docker", [mount]) == ["/workspace (ext4, writable)"]
    assert strange_mounts("docker", [{"place": "/etc/hosts", "kind": "ext4", "writable": False}]) == []
    assert strange_mounts("bubblewrap", [{"place": "/", "kind": "ext4", "writable": False}]) != []
    assert "DOCKER_HOST" not in load_expected_state("docker").environment


def test_a_container_about_which_nothing_is_said_is_not_trusted() -> None:
    assert len(container_problems({"HostConfig": {}, "Config": {}})) >= 8
