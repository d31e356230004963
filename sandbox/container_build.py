"""Try a Dockerfile on the engine: build it, start the image with few rights, look into it, and remove all of it.

Everything that a try makes carries a label of its own, each layer too: only that is removed, also after a crash.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import docker
import docker.errors
import docker.types
import docker.utils

from sandbox.base import SandboxUnavailable
from sandbox.confinement import MEGABYTE, bounded_log, confined, is_root
from sandbox.container_report import ContainerReport, State
from sandbox.docker import chosen_runtime, connect
from sandbox.dockerfile import Instruction, bases, instructions, stages
from sandbox.images import BUILD, ENGINE_ERRORS, labels, repository_and_tag

BUILD_SECONDS, START_SECONDS, STEADY_SECONDS = 600, 90, 3
BUILD_MEMORY_MB, MEMORY_MB, PROCESSES, CONTEXT_MB, SAVED_MB = 2048, 512, 256, 200, 600
SHOWN_LINES, TEXT_BYTES, ALL_TEXT_BYTES = 40, 64_000, 4_000_000
SURE_CHECKS = 3  # so many health checks must have failed, as is the usual number of an image
_NEEDS_NETWORK = re.compile(
    r"name resolution|could not resolve|temporary failure|no such host|network is unreachable|failed to establish"
    r"|getaddrinfo|EAI_AGAIN|could not connect|no matching distribution|bad address",
    re.IGNORECASE,
)
_NOT_OURS = re.compile(r"(?:^|/)(?:site-packages|dist-packages|node_modules|\.git)/|^(?:usr/(?:lib|share)|var/lib)/")


class _Ended(Exception):
    """The try is over, for what the report says."""

    def __init__(self, state: State, problem: str, output: str = "") -> None:
        super().__init__(problem)
        self.report = ContainerReport(state, problem, output)


def try_container(folder: Path, dockerfile: str) -> ContainerReport:
    """Build the Dockerfile at this path of a folder with the folder as context, and see whether the image works.

    Never raises for what the engine does: without one, or without what it needs, the report says "not built".
    """
    began, client = time.monotonic(), None
    token = os.urandom(8).hex()
    try:
        text = (folder / dockerfile).read_text("utf-8", "replace")
        if os.environ.get("AISWE_CONTAINER_BUILD", "").strip() == "off":
            raise _Ended("not built", "building is switched off (AISWE_CONTAINER_BUILD)")
        _refuse(text)
        client = connect(BUILD_SECONDS)
        _need_bases(client, bases(text))
        image = _build(client, folder, text, token)
        found = _looked_into(client, image, _base_of(text))
        health, output, state, problem = _start(client, image, token)
        found = replace(found, state=state, problem=problem, output=output, health=health)
    except _Ended as end:
        found = end.report
    except SandboxUnavailable as error:
        found = ContainerReport("not built", str(error))
    except ENGINE_ERRORS as error:
        found = ContainerReport("no verdict", f"the engine did not finish: {type(error).__name__}: {str(error)[:200]}")
    finally:
        if client is not None:
            client.close()  # ends a build that still runs
            _remove_all(token)
    return replace(found, seconds=round(time.monotonic() - began, 1))


def _refuse(text: str) -> None:
    """What this engine interface cannot build, or must not."""
    if chosen_runtime():
        raise _Ended("not built", f"build steps cannot use the runtime {chosen_runtime()}")
    for one in instructions(text):
        if one.word == "LABEL" and "aiswe." in one.rest:
            raise _Ended("failed", "labels that begin with aiswe. are the product's own")
        if _wants_buildkit(one):
            raise _Ended("not built", f"line {one.line} needs BuildKit")


def _wants_buildkit(one: Instruction) -> bool:
    flags = re.match(r"(?:--\S+\s+)*", one.rest)
    return one.here or bool(flags and re.search(r"--(?:mount|link|chmod|security|network|parents|exclude)\b", flags[0]))


def _need_bases(client: docker.DockerClient, names: list[str]) -> None:
    mirror = os.environ.get("AISWE_IMAGE_MIRROR", "").strip().rstrip("/")
    for name in names:
        with contextlib.suppress(docker.errors.ImageNotFound):
            client.images.get(name)
            continue
        if not mirror:
            raise _Ended(
                "not built", f"the engine has no image {name[:120]}; pull it, or name a mirror: AISWE_IMAGE_MIRROR"
            )
        repository, tag = repository_and_tag(name)
        try:
            client.images.pull(f"{mirror}/{repository}", tag=tag)
        except docker.errors.APIError as error:
            said = str(error.explanation or error)[:160]
            raise _Ended("not built", f"{mirror} gave no image {name[:120]}: {said}") from None
        client.api.tag(f"{mirror}/{repository}:{tag}", repository, tag)


def _labelled(text: str, token: str) -> str:
    """The Dockerfile with our label first in each stage, so that every layer and every step's container has it."""
    lines, own = text.splitlines(), " ".join(f"{key}={value}" for key, value in (labels() | {BUILD: token}).items())
    found = stages(text)
    ends = [stage.line for stage in found[1:]] + [len(lines) + 1]
    for stage, end in reversed(list(zip(found, ends, strict=True))):
        lines.insert((stage.instructions[0].line if stage.instructions else end) - 1, f"LABEL {own}")
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def _context(folder: Path, text: str, token: str) -> Iterator[tuple[IO[bytes], str]]:
    ignored, name = [".git"], f".dockerfile.{token}"
    if (file := folder / ".dockerignore").is_file() and not file.is_symlink():
        ignored = [line for row in file.read_text(errors="replace").splitlines() if (line := row.strip())] + ignored
    packed = cast(Any, docker.utils.tar)(str(folder), exclude=ignored, dockerfile=(name, _labelled(text, token)))
    with packed as archive:
        size = os.fstat(archive.fileno()).st_size
        if size > CONTEXT_MB * MEGABYTE:
            what = f"the build context has {size / 1e6:.0f} MB; list in .dockerignore what the image does not need"
            raise _Ended("failed", what)
        yield archive, name


