"""The images of Docker sandboxes, one per ecosystem: their names, and the ways to get them.

An image is pulled or loaded when an administrator names one, else built: from a registry's base image, or from Debian
packages where no registry answers. The tag is a hash of all that it is made from, so an outdated one is never used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import socket
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import docker
import docker.errors
import requests
import urllib3.exceptions
from docker.utils import parse_repository_tag

from sandbox.base import Ecosystem, SandboxUnavailable
from sandbox.contained import ImageNotMade, not_made
from sandbox.debian import Say, make_root, missing_for_packages, put_node
from sandbox.node_env import PACKAGE_JSON, PACKAGE_LOCK, install
from sandbox.owners import me
from sandbox.scratch import scratch_folder

HERE = Path(__file__).resolve().parent
DOCKERFILE = HERE / "image" / "Dockerfile"
VARIABLES: dict[Ecosystem, str] = {"python": "AISWE_SANDBOX_IMAGE", "node": "AISWE_SANDBOX_IMAGE_NODE"}
FILE = "AISWE_SANDBOX_IMAGE_FILE"
LOCKS = HERE.parent / "requirements"
LOCK, READERS_LOCK = LOCKS / "sandbox.lock.txt", LOCKS / "readers.lock.txt"
RECIPE = 2  # raise it when what is built here changes
LABEL, OWNER, HOST = "aiswe.sandbox", "aiswe.owner", "aiswe.host"
BUILD = "aiswe.build"  # on images and containers of one try of a Dockerfile; an image that is kept never has it
MODULES_AT, NODE_WANTED, NODE_SECONDS = "/node_modules", 20, 60
ENGINE_ERRORS = (
    *(docker.errors.DockerException, requests.RequestException, urllib3.exceptions.HTTPError, OSError),
    *(ValueError, KeyError, TypeError, AttributeError),  # docker-py meets an answer that no engine gives
)


def silent(step: str, percent: float, line: str = "") -> None:
    """Report no progress."""


def image_name(ecosystem: Ecosystem = "python") -> str:
    """`AISWE_SANDBOX_IMAGE` (for Node `AISWE_SANDBOX_IMAGE_NODE`) if set, else ours for this recipe and processor."""
    chosen = os.environ.get(VARIABLES[ecosystem])
    if chosen:
        return chosen
    recipe = hashlib.sha256(f"{RECIPE} {platform.machine()}".encode())
    parts = (DOCKERFILE, LOCK, READERS_LOCK)
    for part in parts if ecosystem == "python" else (*parts, PACKAGE_JSON, PACKAGE_LOCK):
        if not part.is_file():
            raise SandboxUnavailable(
                f"{part} is missing: the sandbox image is made from it; set {VARIABLES[ecosystem]} instead"
            )
        recipe.update(part.read_bytes())
    name = "aiswe-sandbox" if ecosystem == "python" else f"aiswe-sandbox-{ecosystem}"
    return f"{name}:{recipe.hexdigest()[:16]}"


def image_user(client: docker.DockerClient, name: str) -> str | None:
    """The user that the image runs as, empty for root; None when the engine does not have the image."""
    try:
        return str(client.images.get(name).attrs["Config"].get("User") or "")
    except docker.errors.ImageNotFound:
        return None


def image_present(client: docker.DockerClient, name: str | None = None) -> bool:
    """Whether the engine has the image."""
    return image_user(client, name or image_name()) is not None


def image_to_use(client: docker.DockerClient) -> str:
    """The image with the tools for Node where the engine has it, which holds all that the other has; else the other.

    An image that a person chose for Python is used as it is, unless one for Node was chosen too.
    """
    if os.environ.get(VARIABLES["node"]) or not os.environ.get(VARIABLES["python"]):
        with contextlib.suppress(SandboxUnavailable, *ENGINE_ERRORS):
            if image_present(client, name := image_name("node")):
                return name
    return image_name()


def repository_and_tag(name: str) -> tuple[str, str]:
    """The parts of an image's name as the engine pulls it: a tag, else a digest, else "latest"."""
    repository, tag = parse_repository_tag(name)
    return repository, tag or "latest"


