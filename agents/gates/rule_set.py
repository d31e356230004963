"""Our rules for Semgrep, put together from their files and from shorthands of our own.

A list of cleaning patterns may hold four things that Semgrep does not know: another list, which stands for its members;
`guard`, conditions of an `if` that make sure of `$X`; and `helper`, an expression that is found in the body of a
function of the same file which checks or cleans what it is given.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from agents.languages.python import syntax

RULES = Path(__file__).parent / "rules"


def rules_json(sources: Iterable[bytes] = ()) -> str:
    """Every rule of the product as one JSON document; `sources` are the Python files in which helpers are looked for.

    The lists that many files share (anchors) stand in `shared.yaml`, which is read in front of each of them.
    """
    rules = _rules()
    functions = [found for source in sources for found in _functions(source)]
    names: dict[str, frozenset[str]] = {}
    for rule in rules:
        for cleaner in rule.get("pattern-sanitizers", ()):
            body = cleaner.get("helper")
            if body is not None and body not in names:
                names[body] = frozenset(name for name, text in functions if re.search(body, text))
    return _document(tuple(sorted(names.items())))


@cache
def languages() -> frozenset[str]:
    """The languages that the rules are for, in Semgrep's names."""
    return frozenset(name for rule in _rules() for name in rule["languages"])


@cache
def _rules() -> list[dict[str, Any]]:
    shared = (RULES / "shared.yaml").read_text(encoding="utf-8")
    rules: list[dict[str, Any]] = []
    for file in sorted(RULES.glob("*.yaml")):
        if file.name != "shared.yaml":
            rules.extend(yaml.safe_load(f"{shared}\n{file.read_text(encoding='utf-8')}")["rules"])
    for rule in rules:
        if "pattern-sanitizers" in rule:
            rule["pattern-sanitizers"] = _flat(rule["pattern-sanitizers"])
    return rules


@lru_cache(maxsize=8)
def _document(helpers: tuple[tuple[str, frozenset[str]], ...]) -> str:
    names = dict(helpers)
    rules = []
    for rule in _rules():
        if "pattern-sanitizers" in rule:
            cleaners = [one for item in rule["pattern-sanitizers"] for one in _cleaners(item, names)]
            rule = {name: value for name, value in rule.items() if name != "pattern-sanitizers"}
            if cleaners:
                rule["pattern-sanitizers"] = cleaners
        rules.append(rule)
    return json.dumps({"rules": rules})


def _functions(source: bytes) -> list[tuple[str, str]]:
    """Name and body of each function of a file; none when it does not parse, which another gate reports."""
    try:
        text = source.decode()
        module = syntax.parse(text)
    except syntax.UNREADABLE:
        return []
    lines = text.splitlines()
    return [
        (node.name, "\n".join(lines[node.body[0].lineno - 1 : node.end_lineno]))
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _flat(items: list[Any]) -> list[dict[str, Any]]:
    return [one for item in items for one in (_flat(item) if isinstance(item, list) else [item])]


def _cleaners(item: dict[str, Any], names: dict[str, frozenset[str]]) -> list[dict[str, Any]]:
    if "guard" in item:
        return [_guard(item["guard"])]
    if "check" in item:
        return [_asked(item["check"])]
    if "helper" in item:
        return _helper(names[item["helper"]])
    return _exact(item)


def _guard(conditions: list[str], statements: Sequence[str] = (), names: str | None = None) -> dict[str, Any]:
    """A check inside an `and` or an `or` does not always run, so for the engine it cleans nothing.

    Here `$X` is clean inside an `if` with that check and after it: whoever checks a value means to turn it away.
    `statements` are checks that raise, alone or inside a `try`.
    """
    places = [f"if <... {condition} ...>:\n    ...\n...\n" for condition in conditions]
    for statement in statements:
        places.append(f"{statement}\n...\n")
        places += [f"try:\n    {statement}\n    ...\nexcept {error}:\n    ...\n...\n" for error in ("$E", "$E as $N")]
    inside: dict[str, Any] = {"pattern-either": [{"pattern-inside": place} for place in places]}
    if names is not None:
        # Chosen by name before they are joined with every expression of the file: a third of the time.
        inside = {"patterns": [inside, {"metavariable-regex": {"metavariable": "$CHECK", "regex": names}}]}
    return {"exact": False, "patterns": [{"pattern": "$X"}, inside]}


def _asked(names: str) -> dict[str, Any]:
    return _guard(["$CHECK(..., $X, ...)"], ["$CHECK(..., $X, ...)"], names)


def _helper(names: frozenset[str]) -> list[dict[str, Any]]:
    """What such a function gives back is clean, and so is what it was asked about."""
    if not names:
        return []
    regex = rf"^((self|cls)\.)?({'|'.join(sorted(names))})$"
    call = {
        "patterns": [{"pattern": "$CHECK(...)"}, {"metavariable-regex": {"metavariable": "$CHECK", "regex": regex}}]
    }
    return [*_exact(call), _asked(regex)]


def _exact(cleaner: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cleaning call gives back is clean; a sink among its arguments (`len(db.execute(text))`) is still one.

    `exact` says so, but for the engine the exact place of `name = clean(text)` is the whole statement, which
    therefore is named too.
    """
    if cleaner.get("by-side-effect") or "exact" in cleaner:
        return [cleaner]
    if "pattern" in cleaner:
        return [{**cleaner, "exact": True}, {**_assigned(cleaner), "exact": True}]
    first, *conditions = cleaner["patterns"]
    return [{**cleaner, "exact": True}, {"patterns": [_assigned(first), *conditions], "exact": True}]


def _assigned(formula: dict[str, Any]) -> dict[str, Any]:
    if "pattern" in formula:
        return {"pattern": f"$ASSIGNED = {formula['pattern']}"}
    key = "patterns" if "patterns" in formula else "pattern-either"
    if key not in formula:
        return formula
    return {key: [_assigned(part) for part in formula[key]]}