def _build(client: docker.DockerClient, folder: Path, text: str, token: str) -> str:
    network, end = os.environ.get("AISWE_BUILD_NETWORK", "").strip() or "none", time.monotonic() + BUILD_SECONDS
    if network == "host" or network.startswith("container:"):
        raise _Ended("not built", f"AISWE_BUILD_NETWORK must not be {network}: build steps are not trusted")
    limits: Any = {"memory": BUILD_MEMORY_MB * MEGABYTE, "memswap": BUILD_MEMORY_MB * MEGABYTE}
    lines, image = list[str](), ""
    with _context(folder, text, token) as (archive, name):
        for entry in client.api.build(
            fileobj=archive,
            custom_context=True,
            dockerfile=name,
            network_mode=network,
            container_limits=limits,
            rm=True,
            forcerm=True,
            decode=True,
        ):
            if time.monotonic() > end:
                raise _Ended("no verdict", f"the build did not end within {BUILD_SECONDS} s")
            lines = [*lines, *str(entry.get("stream") or entry.get("error") or "").splitlines()][-SHOWN_LINES:]
            image = (entry.get("aux") or {}).get("ID") or image
            if "error" in entry:
                output = "\n".join(line for line in lines if line.strip())
                if network == "none" and _NEEDS_NETWORK.search(output):
                    raise _Ended("not built", "a step needs the network; see AISWE_BUILD_NETWORK", output)
                raise _Ended("failed", f"the build failed: {str(entry['error'])[:300]}", output)
    if not image:
        raise _Ended("no verdict", "the engine names no image")
    return str(image)


def _base_of(text: str) -> str:
    """The image that the last stage starts from; "" for one of nothing."""
    found = stages(text)
    base, names = found[-1].base, {stage.name: stage.base for stage in found if stage.name}
    for _ in found:
        base = names.get(base.lower(), base)
    return "" if base == "scratch" else base


def _looked_into(client: docker.DockerClient, image: str, base: str) -> ContainerReport:
    api = cast(Any, client.api)  # docker-py gives images no types
    told, below = api.inspect_image(image), api.inspect_image(base) if base else {}
    config, base_layers = told.get("Config") or {}, len((below.get("RootFS") or {}).get("Layers") or ())
    known = {*((below.get("Config") or {}).get("Env") or ()), *_history(api, base)}
    texts = [("environment", row) for row in config.get("Env") or () if row not in known]
    texts += [("history", row) for row in _history(api, image) if row not in known]
    packages = set[str]()
    if told.get("Size", 0) <= SAVED_MB * MEGABYTE:
        with tempfile.TemporaryFile() as saved:
            for piece in client.api.get_image(image):
                saved.write(piece)
            saved.seek(0)
            packages, files = _in_layers(saved, base_layers)
            texts += files
    return ContainerReport(
        "ok",
        user=str(config.get("User") or "root"),
        ports=tuple(sorted(config.get("ExposedPorts") or ())),
        packages=tuple(sorted(packages)),
        size_mb=round(told.get("Size", 0) / MEGABYTE),
        texts=tuple(texts),
    )


def _history(api: Any, image: str) -> list[str]:
    return [str(row.get("CreatedBy", "")) for row in api.history(image)] if image else []


def _in_layers(saved: IO[bytes], base_layers: int) -> tuple[set[str], list[tuple[str, str]]]:
    """Packages of all layers, and small texts of those above the base, also of files that a later layer removes."""
    packages, texts, left = set[str](), list[tuple[str, str]](), ALL_TEXT_BYTES
    with tarfile.open(fileobj=saved) as archive:
        listed = archive.extractfile("manifest.json")
        layers = json.load(listed)[0]["Layers"] if listed else []
        for number, layer in enumerate(layers):
            with tarfile.open(fileobj=archive.extractfile(layer)) as files:
                for entry in files:
                    if named := re.search(r"([\w.]+)-([\w.+!]+)\.dist-info/METADATA$", entry.name):
                        packages.add(f"{named[1]} {named[2]}")
                    if not entry.isreg() or entry.size > (
                        20 * MEGABYTE if entry.name.endswith("dpkg/status") else TEXT_BYTES
                    ):
                        continue
                    if entry.name.endswith(("lib/dpkg/status", "lib/apk/db/installed")):
                        packages |= _installed(
                            cast(IO[bytes], files.extractfile(entry)).read().decode(errors="replace")
                        )
                    elif number >= base_layers and left > 0 and not _NOT_OURS.search(entry.name):
                        data = cast(IO[bytes], files.extractfile(entry)).read()
                        left -= len(data)
                        if b"\0" not in data:
                            texts.append((entry.name[:200], data.decode(errors="replace")))
    return packages, texts


