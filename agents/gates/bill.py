"""A bill of materials: what a project is made of, in CycloneDX 1.6."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

_PURL_TYPES = {"PyPI": "pypi", "npm": "npm"}


@dataclass(frozen=True, slots=True)
class BillEntry:
    """A package of a bill; version and licence are "" where nothing says them."""

    ecosystem: str  # as OSV calls it
    name: str
    version: str = ""
    licence: str = ""


def bill_of_materials(name: str, version: str, parts: Iterable[BillEntry], licence: str = "") -> str:
    """The bill of the program `name` as JSON; a package that is named twice in one version stands there once."""
    licences = LicenseFactory()
    root = Component(type=ComponentType.APPLICATION, name=name, version=version or None, bom_ref="program")
    root.licenses = [licences.make_from_string(licence)] if licence else []
    bom = Bom()
    bom.metadata.component = root
    made: dict[str, Component] = {}
    for part in sorted(parts, key=lambda one: (one.name, one.version, not one.licence)):
        scope, _, short = part.name.rpartition("/")
        purl = PackageURL(_PURL_TYPES[part.ecosystem], scope or None, short, part.version or None)
        if str(purl) not in made:
            made[str(purl)] = Component(
                name=part.name,
                version=part.version or None,
                purl=purl,
                bom_ref=str(purl),
                licenses=[licences.make_from_string(part.licence)] if part.licence else [],
            )
    for component in made.values():
        bom.components.add(component)
    bom.register_dependency(root, made.values())
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"
