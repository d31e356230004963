"""The licences of everything that is installed with the product.

`check` fails when a locked package has a licence that requirements/licences.toml does not allow, or none that can be
read. `notices FILE` writes the third-party notices: each package with its version, its licence and the texts it ships.
`bill FILE` writes the bill of materials in CycloneDX: the same packages, and what lies in static/vendor.
Environments are read from their metadata, so nothing is imported or started. uv only installs and is not part of it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agents.gates.bill import BillEntry, bill_of_materials
from sandbox.package_index.licences import accepted, stated_licence

ROOT = Path(__file__).resolve().parent.parent
# Lock → where it is installed.
ENVIRONMENTS = {
    "base": ".venv",
    "semgrep": ".venv-semgrep",
    "sandbox": ".venv-sandbox",
    "readers": ".venv-sandbox/readers",  # a folder of packages
    "minilm": ".venv",
}
OPTIONAL = {"minilm"}  # developers have them, a plain installation may not
_TEXT = re.compile(r"(?i)^(licen[cs]e|copying|notice|copyright|authors)")


@dataclass(frozen=True)
class Package:
    """One locked package; `found` is its installed distribution, None where this platform needs none."""

    name: str
    version: str
    found: Distribution | None

    @cached_property
    def texts(self) -> list[str]:
        """The licence and notice files it ships."""
        files = self.found.files or [] if self.found else []
        wanted = [file for file in files if ".dist-info" in file.parts[0] and _TEXT.match(file.name)]
        return [Path(str(file.locate())).read_text("utf-8", "replace").strip() for file in sorted(wanted)]


def locked(lock: Path, environment: Path) -> list[Package]:
    """The packages of a lock with what is installed of them. Raises LookupError for one that should be there."""
    places = [str(path) for path in environment.glob("lib/python3*/site-packages")] or [str(environment)]
    installed = {canonicalize_name(found.name): found for found in distributions(path=places)}
    packages = []
    for line in lock.read_text().splitlines():
        if line[:1].isalnum():
            wanted = Requirement(line.rstrip(" \\"))
            name, found = canonicalize_name(wanted.name), installed.get(canonicalize_name(wanted.name))
            if found is None and lock.name.removesuffix(".lock.txt") in OPTIONAL:
                continue
            if found is None and (wanted.marker is None or wanted.marker.evaluate()):
                raise LookupError(f"{name} of {lock.name} is not installed in {environment}: run make install")
            packages.append(Package(name, str(wanted.specifier).removeprefix("=="), found))
    return packages


def licence_of(package: Package, policy: dict[str, Any]) -> str:
    """Its licence as an SPDX expression; empty when nothing says."""
    if package.found is not None:
        metadata = package.found.metadata
        classifiers, text = metadata.get_all("Classifier") or [], metadata.get("License")
        if stated := stated_licence(metadata.get("License-Expression"), classifiers, text):
            return stated
    exception = policy["exceptions"].get(package.name, {})
    return str(policy["stated"].get(package.name) or exception.get("licence", ""))


def problems(packages: list[Package], policy: dict[str, Any]) -> Iterator[str]:
    """A line for each package whose licence is unknown or not allowed."""
    for package in packages:
        licence = licence_of(package, policy)
        if licence and licence == policy["exceptions"].get(package.name, {}).get("licence"):
            continue
        try:
            allowed = accepted(licence, policy["allowed"].__contains__)
        except ValueError:
            allowed = False
        if not allowed:
            yield f"{package.name} {package.version}: {licence or 'no licence is stated'}"


def vendored(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Title, licence and texts of each package whose files lie in static/vendor."""
    for entry in json.loads((folder / "vendor.json").read_text()):
        texts = [(folder / path).read_text().strip() for path in entry["sha256"] if _TEXT.match(Path(path).name)]
        yield f"{entry['name']} {entry['version']}", entry["licence"], texts


def notices(packages: list[Package], policy: dict[str, Any], assets: Path) -> str:
    """The third-party notices as one text."""
    entries = [(f"{one.name} {one.version}", licence_of(one, policy), one.texts) for one in packages if one.found]
    parts = ["Third-party notices\n\nAI SWE is distributed with the following packages, each under its own licence."]
    for title, licence, texts in sorted(
        {title: (title, *rest) for title, *rest in [*entries, *vendored(assets)]}.values()
    ):
        parts.append(f"{'=' * 80}\n{title}\nLicence: {licence}")
        parts.extend(texts or ["The package ships no licence text."])
    return "\n\n".join(parts) + "\n"


def bill(packages: list[Package], policy: dict[str, Any], assets: Path) -> str:
    """The bill of materials of this release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = [BillEntry("PyPI", one.name, one.version, licence_of(one, policy)) for one in packages]
    for entry in json.loads((assets / "vendor.json").read_text()):
        parts.append(BillEntry("npm", entry["name"], entry["version"], entry["licence"]))
    return bill_of_materials(project["name"], project["version"], parts, project["license"])


def main(arguments: list[str]) -> int:
    """Run `check`, `notices FILE` or `bill FILE`; 1 when a licence is not allowed or an environment is incomplete."""
    policy = tomllib.loads((ROOT / "requirements" / "licences.toml").read_text())
    try:
        packages = [
            package
            for lock, folder in ENVIRONMENTS.items()
            for package in locked(ROOT / "requirements" / f"{lock}.lock.txt", ROOT / folder)
        ]
    except LookupError as incomplete:
        print(f"✕ {incomplete.args[0]}", file=sys.stderr)
        return 1
    match arguments:
        case ["check"]:
            wrong = sorted(set(problems(packages, policy)))
            for line in wrong:
                print(f"✕ {line}", file=sys.stderr)
            if wrong:
                print("  → replace it, or allow it with a reason in requirements/licences.toml", file=sys.stderr)
                return 1
            print(f"Licences of {len({(one.name, one.version) for one in packages})} packages are allowed.")
        case ["notices", target]:
            Path(target).write_text(notices(packages, policy, ROOT / "static" / "vendor"))
        case ["bill", target]:
            Path(target).write_text(bill(packages, policy, ROOT / "static" / "vendor"))
        case _:
            print(f"usage: {Path(sys.argv[0]).name} check | notices FILE | bill FILE", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