def labels() -> dict[str, str]:
    """By these a container is known as one of this process, and removed when it has died."""
    return {LABEL: "1", OWNER: me(), HOST: socket.gethostname()}


def build_image(client: docker.DockerClient, say: Say = silent) -> str:
    """Get the image unless it is there, and return its name.

    Raises ImageNotMade with the cause, SandboxError when a folder cannot be made or removed, and OSError.
    """
    name = image_name()
    try:
        if image_present(client, name):
            return name
        if file := os.environ.get(FILE, "").strip():
            _load(client, name, Path(file), say)
        elif os.environ.get(VARIABLES["python"]):
            _pull(client, name, say)
        else:
            _build(client, name, say)
        if not image_present(client, name):
            raise ImageNotMade(f"the engine does not have {name} after all")
    except ENGINE_ERRORS as error:
        if isinstance(error, OSError) and not isinstance(error, requests.RequestException | ConnectionError):
            raise  # of this machine's files
        said = f"the Docker engine did not finish it: {type(error).__name__}: {error}"
        raise ImageNotMade(said[:400], "see whether the engine runs: docker info") from None
    return name


def _pull(client: docker.DockerClient, name: str, say: Say) -> None:
    repository, tag = repository_and_tag(name)
    failing, hint = f"{name} could not be pulled", f"check the name and the network, or load it from a file: {FILE}"
    layers: dict[str, tuple[int, int]] = {}
    try:
        for entry in client.api.pull(repository, tag=tag, stream=True, decode=True):
            if "error" in entry:
                raise ImageNotMade(f"{failing}: {str(entry['error'])[:300]}", hint)
            detail = entry.get("progressDetail") or {}
            if detail.get("total"):
                layers[str(entry.get("id"))] = (int(detail.get("current", 0)), int(detail["total"]))
            got, all_of_it = (sum(pair[part] for pair in layers.values()) for part in (0, 1))
            amount = f"{got / 1e6:.0f} of {all_of_it / 1e6:.0f} MB" if all_of_it else ""
            say("pulling the image", 95 * got / all_of_it if all_of_it else 1, amount)
    except docker.errors.APIError as error:
        raise ImageNotMade(f"{failing}: {str(error.explanation or error)[:300]}", hint) from None


def _load(client: docker.DockerClient, name: str, file: Path, say: Say) -> None:
    failing = f"{file} ({FILE}) could not be loaded"
    try:
        with file.open("rb") as archive:
            load = cast(Callable[..., Iterable[dict[str, Any]]], client.api.load_image)  # docker-py gives it no types
            trouble = [
                entry["error"] for entry in load(_counted(archive, "loading the image", 95, say)) if "error" in entry
            ]
    except FileNotFoundError:
        raise ImageNotMade(f"{failing}: there is no such file", "write it with: docker save") from None
    except docker.errors.APIError as error:
        trouble = [str(error.explanation or error)]
    if trouble:
        raise ImageNotMade(f"{failing}: {trouble[0][:300]}", "write it again with: docker save")
    if not image_present(client, name):
        raise ImageNotMade(
            f"{failing}: it does not hold {name}", f"name the image that it holds: {VARIABLES['python']}"
        )


def _counted(file: IO[bytes], step: str, most: float, say: Say, least: float = 0) -> Iterator[bytes]:
    """The bytes of a file as they are read, with how far that is."""
    size, done = max(1, os.fstat(file.fileno()).st_size), 0
    while piece := file.read(1 << 20):
        done += len(piece)
        say(step, least + (most - least) * done / size, f"{done / 1e6:.0f} of {size / 1e6:.0f} MB")
        yield piece


def _build(client: docker.DockerClient, name: str, say: Say) -> None:
    refusal = _build_from_registry(client, name, say)
    if refusal is None:
        return
    if (lack := missing_for_packages()) is not None:
        raise ImageNotMade(f"no base image could be used ({refusal}), and {lack}", lack.hint)
    with scratch_folder() as scratch:
        archive = make_root(scratch, (LOCK, READERS_LOCK), say)
        repository, _, tag = name.partition(":")
        path = "ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8"
        changes = ["USER 1000:1000", "WORKDIR /workspace", path]
        with archive.open("rb") as file:
            pieces = _counted(file, "handing the image to the engine", 96, say, 86)
            said = client.api.import_image_from_stream(pieces, repository=repository, tag=tag, changes=changes)
    if '"error"' in str(said):
        raise not_made("the engine did not import the image", str(said).splitlines())


