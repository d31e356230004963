"""Shell scripts, and commands in the files of other tools, judged as the firewall judges an agent's commands."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Iterator

from agents.firewall.base import FirewallContext, FirewallVerdict
from agents.firewall.code.python import CODE_JUDGES
from agents.firewall.shell.commands import command_verdicts
from agents.firewall.shell.grammar import tree_of
from agents.gates.base import RawFinding, own_finding
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit

_CONTEXT = FirewallContext()
# What a project's own script may do although an agent may not.
_ORDINARY = frozenset({"command.never", "command.privilege", "path.outside-workspace"})
_UNREAD = frozenset({"command.unparsable", "command.nesting"})
# What no project does for a good reason; the second group only in a script that also reaches the network.
_HOSTILE = frozenset(
    "command.network-to-shell command.decoded-to-shell command.network-device command.reverse-shell code.reverse-shell"
    " command.fork-bomb command.exfiltration command.raw-disk command.metadata".split()
)
_SENT = frozenset(
    "command.secret path.secret command.foreign-program command.text-to-shell command.environment-dump".split()
)
_SECRETS = frozenset({"command.secret", "path.secret"})
_OUTSIDE = re.compile(r"(?:^|\s)(?:~|/|\$\{?HOME)")


class CommandsScanner:
    """Shell scripts, and commands in workflows, Makefiles, package scripts and hooks, by what they would do."""

    name = "commands"
    languages = frozenset({"shell", "command"})
    canaries = (canary("command.sh", "command", "ls\nbase64 -d text | sh\n", "hostile-command"),)

    def scan(self, stage: Stage) -> Scan:
        """Judge each unit as one script."""
        scan = Scan(version="1", ran=True)
        for unit in stage.units:
            if time.monotonic() > stage.deadline:
                scan.problem = "timed out"
                break
            scan.findings += _judged(unit)
            scan.scanned.add(unit.name)
        return scan


def _judged(unit: Unit) -> Iterator[RawFinding]:
    text = unit.data.decode("utf-8", "replace")
    found, hostile = _objections(text)
    if not found:
        return
    parts = list(_statements(text)) if "\n" in text else []
    if parts and _UNREAD & found.keys():  # too long as one script
        judged = [_objections(part) for _, part in parts]
        found = {rule: one for rule, one in found.items() if rule not in _UNREAD}
        for more, worse in judged:
            found, hostile = more | found, hostile | worse
        lines = {
            rule: line for (line, _), (more, _) in reversed(list(zip(parts, judged, strict=True))) for rule in more
        }
    else:
        lines = {rule: _line_of(rule, parts) for rule in found} if parts else {}
    for rule, one in found.items():
        line = lines.get(rule, 1)
        if rule in _UNREAD:
            yield own_finding("not-checked", unit.name, line, what="a command that cannot be read")
        else:
            yield own_finding(
                "hostile-command" if rule in hostile else "risky-command", unit.name, line, what=one.reason
            )


def _line_of(rule: str, parts: list[tuple[int, str]]) -> int:
    """The statement with which the script, read from its start, breaks a rule; the judge names no lines."""
    return parts[bisect_left(range(len(parts) - 1), True, key=lambda last: rule in _objections_upto(parts, last))][0]


def _objections_upto(parts: list[tuple[int, str]], last: int) -> dict[str, FirewallVerdict]:
    return _objections("\n".join(part for _, part in parts[: last + 1]))[0]


def _objections(text: str) -> tuple[dict[str, FirewallVerdict], frozenset[str]]:
    """What is wrong in any project, by the firewall's rule; and which of those rules no good reason allows."""
    said = {one.rule: one for one in command_verdicts(text, _CONTEXT, CODE_JUDGES) if one.decision != "allow"}
    hostile = _HOSTILE | (_SENT if "command.network" in said else frozenset())
    found = {
        rule: one
        for rule, one in said.items()
        if (rule in hostile and (one.decision == "deny" or rule in _SENT))
        or (one.decision == "deny" and rule not in _ORDINARY and (rule not in _SECRETS or _OUTSIDE.search(one.reason)))
    }
    return found, hostile


def _statements(text: str) -> Iterator[tuple[int, str]]:
    source = text.encode("utf-8", "surrogatepass")
    for node in tree_of(source).root_node.children:
        yield node.start_point[0] + 1, source[node.start_byte : node.end_byte].decode("utf-8", "replace")
