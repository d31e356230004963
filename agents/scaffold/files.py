"""The files of a project from its architecture: folders of programs, container files, compose, pipelines, a README.

Deterministic. Templates have delimiters of their own ([[ ]], [% %]), and what comes from the diagram goes into them as
slugs; titles stand in the README alone, escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agents.recipes.names import Names
from agents.recipes.recipe import load
from agents.scaffold.components import Architecture, Component, package_of, tables

TEMPLATES = Path(__file__).with_name("templates")
PORTS = {"fastapi": 8000, "express": 3000, "react": 8080}
RECIPES = {"fastapi": "service-fastapi"}  # whose skeleton is in the folder too, below what the templates give
_ENDING = ".j2"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")


@cache
def _environment() -> Environment:
    # These are source files, not HTML: only names that were made here, and escaped ones, go into them.
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701
    )


def files_of(architecture: Architecture, slug: str, source: str) -> dict[str, str]:
    """Texts by path. `slug` names the project, `source` is the document it comes from, as the README says."""
    services = [_service(one, architecture) for one in architecture.programs]
    ports = _published(architecture)
    shared = {
        "slug": slug,
        "source": markdown(source),
        "services": services,
        "stores": [_store(one) for one in architecture.stores],
        "components": [_row(one, architecture, ports) for one in architecture.components],
        "questions": [markdown(one) for one in architecture.questions],
        "depends": _depends(architecture),
        "ports": ports,
        "secrets": sorted({one["secret"] for one in map(_store, architecture.stores) if one["secret"]}),
        "given": sorted({name for one in architecture.programs for name in _environment_of(one, architecture)[1]}),
        "python": [one["folder"] for one in services if one["language"] == "python"],
        "node": [one["folder"] for one in services if one["language"] == "node"],
    }
    found = dict(_rendered("project", "", shared))
    for service in services:
        found |= _skeleton(service)
        found |= _rendered(service["template"], f"{service['folder']}/", service)
    return dict(sorted(found.items()))


def _rendered(folder: str, target: str, values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for path in sorted((TEMPLATES / folder).rglob(f"*{_ENDING}")):
        name = path.relative_to(TEMPLATES / folder).as_posix().removesuffix(_ENDING)
        text = _environment().get_template(path.relative_to(TEMPLATES).as_posix()).render(**values)
        name = re.sub(r"(^|/)dot_", r"\1.", name).replace("__PACKAGE__", str(values.get("package", "")))
        yield target + name, text


def _skeleton(service: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The files of the recipe that fits. Test files of several programs must not have one name."""
    if service["template"] not in RECIPES:
        return
    names = Names(service["slug"], service["slug"], service["package"])
    for path, text in load(RECIPES[service["template"]]).skeleton.items():
        name = names.put_into(path).replace("tests/test_", f"tests/test_{service['package']}_")
        if name != "README.md":  # the project's own tells how to start it
            yield f"{service['folder']}/{name}", names.put_into(text)


def markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def variable_of(slug: str) -> str:
    """The environment variable that holds a component's address."""
    return f"{slug.replace('-', '_').upper()}_URL"


def _service(one: Component, architecture: Architecture) -> dict[str, Any]:
    environment, given = _environment_of(one, architecture)
    behind = [architecture[slug] for slug in one.needs if architecture[slug].is_program and _port(architecture[slug])]
    return {
        "slug": one.slug,
        "package": package_of(one.slug),
        "folder": one.folder,
        "template": one.template,
        "language": one.language,
        "kind": one.kind,
        "port": _port(one),
        "environment": {**environment, **{name: f"${{{name}:-}}" for name in given}},
        "variables": sorted([*environment, *given]),
        "behind": [{"slug": other.slug, "port": _port(other)} for other in behind],
        "is_program_that_ends": one.kind == "cli",
    }


def _environment_of(one: Component, architecture: Architecture) -> tuple[dict[str, str], list[str]]:
    """Variables with the addresses of what a program has links to, and names of those that .env gives."""
    found, given = {}, []
    for other in (architecture[slug] for slug in one.needs):
        if other.is_store:
            found[variable_of(other.slug)] = _store(other)["url"]
        elif other.is_program and _port(other):
            found[variable_of(other.slug)] = f"http://{other.slug}:{_port(other)}"
        elif not other.is_program and other.kind != "person":
            given.append(variable_of(other.slug))
    return found, given


def _store(one: Component) -> dict[str, Any]:
    row = tables()["stores"][one.technology]
    secret = f"{one.slug.replace('-', '_').upper()}_PASSWORD" if "PASSWORD" in row["url"] else ""

    def filled(text: str, password: str) -> str:
        return text.replace("PASSWORD", password).replace("HOST", one.slug)

    needed = f"${{{secret}:?set it in .env}}"
    return {
        "slug": one.slug,
        "image": row["image"],
        "data": row.get("data", ""),
        "environment": {name: filled(value, needed) for name, value in row.get("environment", {}).items()},
        "health": row["health"],
        "url": filled(row["url"], needed),
        "secret": secret,
    }


def _port(one: Component) -> int:
    return PORTS.get(one.template, 0)


def _published(architecture: Architecture) -> dict[str, int]:
    """Ports of this machine: of web front ends, and of services that no other program here calls."""
    called = {slug for one in architecture.programs for slug in one.needs}
    taken: set[int] = set()
    found = {}
    for one in architecture.programs:
        if _port(one) and (one.kind == "web" or one.slug not in called):
            port = next(number for number in range(_port(one), 65_536) if number not in taken)
            taken.add(port)
            found[one.slug] = port
    return found


def _depends(architecture: Architecture) -> dict[str, list[str]]:
    """What must be healthy first: links in the order of the diagram, without those that would close a circle."""
    found: dict[str, list[str]] = {}

    def reaches(start: str, end: str) -> bool:
        return start == end or any(reaches(slug, end) for slug in found.get(start, ()))

    for one in architecture.programs:
        found[one.slug] = []
        for slug in one.needs:
            other = architecture[slug]
            runs_on = other.is_store or (other.is_program and other.kind != "cli")
            if runs_on and not reaches(slug, one.slug):
                found[one.slug].append(slug)
    return found


def _row(one: Component, architecture: Architecture, ports: dict[str, int]) -> dict[str, str]:
    return {
        "title": markdown(one.title),
        "kind": one.kind,
        "technology": one.technology_title or "–",
        "place": f"`{one.folder}`" if one.folder else f"`{one.slug}` in compose.yaml" if one.is_store else "–",
        "needs": ", ".join(markdown(architecture[slug].title) for slug in one.needs) or "–",
        "why": markdown(one.why),
        "port": str(ports.get(one.slug, "")),
    }
