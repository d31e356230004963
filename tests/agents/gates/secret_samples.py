"""Made-up secrets of every known kind, drawn from the shapes themselves so that no real one stands in the code."""

import random
import re
import string
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from agents.secrets.formats import find_known, formats, is_placeholder


def sample(kind: str, seed: int = 1) -> str:
    """A text of the kind that its own pattern finds and that is no placeholder."""
    (entry,) = [entry for entry in formats() if entry.kind == kind]
    source = random.Random(f"{kind}{seed}")
    for _ in range(200):
        text = _draw(parser.parse(entry.pattern.pattern), source)
        if not any(anchor in text for anchor in entry.anchors):
            # Some shapes are only looked for in texts that speak of their vendor.
            text = f"{entry.anchors[0]} = {text}"
        found = [(start, end) for name, start, end in find_known(text) if name == kind]
        if found and not is_placeholder(text[slice(*found[0])]):
            return text
    raise AssertionError(f"no sample for {kind}")


def _draw(parts: Any, source: random.Random) -> str:
    out: list[str] = []
    for op, value in parts:
        name = str(op)
        if name == "LITERAL":
            out.append(chr(value))
        elif name in ("ANY", "NOT_LITERAL"):
            out.append(source.choice(string.ascii_letters))
        elif name == "IN":
            out.append(_one_of(value, source))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, inner = value
            out += [_draw(inner, source) for _ in range(source.randint(low, min(high, low + 12)))]
        elif name == "SUBPATTERN":
            out.append(_draw(value[3], source))
        elif name == "BRANCH":
            out.append(_draw(source.choice(value[1]), source))
    return "".join(out)


def _one_of(choices: Any, source: random.Random) -> str:
    pool = string.ascii_letters + string.digits + "_-./+="
    if str(choices[0][0]) == "NEGATE":
        rest = "[" + "".join(re.escape(c) for c in pool) + "]"
        refused = {chr(v) for op, v in choices[1:] if str(op) == "LITERAL"}
        return source.choice(
            [c for c in string.ascii_letters + string.digits if c not in refused and re.match(rest, c)]
        )
    options: list[str] = []
    for op, value in choices:
        if str(op) == "LITERAL":
            options.append(chr(value))
        elif str(op) == "RANGE":
            options += [chr(c) for c in range(value[0], value[1] + 1)]
        elif "DIGIT" in str(value):
            options += string.digits
        elif "SPACE" in str(value):
            options.append(" ")
    return source.choice(options)