def _build_from_registry(client: docker.DockerClient, name: str, say: Say) -> str | None:
    """Build from the Dockerfile; returns why it did not come about."""
    say("building from a registry's base image", 1, "")
    try:
        with scratch_folder() as context:
            shutil.copy(DOCKERFILE, context)
            (context / "requirements").mkdir()
            for lock in (LOCK, READERS_LOCK):
                shutil.copy(lock, context / "requirements")
            return _followed(client.api.build(path=str(context), tag=name, rm=True, forcerm=True, decode=True), say)
    except docker.errors.APIError as error:
        return str(error.explanation or error)[:200]


def _followed(output: Iterable[Mapping[str, Any]], say: Say) -> str | None:
    lines, percent = list[str](), 1.0
    for entry in output:
        if "error" in entry:
            return str(not_made("docker build failed", [*lines, str(entry["error"])]))[:300]
        if text := str(entry.get("stream") or entry.get("status") or "").strip():
            lines = [*lines[-40:], text]
            if step := re.match(r"Step (\d+)/(\d+)", text):
                percent = 95 * (int(step[1]) - 1) / int(step[2])
            say("building from a registry's base image", percent, text.splitlines()[-1])
    return None


def build_node_image(client: docker.DockerClient, say: Say = silent, modules: Path | None = None) -> str:
    """Make the image for Node unless it is there, and return its name; raises SandboxUnavailable with what went wrong.

    `modules` are the packages to put in; the locked ones are fetched by default.
    """
    name = image_name("node")
    if image_present(client, name):
        return name
    base = build_image(client, say)
    with scratch_folder() as scratch:
        if modules is None:
            say("fetching packages for Node", 10, "")
            modules = install(scratch / "node_modules")
        say("adding the packages for Node", 60, "")
        try:
            own = None
            if node_version(client, base) < NODE_WANTED:  # an image of somebody else's
                put_node(own := scratch / "node", scratch)
            _commit(client, base, name, modules, own)
        except docker.errors.DockerException as error:
            raise ImageNotMade(f"the Node image could not be made: {str(error)[:300]}") from None
    return name


def _major(answer: str) -> int:
    found = re.match(r"v(\d+)\.", answer.strip())
    return int(found[1]) if found else 0


def node_version(client: docker.DockerClient, image: str) -> int:
    """The major version of the image's Node; 0 when it has none that runs."""
    container = client.api.create_container(
        image,
        command=["--version"],
        entrypoint=["node"],
        network_disabled=True,
        labels=labels(),
        host_config=client.api.create_host_config(network_mode="none", cap_drop=["ALL"], read_only=True),
    )["Id"]
    try:
        client.api.start(container)
        client.api.wait(container, timeout=NODE_SECONDS)
        return _major(client.api.logs(container).decode(errors="replace"))
    except docker.errors.APIError:
        return 0
    finally:
        client.api.remove_container(container, force=True)


def _commit(client: docker.DockerClient, base: str, name: str, modules: Path, node: Path | None) -> None:
    container = client.api.create_container(base, command=["true"], network_disabled=True, labels=labels())["Id"]
    try:
        put_files(
            client, container, "/", {MODULES_AT.lstrip("/"): modules} | ({"usr/local/bin/node": node} if node else {})
        )
        repository, _, tag = name.partition(":")
        client.api.commit(container, repository=repository, tag=tag)
    finally:
        client.api.remove_container(container, force=True)


def put_files(client: docker.DockerClient, container: str, folder: str, files: Mapping[str, Path]) -> None:
    """Copy files and folders into a container below `folder`, by their place there; all belong to root."""
    with tempfile.TemporaryFile() as archive:
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for place, path in files.items():
                tar.add(path, arcname=place, filter=_as_root)
        archive.seek(0)
        client.api.put_archive(container, folder, archive)


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode = (entry.mode | (0o555 if entry.isdir() else 0o444)) & 0o755
    return entry
