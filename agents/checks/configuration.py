"""Configuration and container files: whether they parse, fit the schema that they name, and name what is there."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Any

import yaml
from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from agents.checks.checked_file import CheckedFile, Found
from agents.checks.dockerfile import check_dockerfile
from agents.checks.kubernetes import check_manifests, is_manifest, schema, schema_problems
from agents.checks.pipelines import check_pipeline, is_pipeline
from agents.languages.registry import languages

SCHEMA_CHARS = 200_000
MOST_ALIASES = 20  # of YAML that is read as data: nested ones multiply
SHOWN_ERRORS = 5
_SCHEMA = re.compile(r'"\$schema"\s*:\s*"([^"]+)"|^#.*?\$schema=(\S+)|^#:schema\s+(\S+)', re.MULTILINE)
_COMMENTED = re.compile(r"(?:^|/)(?:[tj]sconfig[^/]*\.json|\.vscode/[^/]+\.json|[^/]+\.code-workspace)$")
_TEMPLATED = re.compile(r"\{\{|\{%")
_COMPOSE = re.compile(r"(?:^|/)(?:docker-)?compose[^/]*\.ya?ml$")
_CONTAINER = re.compile(r"(?:^|/)(?:docker|container)file[^/]*$|\.dockerfile$", re.IGNORECASE)
_TOML_LINE = re.compile(r"at line (\d+)")


def parse_problem(kind: str, text: str) -> tuple[int, str] | None:
    """Line and reason of JSON, TOML, YAML or INI that does not parse; None for text that does."""
    try:
        if kind == "json":
            json.loads(text)
        elif kind == "toml":
            tomllib.loads(text)
        elif kind == "yaml":
            list(yaml.compose_all(text, yaml.SafeLoader))
        else:
            configparser.RawConfigParser(allow_no_value=True).read_string(text)
    except json.JSONDecodeError as error:
        return error.lineno, f"not valid JSON: {error.msg}"
    except tomllib.TOMLDecodeError as error:
        at = _TOML_LINE.search(str(error))
        return int(at[1]) if at else 1, f"not valid TOML: {error}"
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return mark.line + 1 if mark else 1, f"not valid YAML: {getattr(error, 'problem', None) or error}"
    except configparser.Error as error:
        lines = getattr(error, "errors", None)
        return getattr(error, "lineno", None) or (lines[0][0] if lines else 1), f"not valid INI: {error.message}"
    except (RecursionError, ValueError) as error:
        return 1, f"cannot be read: {type(error).__name__}"
    return None


def is_dockerfile(path: str) -> bool:
    """True for a file that an image is built from."""
    return bool(_CONTAINER.search(path)) and not path.endswith(".dockerignore")


def configuration_check(path: str) -> Callable[[str, CheckedFile], Found] | None:
    """What checks this file; None when it is neither configuration nor a container file."""
    kinds = {"json": "json", "toml": "toml", "yaml": "yaml", "yml": "yaml", "ini": "ini", "cfg": "ini"}
    if is_dockerfile(path):
        return check_dockerfile
    kind = kinds.get(path.rpartition(".")[2])
    return None if kind is None or _COMMENTED.search(path) else lambda text, place: _configuration(kind, text, place)


def _configuration(kind: str, text: str, place: CheckedFile) -> Found:
    pipeline = kind == "yaml" and is_pipeline(place.path)
    if kind == "yaml" and not pipeline and _TEMPLATED.search(text):
        return
    if broken := parse_problem(kind, text):
        yield broken
        return
    if pipeline or (kind == "yaml" and is_manifest(place.path, text)):
        try:
            yield from check_pipeline(text, place) if pipeline else check_manifests(text, place)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            yield 1, f"cannot be read: {type(error).__name__}"
        return
    data = data_of(kind, text)
    if data is None:
        return
    yield from _against_schema(data, text, place)
    for language in languages():
        yield from language.manifest_problems(place.path, text)
    if _COMPOSE.search(place.path):
        yield from _services(data, text)


def data_of(kind: str, text: str) -> Any:
    """The value; None where it is not worth the risk of reading it."""
    if kind == "yaml":
        aliases = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader))
        try:
            return yaml.safe_load(text) if aliases <= MOST_ALIASES else None
        except yaml.YAMLError:  # several documents, or tags of some program
            return None
    return json.loads(text) if kind == "json" else tomllib.loads(text) if kind == "toml" else None


def _line(text: str, word: object) -> int:
    """The first line that has the word."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if str(word) in line), 1)


def _against_schema(data: Any, text: str, place: CheckedFile) -> Found:
    """What does not fit a schema of this repository; nothing is fetched, and no pattern of it is tried."""
    named = _SCHEMA.search(text)
    address = next(filter(None, named.groups()), "") if named else ""
    if not address or "://" in address or address.startswith("#"):
        return
    found = place.resolve(address)
    schema_text = place.read(found) if found in place.there else None
    if schema_text is None:
        yield _line(text, address), f"the schema {address} is not in the repository"
        return
    if len(schema_text) > SCHEMA_CHARS or '"pattern' in schema_text:
        return
    try:
        schema = json.loads(schema_text)
        kind = validators.validator_for(schema, default=validators.Draft202012Validator)
        kind.check_schema(schema)
        for error in islice(kind(schema, registry=Registry()).iter_errors(data), SHOWN_ERRORS):
            key = next((part for part in reversed(error.absolute_path) if isinstance(part, str)), "")
            yield _line(text, key), f"{error.json_path} does not fit {address}: {error.message[:200]}"
    except (ValueError, TypeError, AttributeError, SchemaError, Unresolvable, RecursionError) as error:
        yield _line(text, address), f"the schema {address} cannot be used: {type(error).__name__}"


@cache
def _compose() -> Draft202012Validator:
    return Draft202012Validator(schema("compose"))


def _services(data: Any, text: str) -> Found:
    services = data.get("services") if isinstance(data, dict) else None
    if not isinstance(services, dict):
        if not isinstance(data, dict) or "include" not in data:
            yield 1, "a compose file needs a mapping called services"
        return
    for key, said in schema_problems(_compose(), data):
        yield _line(text, f"{key}:" if key else "services"), f"does not fit the compose specification: {said}"
    for name, service in services.items():
        line = _line(text, f"{name}:")
        if not isinstance(service, dict):
            yield line, f"the service {name} is not a mapping"
            continue
        if not {"image", "build", "extends", "provider"} & service.keys():
            yield line, f"the service {name} has neither image nor build"
        needs = service.get("depends_on") or ()
        for other in needs if isinstance(needs, list | dict) else ():
            if other not in services:
                yield line, f"the service {name} depends on {other}, which is not among the services"
