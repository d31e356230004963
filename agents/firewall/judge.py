"""One question, one verdict: the strictest of all layers; whatever goes wrong inside is a denial.

Asked by agents/conversation for commands and files of a chat, by agents/engine/nodes/firewall_check.py for files of a
task, and by agents/outside for agents of other makers. A command is judged in shell/commands.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import get_args

from agents.firewall.base import ALLOW, FirewallContext, FirewallJudgement, FirewallVerdict, Kind, worst
from agents.firewall.code.python import CODE_JUDGES, code_verdicts
from agents.firewall.guard import Guard
from agents.firewall.leaks.detector import judge_leak
from agents.firewall.paths import judge_path
from agents.firewall.shell.commands import command_verdicts

_DEFAULT = FirewallContext()
_MOST_VERDICTS = 5_000
# Which layers look at what, in the order in which they are shown.
_LAYERS: dict[str, tuple[str, ...]] = {
    "command": ("leak", "path", "command", "code"),
    "code": ("leak", "path", "command", "code"),
    "path": ("leak", "path"),
    "output": ("leak",),
}


def inspect(
    kind: Kind, text: str, *, context: FirewallContext = _DEFAULT, guard: Guard | None = None
) -> FirewallVerdict:
    """Judge one output of an agent before it has an effect: the strictest verdict of all layers.

    Leaks are looked for in every kind; known formats of secrets in what would be shown or run (code is the secrets
    gate's matter, with a disposition). An error inside is a denial, never an exception.
    """
    return judge(kind, text, context=context, guard=guard).verdict


def judge(
    kind: Kind, text: str, *, context: FirewallContext = _DEFAULT, guard: Guard | None = None
) -> FirewallJudgement:
    """As `inspect`, with what each layer said. A `guard` is asked last and may only tighten."""
    try:
        if kind not in get_args(Kind):
            return _refused("kind", f"Unknown kind {kind!r}; known: {', '.join(get_args(Kind))}.")
        leak = judge_leak(text, context, formats=kind in ("command", "output"))
        said = [leak] if leak.rule == "leak.too-long" else [leak, *islice(_said(kind, text, context), _MOST_VERDICTS)]
        layers = [replace(worst(one for one in said if one.layer == name), layer=name) for name in _LAYERS[kind]]
        # A leak that was found comes first: the others may repeat it in their reasons.
        verdict = leak if leak.decision == "deny" else worst([*said[1:], leak])
        if guard is not None:
            layers.append(replace(guard.judge(kind, text) if verdict.decision != "deny" else ALLOW, layer="guard"))
            verdict = worst([verdict, layers[-1]])
        if leak.decision == "deny":
            layers = [layers[0], *(replace(layer, reason="") for layer in layers[1:])]
    except Exception as error:  # noqa: BLE001 - a judge that fails must not let anything through
        return _refused("error", f"The text could not be judged ({type(error).__name__}).")
    return FirewallJudgement(verdict, tuple(layers))


def _refused(rule: str, reason: str) -> FirewallJudgement:
    verdict = FirewallVerdict("deny", "input", reason, f"input.{rule}")
    return FirewallJudgement(verdict, (verdict,))


def _said(kind: Kind, text: str, context: FirewallContext) -> Iterator[FirewallVerdict]:
    if kind == "command" and not text.strip():
        yield FirewallVerdict("deny", "command", "The command is empty.", "command.empty")
    elif kind == "command":
        yield from command_verdicts(text, context, CODE_JUDGES)
    elif kind == "code":
        yield from code_verdicts(text, context)
    elif kind == "path":
        yield judge_path(text, context)


def check_lines(stream: Iterable[str], *, context: FirewallContext = _DEFAULT, layers: bool = False) -> Iterator[str]:
    """Judge JSON lines `{"kind": …, "text": …}`; gives one JSON line of verdict for each, in order.

    With `layers`, each line also says what every layer said.
    """
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
            found = _refused("line", f"Not a question: {wanted}.")
        else:
            found = judge(kind, text, context=context)  # type: ignore[arg-type]  # an unknown kind is denied
        yield json.dumps(found.verdict.to_json() | ({"layers": found.to_json()} if layers else {}), ensure_ascii=True)
