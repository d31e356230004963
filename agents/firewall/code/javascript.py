"""JavaScript and TypeScript judged by their pieces: what could start programs, reach out or hide what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from agents.firewall.base import FirewallContext, FirewallVerdict, layer_verdicts, names_in, pattern_in, table, worst
from agents.firewall.paths import is_secret, judge_write

_TABLE = "code/javascript.toml"
_names = partial(names_in, _TABLE)
_deny, _approve = layer_verdicts("code", "js-")
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|[A-Za-z_$][\w$]*|\S", re.DOTALL
)
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})|\\u\{?([0-9a-fA-F]{4,6})\}?")
_OWNER_END = re.compile(r"[\w$)\]]\Z|\A\Z")


def judge_javascript(text: str, context: FirewallContext) -> FirewallVerdict:
    """Judge a script by its pieces; comments do not count, names put together out of strings do."""
    pieces = [piece for piece in _TOKEN.findall(text[:500_000]) if not piece.startswith(("//", "/*"))]
    return worst(_verdicts(_joined(pieces), context))


def _joined(pieces: list[str]) -> list[str]:
    """Tokens with 'a' + 'b' made one string and ['name'] made .name."""
    done: list[str] = []
    for piece in pieces:
        if _is_text(piece) and done[-1:] == ["+"] and _is_text(done[-2] if len(done) > 1 else ""):
            done[-2:] = [f"'{_inner(done[-2])}{_inner(piece)}'"]
        elif piece == "]" and len(done) > 2 and done[-2] == "[" and _is_text(done[-1]) and _OWNER_END.search(done[-3]):
            done[-2:] = [".", _inner(done[-1])]
        else:
            done.append(piece)
    return done


def _is_text(piece: str) -> bool:
    return len(piece) >= 2 and piece[0] in "\"'`" and piece[-1] == piece[0]


def _inner(piece: str) -> str:
    return _ESCAPE.sub(lambda found: chr(min(int(found[1] or found[2], 16), 0x10FFFF)), piece[1:-1])


@cache
def _name_rules() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    return [(re.compile(rule["when"]), rule) for rule in table(_TABLE)["names"]]


def _verdicts(pieces: list[str], context: FirewallContext) -> Iterator[FirewallVerdict]:
    marks: set[str] = set()  # what the code has been seen to do: it sends, reads secrets, runs text
    padded = ["", "", *pieces, "", "", ""]
    for at in range(2, len(padded) - 3):
        owner, before, piece, after, following = padded[at - 2 : at + 3]
        if _is_text(piece):
            yield from _text_verdicts(_inner(piece), before, owner, marks)
        elif piece in _names("writers") and after == "(" and _is_text(following):
            yield judge_write(_inner(following), None, context)
        elif re.match(r"[A-Za-z_$]", piece):
            shown = ("'text'" if _is_text(one) else one.replace("\t", " ") for one in padded[at - 1 : at + 4])
            line = "\t".join([*shown, ""])
            for when, rule in _name_rules():
                if ("after" not in rule or rule["after"] in marks) and when.match(line):
                    marks.add(rule.get("marks", ""))
                    if "reason" in rule:
                        reason = rule["reason"].format(name=piece, next=following)
                        yield (_deny if rule.get("decision") == "deny" else _approve)(rule["rule"], reason)
    if {"sends", "reads"} <= marks:
        yield _deny("exfiltration", "The code reads secrets and sends data out.")


def _text_verdicts(value: str, before: str, owner: str, marks: set[str]) -> Iterator[FirewallVerdict]:
    """What a string says by itself, and by what it is given to: `before` it and the name before that."""
    name = value.removeprefix("node:").partition("/")[0]
    given_to = owner if before == "(" else ""
    if before in ("from", "import") or given_to in _names("loaders"):
        if name in _names("starters") or name in _names("networks") - _names("serving"):
            rule = "starter" if name in _names("starters") else "network"
            yield _approve(rule, f"{name} starts programs or opens connections.")
        if name in _names("networks"):
            marks.add("sends")
    if len(value) < 300 and is_secret(value):
        marks.add("reads")
        verdict = _deny if "docker.sock" in value or value.startswith("/proc/") else _approve
        yield verdict("secret-path", f"Names {value!r}, which holds secrets.")
    if "169.254.169.254" in value or "metadata.google" in value:
        yield _deny("metadata", "Reads the machine's metadata service.")
    remote = re.match(r"(https?|wss?)://", value) and not pattern_in(_TABLE, "local").match(value)
    if remote and given_to in _names("senders"):
        marks.add("sends")
        yield _approve("network", f"Talks to {value.split('/')[2]}.")
