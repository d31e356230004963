"""Packages: what the code imports is found, checked against the allow-list, and written to requirements.txt (SWE-FR-05)."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name

from agents.nodes.common import key_of
from agents.ports import TaskContext, Waiting
from agents.state import TaskState
from sandbox.import_names import distribution_for
from sandbox.packages import Judgement, base_packages


@dataclass
class Settled:
    """Packages to install, files to write beside the candidate, and refusals the coder must hear of."""

    packages: list[str]
    files: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


def imported_modules(files: dict[str, str]) -> set[str]:
    """Top-level modules that Python files import; files that do not parse import nothing."""
    found: set[str] = set()
    for path, text in files.items():
        if not path.endswith(".py"):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found


def _local_modules(paths: set[str]) -> set[str]:
    return {PurePosixPath(path).parts[0].removesuffix(".py") for path in paths} | {"tests", "conftest"}


def plain_name(line: str) -> str:
    """The normalised distribution name of a requirement line."""
    return canonicalize_name(re.split(r"[<>=!~\[;@ ]", line.strip(), maxsplit=1)[0])


def _listed(text: str) -> list[str]:
    return [line.split("#")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()]


def settle_packages(state: TaskState, ctx: TaskContext, attempt: int) -> Settled:
    """Decide what the sandbox gets. Raises Waiting while a person has not answered for an unknown name."""
    everything = {**state["tests"], **state["files"]}
    local = _local_modules({*everything, *ctx.repository.files(state["base"])})
    wanted = {plain_name(name): name for name in state["packages"]}
    listed = state["files"].get("requirements.txt", ctx.repository.read(state["base"], "requirements.txt") or "")
    for line in _listed(listed):
        wanted.setdefault(plain_name(line), line)
    added = []
    base = base_packages()
    for module in sorted(imported_modules(everything) - local - set(sys.stdlib_module_names)):
        name = distribution_for(module) or module
        if plain_name(name) not in wanted:
            wanted[plain_name(name)] = name
            if plain_name(name) not in base:
                added.append(name)
    settled = Settled(packages=[])
    for plain, line in sorted(wanted.items()):
        if plain in base:
            continue
        verdict = ctx.supply.check(line)
        if verdict.judgement is Judgement.REFUSED:
            settled.refused.append(f"Package {line}: {verdict.reason}")
        elif verdict.judgement is Judgement.NEEDS_APPROVAL:
            answer = ctx.book.ask(
                kind="package", subject=plain, title=f"Install the package {line}?",
                why=f"{state['task']['key']} wants it. {verdict.reason}", on_yes="It is fetched as a wheel and given to this run's sandboxes.",
                on_no="The coder is told to do without it.", payload={"package": line, "look_alikes": list(verdict.look_alikes)},
            )  # fmt: skip
            if answer == "pending":
                raise Waiting(f"needs you: {state['task']['key']} wants to install {line}")
            if answer == "rejected":
                settled.refused.append(f"Package {line}: a person refused it; do without it")
            else:
                settled.packages.append(line)
        else:
            settled.packages.append(line)
    if added and not settled.refused:
        lines = sorted({*_listed(listed), *added}, key=str.lower)
        settled.files["requirements.txt"] = "\n".join(lines) + "\n"
        ctx.spine.emit(
            "system", role="runtime", attempt=attempt, key=key_of(state, "requirements"),
            summary=f"requirements.txt: added {', '.join(added)}", payload={"text": "Found by the code's imports.", "added": added},
        )  # fmt: skip
    return settled
