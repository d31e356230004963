"""The commands of a sed script that reach beyond its text."""

from __future__ import annotations

import re
from collections.abc import Iterator


def sed_effects(script: str) -> Iterator[tuple[str, str]]:
    """The commands of a sed script that reach beyond its text: e, w, W, r, R, and the flags e and w of s."""
    index, end = 0, len(script)

    def past(delimiter: str, start: int) -> int:
        while start < end and script[start] != delimiter:
            start += 2 if script[start] == "\\" else 1
        return start + 1

    while index < end:
        char = script[index]
        if char in " \t\n;{}!,+~" or char.isdigit() or char == "$":
            index += 1
        elif char == "/":
            index = past("/", index + 1)
            while index < end and script[index] in "IM":
                index += 1
        elif char == "\\" and index + 1 < end:
            index = past(script[index + 1], index + 2)
        elif char in "sy" and index + 1 < end:
            delimiter = script[index + 1]
            index = past(delimiter, past(delimiter, index + 2))
            flags = re.compile(r"[gpiImM0-9ew]*").match(script, index)
            used = flags[0] if flags else ""
            index += len(used)
            if char == "s" and "w" in used:
                line = script[index:].partition("\n")[0]
                yield "w", line.strip()
                index += len(line)
            if char == "s" and "e" in used:
                yield "e", ""
        elif char in "aic" or char in "rRwWe":
            line = script[index + 1 :].partition("\n")[0]
            if char in "rRwWe":
                yield char, re.split(r"[;}]\s*$", line)[0].strip()
            index += 1 + len(line)
        elif char in "bBtTvlLqQ:":
            index += 1 + len(re.split(r"[;\n}]", script[index + 1 :], maxsplit=1)[0])
        else:
            index += 1
