"""Licence headers of files: prompts leave them out, and a file that is written whole gets its header back."""

from __future__ import annotations

import re

LEAST = 3  # lines; a shorter header costs less than saying that it is left out
_TOP = re.compile(
    r"(?P<first>\ufeff?(?:#![^\n]*\n)?)"
    r"(?P<header>\s*(?:(?:[ \t]*(?:#(?!!)|//|--|;)[^\n]*\n)+|/\*.*?\*/[ \t]*\r?\n|<!--.*?-->[ \t]*\r?\n)"
    r"(?:[ \t]*\r?\n)*)",
    re.DOTALL,
)
_END = re.compile(r"(?:\n[ \t]*(?:(?:#|//)[^\n]*)?)+\Z")
_LICENCE = re.compile(r"\bcopyright\b|\blicen[cs]|SPDX-", re.IGNORECASE)


def without_licence(text: str) -> str:
    """The text without a comment at its top that speaks of copyright or licence."""
    first, header = _top(text)
    return first + text[len(first) + len(header) :] if header else text


def without_licence_below(text: str) -> str:
    """The text without a comment at its end that speaks of copyright or licence."""
    found = _END.search(text)
    told = found is not None and found[0].strip().count("\n") + 1 >= LEAST and _LICENCE.search(found[0])
    return text[: found.start()] + "\n" if found is not None and told else text


def with_licence(before: str, content: str) -> str:
    """The new content of a file, with the header of `before` unless it brings one."""
    _, header = _top(before)
    if not header or _top(content)[1] or not content.strip():
        return content
    kept = content[: content.find("\n") + 1] if content.startswith("#!") else ""
    return f"{kept}{header}{content[len(kept) :]}"


def _top(text: str) -> tuple[str, str]:
    """What stands before the licence header, and the header with the empty lines after it; "" for none."""
    found = _TOP.match(text)
    if found is None or found["header"].strip().count("\n") + 1 < LEAST or not _LICENCE.search(found["header"]):
        return "", ""
    return found["first"], found["header"]
