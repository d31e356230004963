"""What another agent may do by itself, what a person is asked for, and what it may not do at all.

The sandbox confines its processes in any case; the rulings are about what it asks of us and which work is taken.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Literal

from agents.firewall.base import FirewallContext
from agents.firewall.judge import judge
from agents.languages.registry import languages
from agents.outside.session import WORKSPACE

CONTEXT = FirewallContext(workspace=WORKSPACE)
HARMLESS = ("think", "search", "switch_mode")
MOST_BYTES, MOST_FILES = 1_000_000, 200  # of one file, and of files that one turn may change


@dataclass(frozen=True)
class Ruling:
    """A decision with its rule and reason; `ask` is for a person."""

    decision: Literal["allow", "ask", "refuse"]
    rule: str = ""
    reason: str = ""


ALLOWED = Ruling("allow")
ASKED_FOR = ("command.network", "command.package-install")  # a person may say yes to these


def _is_open(path: str) -> str:
    return ""


@dataclass(frozen=True)
class Reach:
    """What belongs to the task: which paths are tests, which the plan names, and what the base has there.

    `closed` says why a path is not the task's, "" where it is; `special` are links and submodules of the base.
    """

    is_test: Callable[[str], bool]
    named: frozenset[str]
    special: frozenset[str]
    closed: Callable[[str], str] = _is_open
    own: frozenset[str] = frozenset()  # files that the task itself made: these may go


@cache
def _leavings() -> tuple[str, ...]:
    return (".cache", ".npm", ".venv", *(each.rstrip("/") for one in languages() for each in one.ignored))


def is_left_behind(path: str) -> bool:
    """Whether tools leave such a file: it is neither taken nor held against anybody."""
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in _leavings())


def inside(path: str) -> str:
    """The path relative to the workspace; one that leads out of it as it was written."""
    full = posixpath.normpath(posixpath.join(WORKSPACE, path))
    return full.removeprefix(f"{WORKSPACE}/") if full.startswith(f"{WORKSPACE}/") else path


def may_read(path: str) -> Ruling:
    """A file of the workspace."""
    verdict = judge("path", path, context=CONTEXT).verdict
    return Ruling("refuse", verdict.rule, verdict.reason) if verdict.decision == "deny" else ALLOWED


def may_write(path: str, reach: Reach) -> Ruling:
    """A file of the workspace that belongs to the task and is no test."""
    verdict = judge("path", path, context=CONTEXT).verdict
    if verdict.decision == "deny":
        return Ruling("refuse", verdict.rule, verdict.reason)
    plain = inside(path)
    if reach.is_test(plain):
        return Ruling("refuse", "outside.test", f"{plain} is a test: tests are not the coder's.")
    if any(plain == one or plain.startswith(f"{one}/") for one in reach.special):
        return Ruling("refuse", "outside.special", f"{plain} is a link or a submodule of the repository.")
    if verdict.decision == "approve" and plain not in reach.named:
        return Ruling("refuse", verdict.rule, verdict.reason)
    if why := reach.closed(plain):
        return Ruling("refuse", "outside.reach", f"{plain}: {why}")
    return ALLOWED


def may_run(words: Sequence[str] | str) -> Ruling:
    """A command, as the firewall judges it; a person is asked for the network and for packages only."""
    line = words if isinstance(words, str) else words[0] if len(words) == 1 else shlex.join(words)
    verdict = judge("command", line, context=CONTEXT).verdict
    if verdict.decision == "allow":
        return ALLOWED
    asked = verdict.decision == "approve" and verdict.rule in ASKED_FOR
    return Ruling("ask" if asked else "refuse", verdict.rule, verdict.reason)


def may_call(call: Any, reach: Reach) -> Ruling:
    """A tool call for which the agent asks permission: what stays in the workspace may be, the network is asked for."""
    kind = str(call.kind or "other")
    paths = [each.path for each in call.locations or []]
    paths += [each.path for each in call.content or [] if getattr(each, "type", "") == "diff"]
    command = command_of(call.raw_input)
    if kind == "execute" or command:
        return (
            may_run(command) if command else Ruling("refuse", "outside.command", "It does not say what it would run.")
        )
    if kind == "fetch":
        return Ruling("ask", "outside.fetch", f"It wants something from the network: {title_of(call)}.")
    writes = kind not in ("read", *HARMLESS)
    for path in paths:
        ruling = may_write(path, reach) if writes else may_read(path)
        if ruling.decision != "allow":
            return ruling
    if paths or kind in HARMLESS:
        return ALLOWED
    return Ruling("refuse", "outside.unclear", f"It does not say what {title_of(call)!r} would touch.")


def title_of(call: Any) -> str:
    """What the agent calls a tool call, in one line."""
    return " ".join(str(call.title or call.tool_call_id).split())[:200]


def command_of(given: Any) -> str:
    """The command of a tool call's own input, in the forms that agents give it; "" for none."""
    if not isinstance(given, Mapping):
        return ""
    found = given.get("command", given.get("cmd", ""))
    if isinstance(found, Sequence) and not isinstance(found, str):
        words = [str(word) for word in found]
        # A shell with its line: the line is what is judged.
        found = words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else shlex.join(words)
    return found.strip() if isinstance(found, str) else ""
