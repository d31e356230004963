"""Fetching wheels with pip, which sees the allowed index and nothing else and never runs what it fetched."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from sandbox.base import PackageRefused, SandboxError
from sandbox.package_index.allowed_index import AllowedIndex
from sandbox.package_index.errors import IndexUnavailable, NoSuchPackage, PackageUnlisted
from sandbox.package_index.proxy import IndexProxy

PYTHON_VERSION = "3.11"
FETCH_SECONDS = 300.0
PIP = [sys.executable, "-m", "pip"]
OPTIONS = ["--isolated", "--quiet", "--no-input", "--disable-pip-version-check"]
OPTIONS += ["--no-cache-dir", "--only-binary", ":all:", "--python-version", PYTHON_VERSION, "--implementation", "cp"]
OPTIONS += ["--retries", "1", "--timeout", "60", "--progress-bar", "off"]


@dataclass(frozen=True)
class Wheel:
    """A wheel on this disk, and the hashes under which its version may be installed (other machines' wheels too)."""

    path: Path
    name: str
    version: str
    sha256: str
    accepted: tuple[str, ...]


def platform_tags() -> list[str]:
    """pip's words for the wheels that run in the image, newest first."""
    machine = platform.machine()
    kinds = ("manylinux_2_36", "manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")
    return [word for kind in kinds for word in ("--platform", f"{kind}_{machine}")]


def download_wheels(
    wanted: Sequence[str], allowed_index: AllowedIndex, scratch: Path, base: Mapping[str, str]
) -> list[Wheel]:
    """The wheels of these requirements with all they need, hashes checked.

    Raises PackageRefused, NoSuchPackage and PackageUnlisted naming the package, and IndexUnavailable.
    """
    target = scratch / "wheels"
    target.mkdir()
    _resolve(["download", "--dest", str(target)], wanted, allowed_index, scratch, base)
    return [_wheel(path, allowed_index) for path in sorted(target.iterdir())]


def unlisted_of(
    wanted: Sequence[str], allowed_index: AllowedIndex, scratch: Path, base: Mapping[str, str]
) -> tuple[str, ...]:
    """All dependencies of these requirements that are on no list, found by their metadata; nothing is unpacked or kept.

    Raises what download_wheels() raises where they do not fit together.
    """
    allowed_index.unlisted = []
    verb = ["install", "--dry-run", "--ignore-installed", "--target", str(scratch / "nothing")]
    _resolve(verb, wanted, allowed_index, scratch, base)
    return tuple(sorted(set(allowed_index.unlisted)))


def _resolve(
    verb: Sequence[str], wanted: Sequence[str], allowed_index: AllowedIndex, scratch: Path, base: Mapping[str, str]
) -> None:
    constraints = scratch / "constraints.txt"
    # Our pins win over what a package would like: the sandbox's own environment is never replaced.
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in base.items()))
    with IndexProxy({"python": allowed_index}) as proxy:
        words = [*PIP, *verb, *OPTIONS, *platform_tags(), "--index-url", proxy.python, "--trusted-host", "127.0.0.1"]
        words += ["--constraint", str(constraints), "--", *wanted]
        # At the first refusal pip would try every older release of everything, which takes minutes and helps nobody.
        done = run_tool(words, scratch, wanted, lambda: bool(allowed_index.troubles))
    if done.returncode:
        raise explained([*allowed_index.troubles, *proxy.troubles], done.stderr, wanted)


def run_tool(
    words: Sequence[str], folder: Path, wanted: Sequence[str], give_up: Callable[[], bool] = lambda: False
) -> subprocess.CompletedProcess[str]:
    """Run an installer in `folder` with an environment of its own: no configuration, no proxy, no secret of this
    process.
    """
    configuration = [folder / ".user", folder / ".global"]  # empty; npm refuses to read one file twice
    for file in configuration:
        file.touch()
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TMPDIR": str(folder),
        "PIP_CONFIG_FILE": os.devnull,
        "NPM_CONFIG_USERCONFIG": str(configuration[0]),
        "NPM_CONFIG_GLOBALCONFIG": str(configuration[1]),
        "no_proxy": "127.0.0.1",
        "NO_PROXY": "127.0.0.1",
    }
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        process = subprocess.Popen(words, text=True, errors="replace", cwd=folder, env=environment, **pipes)
    except OSError as error:
        raise SandboxError(f"cannot fetch {', '.join(wanted)}: {words[0]} does not start: {error.strerror}") from None
    ends = time.monotonic() + FETCH_SECONDS
    with process:
        while True:
            try:
                out, said = process.communicate(timeout=0.5)
                return subprocess.CompletedProcess(words, process.returncode, out, said)
            except subprocess.TimeoutExpired:
                if give_up() or time.monotonic() > ends:
                    process.kill()
                    break
    if give_up():
        return subprocess.CompletedProcess(words, -9, "", "")
    raise IndexUnavailable(f"fetching {', '.join(wanted)} took longer than {FETCH_SECONDS:.0f} s")


def explained(troubles: Sequence[SandboxError], said: str, wanted: Sequence[str]) -> SandboxError:
    """Why an installer failed. A refusal of the allowed index explains it best; an unreachable index comes first."""
    for kind in (IndexUnavailable, PackageUnlisted, NoSuchPackage, PackageRefused):
        for trouble in troubles:
            if isinstance(trouble, kind):
                return trouble
    if troubles:
        return troubles[0]
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR")]
    for line in wanted:
        name = Requirement(line).name
        if f"No matching distribution found for {name}" in said:
            reason = "no such version, or none with a wheel for the sandbox's Python"
            return PackageRefused(canonicalize_name(name), reason)
    return PackageRefused(
        ", ".join(wanted), f"cannot be fetched as wheels: {' '.join(errors)[:300] or said.strip()[-300:]}"
    )


def _wheel(path: Path, allowed_index: AllowedIndex) -> Wheel:
    try:
        name, version = parse_wheel_filename(path.name)[:2]
    except InvalidWheelFilename:
        raise PackageRefused(path.name, "is not a wheel: only wheels are unpacked, nothing is built") from None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    offered = {file.name: file for file in allowed_index.page(name).files}
    told = offered[path.name].hashes.get("sha256") if path.name in offered else None
    if path.name not in offered or (told and told != digest):
        raise PackageRefused(str(name), "is not what the index offered")
    same = {file.hashes.get("sha256", "") for file in offered.values() if file.version == str(version)}
    return Wheel(path, str(name), str(version), digest, tuple(sorted((same | {digest}) - {""})))
