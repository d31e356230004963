"""Our rules for Semgrep, put together from their files and from shorthands of our own.

A list of cleaning patterns may hold four things that Semgrep does not know: another list, which stands for its members;
`guard`, conditions of an `if` that make sure of `$X`; and `helper`, an expression that is found in the body of a function
of the same file which checks or cleans what it is given.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

RULES = Path(__file__).parent / "rules"


@cache
def rules_json() -> str:
    """Every rule of the product as one JSON document.

    The lists that many files share (anchors) stand in `shared.yaml`, which is read in front of each of them.
    """
    shared = (RULES / "shared.yaml").read_text(encoding="utf-8")
    rules: list[Any] = []
    for file in sorted(RULES.glob("*.yaml")):
        if file.name != "shared.yaml":
            rules.extend(yaml.safe_load(f"{shared}\n{file.read_text(encoding='utf-8')}")["rules"])
    for rule in rules:
        if "pattern-sanitizers" in rule:
            rule["pattern-sanitizers"] = _cleaners(rule["pattern-sanitizers"])
    return json.dumps({"rules": rules})


def _cleaners(items: list[Any]) -> list[dict[str, Any]]:
    cleaners: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, list):
            cleaners += _cleaners(item)
        elif "guard" in item:
            cleaners.append(_guard(item["guard"]))
        elif "check" in item:
            cleaners.append(_check(item["check"]))
        elif "helper" in item:
            cleaners += _helper(item["helper"])
        else:
            cleaners += _exact(item)
    return cleaners


def _guard(conditions: list[str], statements: list[str] | None = None) -> dict[str, Any]:
    """A check inside an `and` or an `or` does not always run, so for the engine it cleans nothing.

    Here `$X` is clean inside an `if` with that check and after it: whoever checks a value means to turn it away.
    `statements` are checks that raise, alone or inside a `try`.
    """
    places = [f"if <... {condition} ...>:\n    ...\n...\n" for condition in conditions]
    for statement in statements or ():
        places.append(f"{statement}\n...\n")
        places += [f"try:\n    {statement}\n    ...\nexcept {error}:\n    ...\n...\n" for error in ("$E", "$E as $N")]
    inside = [{"pattern-inside": place} for place in places]
    return {"exact": False, "patterns": [{"pattern": "$X"}, {"pattern-either": inside}]}


def _asked(name: str, conditions: list[Any]) -> dict[str, Any]:
    calls = [f"{name}(..., $X, ...)", f"self.{name}(..., $X, ...)"]
    guard = _guard(calls, calls)
    guard["patterns"] += conditions
    return guard


def _check(names: str) -> dict[str, Any]:
    return _asked("$CHECK", [{"metavariable-regex": {"metavariable": "$CHECK", "regex": names}}])


def _helper(body: str) -> list[dict[str, Any]]:
    """What such a function gives back is clean, and so is what it was asked about."""
    places = [
        "def $HELPER(...):\n    $...BODY\n...\n",
        "...\ndef $HELPER(...):\n    $...BODY\n",
        "class $CLASS(...):\n    ...\n    def $HELPER(...):\n        $...BODY\n    ...\n",
    ]
    conditions = [
        {"pattern-either": [{"pattern-inside": place} for place in places]},
        {"metavariable-regex": {"metavariable": "$...BODY", "regex": f"(?s).*?({body})"}},
    ]
    calls = {"pattern-either": [{"pattern": "$HELPER(...)"}, {"pattern": "self.$HELPER(...)"}]}
    return [*_exact({"patterns": [calls, *conditions]}), _asked("$HELPER", conditions)]


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
