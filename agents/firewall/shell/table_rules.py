"""Rules that are data: an expression over one command's words decides, see `command_rules.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from agents.firewall.base import FirewallVerdict, table
from agents.firewall.shell.file_effects import approve, deny
from agents.firewall.shell.script import SimpleCommand, Word

_FILE = "shell/command_rules.toml"


@dataclass(frozen=True, slots=True)
class _CommandRule:
    when: re.Pattern[str]
    unless: re.Pattern[str] | None
    rule: str
    reason: str
    denies: bool


def line_of(arguments: Iterable[Word], simple: SimpleCommand | None = None) -> str:
    r"""A command as the rules see it: every argument after a tab, then `\t>` files written, `\t<` read, `\t<<<` text
    on its input and `\t|` the command before it in the pipe; a tab ends it."""
    parts = [word.text for word in arguments]
    if simple is not None:
        parts += [">" + word.text for word in simple.writes] + ["<" + word.text for word in simple.reads]
        if simple.text_in is not None or simple.blind_in:
            parts.append("<<<" + (simple.text_in or ""))
        if simple.piped_from is not None:
            parts.append("|" + " ".join(word.text for word in simple.piped_from.words))
    return "".join("\t" + part for part in parts) + "\t"


def table_verdicts(program: str, line: str) -> Iterator[FirewallVerdict]:
    """What the table says about one command; `program` may also be `git VERB`, `<script>` or `<function>`."""
    for rule in _rules_for(program):
        found = rule.when.search(line)
        if found and not (rule.unless and rule.unless.search(line)):
            shown = " ".join(found[0].split())[:40]
            reason = rule.reason.replace("{program}", program).replace("{found}", shown)
            yield (deny if rule.denies else approve)(rule.rule, reason)


@cache
def _rules_for(program: str) -> tuple[_CommandRule, ...]:
    return tuple(
        _compiled(number)
        for number, entry in enumerate(table(_FILE)["rules"])
        if re.fullmatch(_expanded(entry.get("programs", "[^<]*")), program)
        and not re.fullmatch(_expanded(entry.get("except", "(?!)")), program)
    )


@cache
def _compiled(number: int) -> _CommandRule:
    entry: dict[str, Any] = table(_FILE)["rules"][number]
    unless = _pattern(entry["unless"]) if "unless" in entry else None
    return _CommandRule(
        _pattern(entry["when"]), unless, entry["rule"], entry["reason"], entry.get("decision") == "deny"
    )


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(_expanded(text), re.DOTALL)


def _expanded(text: str) -> str:
    """An expression in which `{name}` stands for one of the table `parts`."""
    parts: dict[str, str] = table(_FILE)["parts"]
    while (expanded := re.sub(r"\{([a-z_]+)\}", lambda found: f"(?:{parts[found[1]]})", text)) != text:
        text = expanded
    return text
