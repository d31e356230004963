"""Dangerous calls that are reached through another name, which scanners of plain names do not see."""

from __future__ import annotations

import ast
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import PurePosixPath

from agents.gates.base import RawFinding, Severity, own_finding, own_rules
from agents.gates.imported import imported
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit, read_beside
from agents.languages.python import syntax
from agents.languages.python.flow.calls import NameFlow
from agents.languages.python.flow.results import Site
from agents.languages.python.flow.scopes import ScannedModule
from agents.languages.python.flow.values import Ref, Text, Unknown

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "/bin/sh", "/bin/bash", "/usr/bin/env", "cmd", "powershell"})
# They look at what they are given, or name it, and call nothing.
_HARMLESS = frozenset(
    {"callable", "getattr", "hasattr", "hash", "id", "inspect.signature", "isinstance", "issubclass"}
) | {
    *("functools.partial", "print", "repr", "setattr", "str", "type", "typing.cast", "warnings.warn"),
}
_CANARY = """import os
table = {"run": os.system}
def go(x):
    table["run"](x)
    vars(os)[x](x)
    register(eval)
"""


class FlowScanner:
    """Follows names through assignments, containers, calls and modules of the project; runs nothing."""

    name = "flow"
    languages = frozenset({"python"})
    canaries = (canary("flow.py", "python", _CANARY, "aliased-command", "sensitive-attribute", "sensitive-lost"),)

    def scan(self, stage: Stage) -> Scan:
        """Follow the names of all units and of what they import together; where that takes too long, of each alone."""
        scan = Scan(version="1", ran=True)
        trees = {unit: syntax.module(unit.data) for unit in stage.units}
        others, complete = _others(stage, trees)
        names: dict[str, Unit] = {}
        # Where a module and a package have one name, imports mean the package.
        for unit in sorted([*trees, *others], key=lambda one: PurePosixPath(one.path).name != "__init__.py"):
            names[_dotted(unit, names)] = unit
        packages = [name for name, unit in names.items() if PurePosixPath(unit.path).name == "__init__.py"]
        own = {name: trees[unit] for name, unit in names.items() if unit in trees}
        whole = NameFlow({name: trees.get(unit) or others[unit] for name, unit in names.items()}, packages)
        if whole.exhausted and others:
            whole, complete = NameFlow(own, packages), False
        for name, tree in own.items():
            unit = names[name]
            if time.monotonic() > stage.deadline:
                scan.problem = "timed out"
                return scan
            flow = NameFlow({name: tree}, packages) if whole.exhausted else whole
            scan.scanned.add(unit.name)
            scan.findings.extend(_findings(flow, flow.modules[name], unit))
            if flow.exhausted:
                scan.findings.append(own_finding("not-followed", unit.name, 1))
        if not complete:
            scan.findings.append(own_finding("imports-not-followed", stage.units[0].name, 1))
        return scan


def _others(stage: Stage, trees: Mapping[Unit, ast.Module]) -> tuple[dict[Unit, ast.Module], bool]:
    """Modules of the project that are not scanned themselves, and whether that is all of them."""
    root = stage.root
    if root is None:
        return {}, True
    scanned = [(unit.path, tree) for unit, tree in trees.items()]
    found, complete = imported(scanned, lambda path: read_beside(root, path, stage.policy))
    return {Unit(path, path, "python", b""): tree for path, tree in found.items()}, complete


def _dotted(unit: Unit, taken: Collection[str]) -> str:
    """The name under which others import a unit; one of its own for what nobody can import."""
    path = PurePosixPath(unit.path or unit.name)
    parts = [part.replace(".", "_") for part in path.with_suffix("").parts]
    dotted = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
    if path.suffix == ".py" and not unit.lines and dotted not in taken:
        return dotted
    return ".".join([*parts[:-1], f"<{unit.name.replace('.', '_')}>"])


@cache
def _sinks() -> Mapping[str, str]:
    return {name: rule for rule, row in own_rules().items() for name in row.get("calls", ())}


def _findings(flow: NameFlow, module: ScannedModule, unit: Unit) -> Iterator[RawFinding]:
    for site in flow.sites(module):
        found = _called(flow, site) or _lost(flow, site) or _attribute(flow, site)
        if found is not None:
            rule, name, severity = found
            finding = own_finding(rule, unit.name, site.node.lineno, name=name)
            yield replace(finding, severity=severity, skip_in_tests=rule not in ("aliased-code", "aliased-command"))


def _called(flow: NameFlow, site: Site) -> tuple[str, str, Severity] | None:
    callee = site.callee
    rule = _sinks().get(callee.name) if isinstance(callee, Ref) else None
    if rule is None or not isinstance(callee, Ref):
        return None
    row = own_rules()[rule]
    plain = callee.name == flow.plain(getattr(site.node, "func", site.node))
    if plain and not row.get("direct"):
        return None
    given = flow.values(site.args[0]) if site.args else frozenset({Unknown()})
    severity = Severity[row["severity"]]
    if row.get("direct") and plain and not any(isinstance(one, Unknown | Ref) for one in given):
        severity = Severity.INFO
    elif "constant" in row and all(isinstance(one, Text) for one in given):
        severity = Severity[row["constant"]]
    if rule == "aliased-deserialiser" and _is_safe_yaml(flow, site):
        return None
    if callee.hidden or (rule == "aliased-process" and _has_shell(flow, site)):
        severity = Severity.HIGH
    return rule, callee.name, severity


def _is_safe_yaml(flow: NameFlow, site: Site) -> bool:
    if not isinstance(site.callee, Ref) or site.callee.name not in ("yaml.load", "yaml.load_all"):
        return False
    names = {getattr(one, "name", "") for one in flow.passed(site, 1, "Loader")}
    return bool(names) and names <= {"yaml.SafeLoader", "yaml.CSafeLoader", "yaml.BaseLoader"}


def _has_shell(flow: NameFlow, site: Site) -> bool:
    if any(not isinstance(one, Text) or bool(one.value) for one in flow.passed(site, 99, "shell")):
        return True
    first = site.args[0] if site.args else None
    program = first.elts[0] if isinstance(first, ast.List | ast.Tuple) and first.elts else None
    return program is not None and bool(_SHELLS & {str(one) for one in flow.texts(program)[0]})


def _lost(flow: NameFlow, site: Site) -> tuple[str, str, Severity] | None:
    """A sensitive function handed to somebody who is not known."""
    callee = site.callee
    if isinstance(callee, Ref) and flow.follows(callee.name):
        return None
    if not isinstance(callee, Ref | Unknown) or (
        isinstance(callee, Ref) and (not callee.name or callee.name in _HARMLESS)
    ):
        return None
    for expr in [*site.args, *(one.value for one in site.keywords)]:
        for value in flow.values(expr):
            rule = _sinks().get(value.name) if isinstance(value, Ref) else None
            if rule and isinstance(value, Ref) and own_rules()[rule].get("lost"):
                return "sensitive-lost", value.name, Severity.MEDIUM
    return None


def _attribute(flow: NameFlow, site: Site) -> tuple[str, str, Severity] | None:
    """A part of a sensitive module that is named at run time."""
    where: ast.expr | None = site.node if site.callee == Ref("getattr") else getattr(site.node, "func", None)
    looked_up = isinstance(where, ast.Subscript | ast.Call)
    names = {one.name for one in flow.values(where) if isinstance(one, Ref)} if looked_up else set()
    for name in names:
        module = name.removesuffix(".*")
        if module != name and module in own_rules()["sensitive-attribute"]["modules"]:
            return "sensitive-attribute", module, Severity.MEDIUM
    return None
