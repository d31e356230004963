"""What the installed libraries offer, shown before the code is written; and names they do not have, found before it is run."""

from __future__ import annotations

from collections.abc import Mapping

from agents.context import apis
from agents.context import libraries as offers
from agents.imports import local_modules
from agents.ports import TaskContext
from agents.provenance import Material, Source, joined, label
from agents.replies import Applied
from agents.state import TaskState
from sandbox.base import SandboxError


def absent(state: TaskState, ctx: TaskContext, applied: Applied) -> list[str]:
    """Reasons to ask again, each naming file, line, what is missing and what is close; none when it cannot be told."""
    if "apis" in ctx.switched_off or not applied.files:
        return []
    there = [*ctx.repository.files(state["base"]), *state["tests"], *state["files"], *applied.files]
    try:
        return apis.shared.problems(
            applied.files,
            local=local_modules(there),
            sandbox=ctx.at_hand,
            scope=_scope(ctx),
        )
    except SandboxError:
        return []  # the test run will meet it and say so


def offered(state: TaskState, ctx: TaskContext, about: str, own: Mapping[str, str]) -> Material:
    """Signatures of what a task's libraries offer, under their heading; empty without libraries or when it cannot be told.

    `own` are the files that the task changes; what its tests use counts too.
    """
    if "apis" in ctx.switched_off:
        return Material("", ())
    files = {**own, **state["tests"]}
    local = local_modules([*ctx.repository.files(state["base"]), *state["tests"], *state["task"].get("files", [])])
    modules = offers.modules_of(files, state["task"].get("packages", []), local)
    if not modules:
        return Material("", ())
    try:
        lines = offers.shared.signatures(modules, about, files, sandbox=ctx.at_hand, scope=_scope(ctx))
    except SandboxError:
        return Material("", ())  # the test run will meet it and say so
    return joined(["Library signatures:", label(lines, Source.PACKAGE)]) if lines else Material("", ())


def _scope(ctx: TaskContext) -> str:
    """What is installed in the sandbox at hand, as a word to remember answers by."""
    return f"{ctx.backend.name} {' '.join(ctx.at_hand_packages)}"