def _installed(status: str) -> set[str]:
    """Names and versions in the databases of dpkg and apk."""
    return {
        f"{name[1]} {version[1] if version else ''}".strip()
        for row in status.split("\n\n")
        if (name := re.search(r"^(?:Package|P):\s*(\S+)", row, re.MULTILINE))
        for version in [re.search(r"^(?:Version|V):\s*(\S+)", row, re.MULTILINE)]
    }


def _start(client: docker.DockerClient, image: str, token: str) -> tuple[str, str, State, str]:
    """Start it without network or rights; returns health, output, state and problem."""
    config = cast(Any, client.api).inspect_image(image).get("Config") or {}
    if is_root(str(config.get("User") or "")):
        return "", "", "failed", "the image runs as root, so it was not started"
    health = config.get("Healthcheck") or {}
    checks = health.get("Test") if (health.get("Test") or ["NONE"])[0] != "NONE" else None
    host = client.api.create_host_config(
        **confined(MEMORY_MB, PROCESSES),
        network_mode="none",
        nano_cpus=1_000_000_000,
        ulimits=[docker.types.Ulimit(name="fsize", soft=200 * MEGABYTE, hard=200 * MEGABYTE)],
        log_config=bounded_log(),
        restart_policy={"Name": "no"},
    )
    # Asked each second and never given up: the deadline is ours, not one that was chosen for production.
    second = 1_000_000_000
    asked = docker.types.Healthcheck(
        test=checks, interval=second, timeout=health.get("Timeout") or 10 * second, retries=10 * START_SECONDS
    )
    container = client.api.create_container(
        image, labels=labels() | {BUILD: token}, host_config=host, healthcheck=asked if checks else None
    )["Id"]
    client.api.start(container)
    end = time.monotonic() + (START_SECONDS if checks else STEADY_SECONDS)
    while True:
        state = client.api.inspect_container(container)["State"]
        now = state.get("Health") or {}
        if now.get("Status") == "healthy":
            return "healthy", "", "ok", ""
        if not state["Running"] or time.monotonic() > end:
            said = client.api.logs(container, tail=SHOWN_LINES).decode(errors="replace")[-4000:]
            return _judged(state, now, said, checks=bool(checks))
        time.sleep(0.3)


def _judged(
    state: Mapping[str, Any], health: Mapping[str, Any], said: str, *, checks: bool
) -> tuple[str, str, State, str]:
    if not state["Running"]:
        code = state.get("ExitCode")
        if code == 0 and not checks:
            return "ended with exit code 0", said, "ok", ""
        why = "ran out of memory" if state.get("OOMKilled") else f"ended with exit code {code}"
        return "", said, "failed", f"the container {why}"
    if not checks:
        return f"ran for {STEADY_SECONDS} s; it has no health check", said, "ok", ""
    last = (health.get("Log") or [{}])[-1]
    if health.get("FailingStreak", 0) >= SURE_CHECKS and not _busy():
        output = "\n".join([str(last.get("Output", ""))[-1000:], said]).strip()
        return "", output, "failed", f"its health check failed for {START_SECONDS} s"
    return (
        "",
        said,
        "no verdict",
        f"it was not healthy within {START_SECONDS} s, and the machine is too busy to tell why",
    )


def _busy() -> bool:
    return os.getloadavg()[0] > 2 * (os.cpu_count() or 1)


def _remove_all(token: str) -> None:
    """Remove the containers and images of a try; what stays is the reaper's."""
    with contextlib.suppress(SandboxUnavailable, *ENGINE_ERRORS):
        client = connect(60)
        try:
            remove_labelled(client, {"label": f"{BUILD}={token}"})
        finally:
            client.close()


def remove_labelled(client: docker.DockerClient, filters: dict[str, Any]) -> int:
    """Remove containers, then images, that a label names; returns how many there were."""
    gone = 0
    for container in client.api.containers(all=True, filters=filters):
        with contextlib.suppress(*ENGINE_ERRORS):
            client.api.remove_container(container["Id"], force=True, v=True)
            gone += 1
    while True:  # a layer can only be removed after those that are made from it
        before = gone
        for image in client.api.images(all=True, filters=filters):
            with contextlib.suppress(*ENGINE_ERRORS):
                client.api.remove_image(image["Id"], force=True)
                gone += 1
        if gone == before:
            return gone
