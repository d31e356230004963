"""Finding known kinds of secrets, and telling them from what only stands for one.

The kinds themselves are data, in `rules/`. The secrets gate, the firewall and redaction all look here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from agents.secrets.kinds import Format, Place, formats

__all__ = ["WHOLE_KINDS", "Format", "find_known", "formats", "is_placeholder"]

# Blocks between armour lines: their dashes and dots say nothing about a stand-in.
WHOLE_KINDS = frozenset(
    {"private-key", "ssh2-private-key", "putty-private-key", "openvpn-static-key", "encoded-private-key"}
)

_PLACEHOLDER = re.compile(
    r"(?i)^[\W_]*$|^(.)\1+$|^<.*>$|^\{.*\}$|^\$(?:[\w.:\-]*$|[({])|^%[a-z_(]|^\[|^@[a-z_]+@?$"
    r"|x{4,}|\*{3,}|\.{3}|0{8,}|(?:012345|123456789|abcdefgh|deadbeef.*deadbeef)"
    r"|example|sample|dummy|fake|placeholder|change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|with|this)"
    r"|your[-_ ]?|insert[-_ ]?"
    r"|my[-_]?(?:secret|password|token|api|key)|redacted|goes[-_]?here|fixme|notasecret|not[-_]a[-_](?:real|secret)"
    # The samples that vendors print in their own documentation.
    r"|SflKxwRJSMeKKF2QT4fw|4eC39HqLyjWDarjtT1zdp7dc"
    r"|^(?:none|null|nil|true|false|todo|tbd|tests?|testing|secret|password|passwd|pass|pwd|pw|user|username|token|string"
    r"|str|undefined|optional|required|foo|bar|baz|foobar)$"
    r"|^(?:n/?a|not[-_ ]?set|unset|empty|missing|invalid|unknown|wrong|hidden)"
    r"|^[a-z]+[-_ ](?:password|secret|token|key|name|field|input|header|hash)$"
    r"|^(?:password|secret|token|api[-_]?key)[-_ ]?[a-z]*$"
    r"|^(?:bearer|basic|oauth2?|jwt|csrf|session|access|refresh)[-_a-z]*$"
    r"|os\.environ|getenv|process\.env|settings\.|config\."
)


def is_placeholder(value: str) -> bool:
    """Whether a value plainly stands for a secret instead of being one."""
    return bool(_PLACEHOLDER.search(value))


@cache
def _anchored(place: Place) -> list[tuple[str, int]]:
    return [
        (anchor, number) for number, entry in enumerate(formats()) if entry.place == place for anchor in entry.anchors
    ]


_RUN = re.compile(r"[^\s\"'`<>(),;{}\[\]\\]{14,}")


def find_known(text: str) -> Iterator[tuple[str, int, int]]:
    """Every known secret in a text as kind, start, end (of the secret itself)."""
    known = formats()
    runs = "\n".join(_RUN.findall(text))
    lower = text.lower()
    # In a table of hundreds of kinds the order of the table decides which name a secret gets, not where it stands.
    found: list[tuple[int, re.Match[str]]] = []
    for anchor, number in _anchored("start"):
        if anchor in runs:
            found += [(number, match) for match in _from(known[number].pattern, text, anchor)]
    numbers = {number for anchor, number in _anchored("around") if anchor in lower}
    words = {n for anchor, n in _anchored("inside") if anchor in runs} | {
        n for anchor, n in _anchored("near") if anchor in lower
    }
    numbers |= {n for n in words if known[n].pattern.search(runs)}
    for number in numbers:
        found += [(number, match) for match in known[number].pattern.finditer(text)]
    for number, match in sorted(found, key=lambda pair: (pair[0], pair[1].start())):
        group = 1 if match.re.groups else 0
        yield known[number].kind, match.start(group), match.end(group)


def _from(pattern: re.Pattern[str], text: str, anchor: str) -> Iterator[re.Match[str]]:
    place = text.find(anchor)
    while place >= 0:
        match = pattern.match(text, place)
        if match:
            yield match
        place = text.find(anchor, match.end() if match else place + 1)
