"""What is wrong in a package.json, beside its JSON: fields of the wrong kind, and versions that say nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_NAME = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")
_NEEDS = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_ANY = frozenset({"", "*", "x", "latest"})


def manifest_problems(path: str, text: str) -> list[tuple[int, str]]:
    """Lines and problems of a package.json; [] for other files, and for text that does not parse."""
    if path.rpartition("/")[2] != "package.json":
        return []
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(data, dict):
        return [(1, "a package.json is an object")]
    lines = text.splitlines()
    return [(_line(lines, word), said) for word, said in _problems(data)]


def _line(lines: list[str], word: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if json.dumps(word)[:80] in line), 1)


def _problems(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name = data.get("name")
    if name is not None and not (isinstance(name, str) and len(name) <= 214 and _NAME.fullmatch(name)):
        yield "name", f"{str(name)[:60]!r} is not the name of a package: small letters, digits and dashes"
    if data.get("type", "module") not in ("module", "commonjs"):
        yield "type", "type is module or commonjs"
    for field in ("scripts", *_NEEDS):
        value = data.get(field, {})
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            yield field, f"{field} is an object of texts"
        elif field in ("dependencies", "devDependencies"):
            for package, version in value.items():
                if version.strip() in _ANY:
                    yield package, f"{package[:80]} has no version: name one, such as ^1.2.3"
    needed, for_tests = data.get("dependencies"), data.get("devDependencies")
    if isinstance(needed, dict) and isinstance(for_tests, dict):
        for package in sorted(needed.keys() & for_tests.keys()):
            yield package, f"{package[:80]} is in dependencies and in devDependencies: keep one"
