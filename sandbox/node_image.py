"""The Docker image for Node: that for Python (the agent inside is in Python) with packages and a recent Node."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import docker
import docker.errors

from sandbox.base import SandboxUnavailable

MODULES_AT = "/node_modules"
WANTED = 20
CHECK_SECONDS = 60


def add_node(client: docker.DockerClient, base: str, name: str, modules: Path, say: Callable[[str], None]) -> None:
    """Commit `name`: `base` with `modules`, and this machine's Node where that of the base is too old and ours runs
    there.

    Raises SandboxUnavailable when the engine refuses.
    """
    own = _own_node() if _version_in(client, base) < WANTED else None
    try:
        _commit(client, base, name, modules, own)
        found = _version_in(client, name)
        if own is not None and found < WANTED:
            say("this machine's Node does not run in the image; its own is kept")
            _commit(client, base, name, modules, None)
            found = _version_in(client, name)
    except docker.errors.DockerException as error:
        raise SandboxUnavailable(f"the Node image could not be made: {str(error)[:300]}") from None
    say(
        f"Node {found} inside"
        + ("" if found >= WANTED else f"; {WANTED} is required, and no newer version is available")
    )


def _own_node() -> Path | None:
    """This machine's Node, when it is recent enough and one file."""
    found = shutil.which("node")
    if found is None:
        return None
    try:
        answer = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(found).resolve() if _major(answer) >= WANTED else None


def _major(answer: str) -> int:
    found = re.match(r"v(\d+)\.", answer.strip())
    return int(found[1]) if found else 0


def _version_in(client: docker.DockerClient, image: str) -> int:
    """The major version of the image's Node; 0 when it has none that runs."""
    container = client.api.create_container(
        image,
        command=["--version"],
        entrypoint=["node"],
        network_disabled=True,
        host_config=client.api.create_host_config(network_mode="none", cap_drop=["ALL"], read_only=True),
    )["Id"]
    try:
        client.api.start(container)
        client.api.wait(container, timeout=CHECK_SECONDS)
        return _major(client.api.logs(container).decode(errors="replace"))
    except docker.errors.APIError:
        return 0
    finally:
        client.api.remove_container(container, force=True)


def _commit(client: docker.DockerClient, base: str, name: str, modules: Path, node: Path | None) -> None:
    container = client.api.create_container(base, command=["true"], network_disabled=True)["Id"]
    try:
        with tempfile.TemporaryFile() as archive:
            with tarfile.open(fileobj=archive, mode="w") as tar:
                tar.add(modules, arcname=MODULES_AT.lstrip("/"), filter=_as_root)
                if node is not None:
                    tar.add(node, arcname="usr/local/bin/node", filter=_as_root)
            archive.seek(0)
            client.api.put_archive(container, "/", archive)
        repository, _, tag = name.partition(":")
        client.api.commit(container, repository=repository, tag=tag)
    finally:
        client.api.remove_container(container, force=True)


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode = (entry.mode | (0o555 if entry.isdir() else 0o444)) & 0o755
    return entry
