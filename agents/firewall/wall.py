"""The door: one question, one verdict; whatever goes wrong inside is a denial."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import get_args

from agents.firewall.base import ALLOW, FirewallContext, Kind, Verdict, worst
from agents.firewall.code import judge_code
from agents.firewall.commands import judge_command
from agents.firewall.leaks import judge_leak
from agents.firewall.paths import judge_path

_DEFAULT = FirewallContext()


def inspect(kind: Kind, text: str, *, context: FirewallContext = _DEFAULT) -> Verdict:
    """Judge one output of an agent before it has an effect.

    Leaks are looked for in every kind; known formats of secrets in what would be shown or run (code is the secrets
    gate's matter, with a disposition). An error inside is a denial, never an exception.
    """
    try:
        if kind not in get_args(Kind):
            return Verdict("deny", "input", f"Unknown kind {kind!r}; known: {', '.join(get_args(Kind))}.", "input.kind")
        leak = judge_leak(text, context, formats=kind in ("command", "output"))
        if leak.decision == "deny":
            return leak
        own = {"command": _command, "code": judge_code, "path": judge_path, "output": _output}[kind](text, context)
        return worst([own, leak]) if own.decision == "deny" else worst([leak, own])
    except Exception as error:  # noqa: BLE001 - a judge that fails must not let anything through
        return Verdict("deny", "input", f"The text could not be judged ({type(error).__name__}).", "input.error")


def _command(text: str, context: FirewallContext) -> Verdict:
    if not text.strip():
        return Verdict("deny", "command", "The command is empty.", "command.empty")
    return judge_command(text, context, judge_code)


def _output(text: str, context: FirewallContext) -> Verdict:
    return ALLOW


def check_lines(stream: Iterable[str], *, context: FirewallContext = _DEFAULT) -> Iterator[str]:
    """Judge JSON lines `{"kind": …, "text": …}`; gives one JSON line of verdict for each, in order."""
    for line in stream:
        if not line.strip():
            continue
        try:
            asked = json.loads(line)
            kind, text = asked["kind"], asked["text"]
            if not isinstance(kind, str) or not isinstance(text, str):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            wanted = 'expected a JSON object {"kind": "command|code|output|path", "text": "…"}'
            verdict = Verdict("deny", "input", f"Not a question: {wanted}.", "input.line")
        else:
            verdict = inspect(kind, text, context=context)  # type: ignore[arg-type]
        yield json.dumps(verdict.to_json(), ensure_ascii=True)
