"""Runs inside a sandbox: which names exist in installed libraries, what is close, and how they are called.

Reads JSON from stdin, {"mark": "…", "uses": [[module, [attribute, …], [keyword, …] or null], …]}, and prints one line:
the mark and JSON with an answer for each use: null when all is well or nothing can be said for sure, else {"missing":
name, "close": [[name, parameters], …]} or {"keyword": name, "close": [[name, parameters]]}. With "modules": [module, …]
instead of "uses" the answers are the modules' public names, each [name, signature, first line of its docstring], or
null.
"""

import difflib
import importlib
import importlib.util
import inspect
import io
import json
import sys
import types
from typing import Any

PECULIAR = {"antigravity", "this", "idlelib", "turtledemo", "__main__"}  # importing them does something
CLOSE = 3
MOST, LONG = 400, 160  # names of a module, characters of each text


def imported(name: str) -> Any:
    """The module; None when it cannot be imported."""
    if name.split(".")[0] in PECULIAR:
        return None
    try:
        return importlib.import_module(name)
    except BaseException:  # noqa: BLE001 - importing a library may do anything, even exit
        return None


def parameters(found: Any) -> str:
    """Names of the parameters, without defaults: those may be any text."""
    try:
        wanted = inspect.signature(found, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError, RuntimeError):
        return ""
    shown, starred = [], False
    for each in wanted:
        if each.kind is each.VAR_POSITIONAL:
            starred = True
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            shown.append("*")
        mark = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
        shown.append(mark + each.name + ("=…" if each.default is not each.empty else ""))
    return "(" + ", ".join(shown) + ")"


def close(name: str, owner: Any) -> "list[list[str]]":
    """Names that look like this one, each with its parameters."""
    known = [each for each in dir(owner) if not each.startswith("_")]
    found = difflib.get_close_matches(name, known, n=CLOSE, cutoff=0.6)
    lower = {each.lower(): each for each in known}
    found += [lower[name.lower()]] if name.lower() in lower and lower[name.lower()] not in found else []
    return [[each, parameters(getattr(owner, each, None))] for each in found[:CLOSE]]


def looked_up(module: str, attributes: "list[str]", keywords: "list[str] | None") -> Any:
    """The answer for one use."""
    top = module.split(".")[0]
    if top in PECULIAR or importlib.util.find_spec(top) is None:
        return None  # not installed: whether it may be is not decided here
    found, name = imported(top), top
    if found is None:
        return None
    for part in module.split(".")[1:]:
        name += "." + part
        below = imported(name)
        if below is None:
            below = getattr(found, part, None)
        if below is None:
            try:
                there = importlib.util.find_spec(name) is not None
            except (ImportError, ValueError, AttributeError):
                there = False
            return None if there else {"missing": name, "close": close(part, found)}
        found = below
    for part in attributes:
        if not isinstance(found, (types.ModuleType, type)):
            return None  # what an object has is known when it lives
        owner, name = found, name + "." + part
        try:
            found = getattr(owner, part)
        except AttributeError:
            below = imported(name) if isinstance(owner, types.ModuleType) else None
            if below is None:
                return {"missing": name, "close": close(part, owner)}
            found = below
    if keywords and callable(found):
        return wrong_keyword(found, name, keywords)
    return None


def wrong_keyword(found: Any, name: str, keywords: "list[str]") -> Any:
    """The first keyword that the callable surely does not take."""
    try:
        wanted = inspect.signature(found, follow_wrapped=False).parameters
    except (TypeError, ValueError, RuntimeError):
        return None
    if any(each.kind is each.VAR_KEYWORD for each in wanted.values()):
        return None
    taken = {each.name for each in wanted.values() if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    for keyword in keywords:
        if keyword not in taken:
            return {"keyword": keyword, "missing": name, "close": [[name, parameters(found)]]}
    return None


def public(module: str) -> Any:
    """The public functions and classes of a module with their signatures and what their docstrings begin with."""
    if module.split(".")[0] in PECULIAR or importlib.util.find_spec(module.split(".")[0]) is None:
        return None
    found = imported(module)
    if found is None:
        return None
    names = getattr(found, "__all__", None) or [name for name in dir(found) if not name.startswith("_")]
    rows = []
    for name in sorted(str(each) for each in names)[:MOST]:
        thing = getattr(found, name, None)
        if not callable(thing):
            continue
        try:
            signature = str(inspect.signature(thing))
        except (TypeError, ValueError, RuntimeError):
            signature = "(…)"
        words = (inspect.getdoc(thing) or "").strip().split("\n")[0] if getattr(thing, "__doc__", None) else ""
        rows.append([name, signature[:LONG], words[:LONG]])
    return rows


def main() -> None:
    """Answer what was asked."""
    asked = json.load(sys.stdin)
    sys.path[:] = [place for place in sys.path if place not in ("", ".", "/workspace")]
    answers: list[Any] = []
    out, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
    for module in asked.get("modules", ()):
        try:
            answers.append(public(module))
        except Exception:  # noqa: BLE001 - as below
            answers.append(None)
    for module, attributes, keywords in asked.get("uses", ()):
        try:
            answers.append(looked_up(module, attributes, keywords))
        except Exception:  # noqa: BLE001 - a library may do anything when it is looked at
            answers.append(None)
    sys.stdout = out
    out.write("\n" + asked["mark"] + json.dumps(answers) + "\n")
    out.flush()


main()
