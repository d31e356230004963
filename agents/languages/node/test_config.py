"""Files that would decide which tests run, or what their result is: not the coder's to write.

Of package.json the dependencies and the other scripts stay open; what may not change is named in the refusal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agents.languages.node.packages import MANIFEST_KEYS

_NAMES = re.compile(
    r"(?:vitest|jest|mocha|ava|cypress|playwright|babel|nyc|c8)\.(?:config|workspace|setup)\.[\w.]+|vitest\.[\w.-]+\.ts"
    r"|\.(?:mocharc|nycrc|c8rc|babelrc|npmrc|swcrc|taprc)(?:\.\w+)?|npm-shrinkwrap\.json|\.pnp\.c?js"
)
_RUNNERS = frozenset(
    "vitest jest mocha ava tap c8 nyc tsx ts-node chai sinon jsdom expect @jest/globals @vitest/runner".split()
)
_SECTIONS = ("jest", "vitest", "mocha", "ava", "tap", "nyc", "c8", "overrides", "resolutions", "babel")
_TEST_SCRIPT = re.compile(r"(?:pre|post)?test(?:[:_-].*)?|coverage")
# What a new project may say: the runners with files and folders, and options that leave nothing out.
_PLAIN = re.compile(
    r"(?:npx )?(?:node(?: --import[= ]tsx(?:/esm)?| --loader[= ]tsx)?(?: --test)|tsx --test|vitest(?: run)?|jest|mocha"
    r"|c8 node --test)(?: (?:--run|--coverage|--experimental-test-coverage|--recursive|-r tsx|--import[= ]tsx|--test))*"
    r"(?: [\"']?(?:\./)?(?:tests?|src|__tests__)?(?:/[\w*.{},/-]*)?[\"']?)*"
)
_STRICT = ("strict", "noImplicitAny", "strictNullChecks", "strictFunctionTypes", "strictPropertyInitialization")
_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\])*\")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(r",(?=\s*[}\]])")


def steers_tests(path: str, text: str, old: str = "") -> str:
    """Why the coder may not write this file; "" when it may. `old` is what stands there."""
    parts = path.split("/")
    name = parts[-1].lower()
    if "node_modules" in parts:
        return "it would stand in the place of a package; do without it"
    if old and text == old:
        return ""
    if _NAMES.fullmatch(name):
        return "it would decide how the tests run; do without it"
    if name.startswith("vite.config.") and re.search(r"\btest\s*:|vitest/config", text):
        return "its `test` would decide how the tests run; leave it out"
    if name == "package.json":
        return _manifest(text, old)
    if re.fullmatch(r"[tj]sconfig(?:\.[\w-]+)?\.json", name):
        return _compiler(text, old)
    return ""


def _manifest(text: str, old: str) -> str:
    new, was = _read(text), _read(old)
    if new is None:
        return "it is not valid JSON"
    was = was or {}
    for key in _SECTIONS:
        if new.get(key) != was.get(key):
            return f"its {key!r} may not change: it decides how the tests run; dependencies and other scripts may"
    there, given = _scripts(was), _scripts(new)
    for key in sorted(there.keys() | given.keys()):
        if not _TEST_SCRIPT.fullmatch(key) or given.get(key) == there.get(key):
            continue
        if key in there or not _PLAIN.fullmatch(given[key].strip()):
            what = "changed" if key in there else repr(given[key][:60])
            return (
                f"its script {key!r} may not be {what}: it decides which tests run; dependencies and other scripts "
                "may change"
            )
    for name, version in _aliases(new):
        if dict(_aliases(was)).get(name) != version:
            return f"{name} may not come from {version!r}: name a version, so that it is the real one"
    return ""


def _aliases(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Runners that come from somewhere else than the registry."""
    for key in MANIFEST_KEYS:
        given = manifest.get(key)
        for name, version in given.items() if isinstance(given, dict) else ():
            if name in _RUNNERS and (":" in str(version) or "/" in str(version)):
                yield name, str(version)


def _scripts(manifest: Mapping[str, Any]) -> dict[str, str]:
    found = manifest.get("scripts")
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _compiler(text: str, old: str) -> str:
    new, was = _read(_bare(text)), _read(_bare(old))
    if new is None:
        return "it is not valid JSON"
    options, there = _options(new), _options(was or {})
    for key in _STRICT:
        if options.get(key) is False and there.get(key) is not False:
            return f"{key} may not be switched off: correct the types instead"
        if there.get(key) is True and key not in options and "extends" not in new:
            return f"{key} must stay switched on"
    for key in ("noCheck", "noEmitOnError"):
        if options.get(key) is (key == "noCheck") and there.get(key) != options.get(key):
            return f"{key} may not be {str(options[key]).lower()}: the types are checked"
    paths = options.get("paths")
    taken = [name for name in paths if name in _RUNNERS or name.startswith("node:")] if isinstance(paths, dict) else []
    return f"{taken[0]} may not be mapped to another place" if taken else ""


def _options(config: Mapping[str, Any]) -> dict[str, Any]:
    found = config.get("compilerOptions")
    return found if isinstance(found, dict) else {}


def _bare(text: str) -> str:
    """JSON without comments and trailing commas, as TypeScript allows them."""
    return _TRAILING.sub("", _COMMENT.sub(lambda found: found[1] or "", text))


def _read(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
