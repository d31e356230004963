"""Rules that are data: an expression over one command's words decides, see `command_rules.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from agents.firewall.base import FirewallVerdict, table
from agents.firewall.shell.file_effects import approve, deny
from agents.firewall.shell.script import SimpleCommand, Word

_FILE = "shell/command_rules.toml"


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
        found = _pattern(rule["when"]).search(line)
        if found and not _pattern(rule.get("unless", "(?!)")).search(line):
            shown = " ".join(found[0].split())[:40]
            reason = rule["reason"].replace("{program}", program).replace("{found}", shown)
            yield (deny if rule.get("decision") == "deny" else approve)(rule["rule"], reason)


@cache
def _rules_for(program: str) -> list[dict[str, str]]:
    return [
        rule
        for rule in table(_FILE)["rules"]
        if _pattern(rule.get("programs", "[^<]*")).fullmatch(program)
        and not _pattern(rule.get("except", "(?!)")).fullmatch(program)
    ]


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """An expression in which `{name}` stands for one of the table `parts`."""
    parts: dict[str, str] = table(_FILE)["parts"]
    while (expanded := re.sub(r"\{([a-z_]+)\}", lambda found: f"(?:{parts[found[1]]})", text)) != text:
        text = expanded
    return re.compile(text, re.DOTALL)
