"""What was fetched once stays what it is: versions with their hashes, kept by the product and written into
repositories.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from sandbox.base import PackageRefused, SandboxError

if TYPE_CHECKING:
    from sandbox.package_index.pip import Wheel

HEAD = (
    "# Made by the product from what was fetched; install with: pip install --require-hashes -r requirements.lock.txt\n"
)


@dataclass(frozen=True)
class Lock:
    """The memory of a project: each Python package's version and hashes, and npm's own lock."""

    python: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    npm: str = ""

    def fitting(self, wanted: Sequence[str]) -> dict[str, str]:
        """The locked versions, without those that a requirement now excludes."""
        pins = {name: version for name, (version, _) in self.python.items()}
        for line in wanted:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                continue
            name = canonicalize_name(requirement.name)
            if name in pins and not requirement.specifier.contains(pins[name], prereleases=True):
                del pins[name]
        return pins

    def check(self, wheel: Wheel) -> None:
        """Raise PackageRefused when a version's content is another one than when it was first fetched."""
        version, hashes = self.python.get(wheel.name, ("", ()))
        if version == wheel.version and wheel.sha256 not in hashes:
            raise PackageRefused(wheel.name, f"version {version} is not what it was when this project first fetched it")


def read_lock(file: Path) -> Lock:
    """The lock in a file; an empty one when there is no file; raises SandboxError for a damaged one."""
    try:
        document = json.loads(file.read_text())
        python = {
            str(name): (str(entry["version"]), tuple(map(str, entry["hashes"])))
            for name, entry in document["python"].items()
        }
        return Lock(python, str(document.get("npm", "")))
    except FileNotFoundError:
        return Lock()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SandboxError(
            f"the lock of the project's packages {file} cannot be read ({error}); mend or remove it"
        ) from None


def write_lock(file: Path, lock: Lock) -> None:
    """Write the lock in one step."""
    python = {
        name: {"version": version, "hashes": list(hashes)} for name, (version, hashes) in sorted(lock.python.items())
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(f".{os.getpid()}.new")
    scratch.write_text(json.dumps({"python": python, "npm": lock.npm}, indent=1))
    scratch.replace(file)


def requirements_lock(wheels: Sequence[Wheel]) -> str:
    """The text of a requirements file that pins every wheel, each with the hashes of all wheels of its version."""
    ordered = sorted(wheels, key=lambda one: one.name)
    return HEAD + "".join(_block(wheel.name, wheel.version, wheel.accepted) for wheel in ordered)


def _block(name: str, version: str, hashes: Sequence[str]) -> str:
    shown = " \\\n".join(f"    --hash=sha256:{digest}" for digest in hashes)
    return f"{name}=={version} \\\n{shown}\n"


def learned(known: Lock, locks: Mapping[str, str]) -> Lock:
    """What is known after a fetch: what it brought replaces what was known about the same names."""
    python = dict(known.python) | parse_requirements_lock(locks.get("requirements.lock.txt", ""))
    return Lock(python, locks.get("package-lock.json", "") or known.npm)


def parse_requirements_lock(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Names with version and hashes of a lock that requirements_lock() wrote."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split()
        if words and "==" in words[0]:
            name, _, version = words[0].partition("==")
            hashes = tuple(word.partition("sha256:")[2] for word in words[1:] if word.startswith("--hash=sha256:"))
            found[name] = (version, hashes)
    return found


def joined(earlier: str, newer: str) -> str:
    """One lock of two: where both pin a name, the newer one counts."""
    pins = parse_requirements_lock(earlier) | parse_requirements_lock(newer)
    return HEAD + "".join(_block(name, version, hashes) for name, (version, hashes) in sorted(pins.items()))
