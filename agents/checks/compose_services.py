"""The servers that a repository's compose file names, read as data for its tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import yaml

from agents.checks.configuration import data_of
from sandbox.services import FACTS, KINDS, Kind, Service
from sandbox.test_setup import TestSetup

FILES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
SEEDS = "/docker-entrypoint-initdb.d"
MOST_CHARS, MOST_SEEDS = 200_000, 20
Read = Callable[[str], str | None]
_DEFAULT = re.compile(r"\$\{\w+:?-([^}]*)\}")
_UNSET = re.compile(r"\$\{\w+[^}]*\}|\$\w+")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/:-]{0,200}")
_NAMED: Mapping[Kind, Mapping[str, tuple[str, ...]]] = {
    "postgresql": {"user": ("POSTGRES_USER",), "password": ("POSTGRES_PASSWORD",), "database": ("POSTGRES_DB",)},
    "mysql": {
        "user": ("MYSQL_USER", "MARIADB_USER"),
        "password": ("MYSQL_PASSWORD", "MARIADB_PASSWORD"),
        "database": ("MYSQL_DATABASE", "MARIADB_DATABASE"),
    },
    "redis": {},
}
_USUAL: Mapping[Kind, str] = {"postgresql": "postgres", "mysql": "root", "redis": ""}  # user of the official image


def with_services(setup: TestSetup, tree: Path) -> TestSetup:
    """The setup with the servers that the compose file of this folder names, and the addresses that its programs get.

    A kind that the setup names already stays as it is.
    """
    found, environment = compose_services(lambda path: _text(tree, path))
    known = {service.kind for service in setup.services}
    added = [service for service in found if service.kind not in known]
    if not added and not environment:
        return setup
    return replace(setup, services=(*setup.services, *added), environment={**environment, **setup.environment})


def _text(tree: Path, path: str) -> str | None:
    place = tree / path
    try:
        if place.resolve().is_relative_to(tree.resolve()) and place.is_file():
            return place.read_text(errors="replace")[: MOST_CHARS + 1]
        return "\n".join(sorted(one.name for one in place.iterdir())) if place.is_dir() else None
    except OSError:
        return None


def compose_services(read: Read) -> tuple[list[Service], dict[str, str]]:
    """One server of each kind, and variables of the other services whose value is the address of one of them.

    `read` gets the text of a file, or the names in a folder. A compose file that cannot be read names nothing: its own
    check says so.
    """
    path, text = next(((path, text) for path in FILES if (text := read(path)) is not None), ("", ""))
    if not path or len(text) > MOST_CHARS:
        return [], {}
    try:
        data = data_of("yaml", text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return [], {}
    services = data.get("services") if isinstance(data, dict) else None
    if not isinstance(services, dict):
        return [], {}
    found: dict[Kind, Service] = {}
    hosts: dict[str, Service] = {}
    for name, told in services.items():
        kind = _kind(told)
        if kind is not None and isinstance(told, dict):
            hosts[str(name)] = found.setdefault(kind, _service(kind, told, read))
    return list(found.values()), dict(_addresses(services, hosts))


def _kind(told: Any) -> Kind | None:
    image = told.get("image") if isinstance(told, dict) else None
    if not isinstance(image, str):
        return None
    repository = re.split(r"[:@]", _filled(image).rpartition("/")[2])[0]
    return next((kind for kind in KINDS if repository in FACTS[kind].images), None)


def _service(kind: Kind, told: Mapping[str, Any], read: Read) -> Service:
    image, variables = _filled(told["image"]), _variables(told)
    given = {
        part: next((variables[name] for name in names if variables.get(name)), "")
        for part, names in _NAMED[kind].items()
    }
    user = given.get("user") or _USUAL[kind]
    if kind == "mysql" and user == "root":
        given["password"] = variables.get("MYSQL_ROOT_PASSWORD") or variables.get("MARIADB_ROOT_PASSWORD") or ""
    database = given.get("database") or (user if kind == "postgresql" else "test")
    seeds = tuple(_seeds(told, read)) if kind != "redis" else ()
    return Service(kind, image if _IMAGE.fullmatch(image) else "", user, given.get("password", ""), database, seeds)


def _filled(value: str) -> str:
    """`${NAME:-default}` as its default; without one nobody here knows the value."""
    return _UNSET.sub("", _DEFAULT.sub(r"\1", value))


def _variables(told: Mapping[str, Any]) -> dict[str, str]:
    """`environment` in either form; a value that only the host knows is left out."""
    given = told.get("environment")
    if isinstance(given, list):
        pairs = [str(row).partition("=")[::2] for row in given]
    elif isinstance(given, dict):
        pairs = [(str(name), str(value)) for name, value in given.items() if value is not None]
    else:
        pairs = []
    return {name: _filled(value)[:500] for name, value in pairs if "\0" not in value}


def _seeds(told: Mapping[str, Any], read: Read) -> Iterator[str]:
    """SQL files of the repository that are mounted where the image looks for them."""
    mounted = told.get("volumes")
    for row in mounted if isinstance(mounted, list) else ():
        if isinstance(row, dict):
            source, target = str(row.get("source", "")), str(row.get("target", ""))
        else:
            source, _, target = str(row).partition(":")
            target = target.partition(":")[0]
        path = posixpath.normpath(source)
        if not target.startswith(SEEDS) or not source.startswith((".", "/")) or path.startswith(("/", "..")):
            continue
        text = read(path)
        if path.endswith(".sql") and text is not None:
            yield path
        elif text is not None and target.rstrip("/") == SEEDS:
            names = [name for name in text.splitlines() if name.endswith(".sql")]
            yield from (f"{path}/{name}" for name in names[:MOST_SEEDS])


def _addresses(services: Mapping[Any, Any], hosts: Mapping[str, Service]) -> Iterator[tuple[str, str]]:
    """`DATABASE_URL: postgres://app:pw@db/app` of a service that is built here, as the tests can use it."""
    for told in services.values():
        for name, value in _variables(told).items() if isinstance(told, dict) else ():
            if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,60}_(?:URL|URI|DSN)", name):
                continue
            try:
                parts = urlsplit(value)
                service = hosts.get(parts.hostname or "")
            except ValueError:
                continue
            if service is not None:
                yield name, _here(parts, service)


def _here(parts: SplitResult, service: Service) -> str:
    login = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{login}{'@' if login else ''}127.0.0.1:{service.facts.port}").geturl()
