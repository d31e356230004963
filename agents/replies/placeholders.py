"""Noticing code that was left out: a file with "rest of the code" in it must never replace the real one."""

from __future__ import annotations

import re

_PROSE = (".md", ".markdown", ".rst", ".txt")
_NOTE = r"^\s*(?:#|//|/\*|\*|<!--|--|;|\{#|\{/\*)\s*"
# A docstring too; but what one asks for ("Implement the function f that …") may well stand below it.
_COMMENT = _NOTE.replace(")\\s*", r"""|\"\"\"|''')\s*""")
_LEFT_OUT = [
    re.compile(pattern, re.I)
    for pattern in (
        _COMMENT
        + r"(?:\.{3}|…)\s*\(?(?:the |your |all |any )?(?:rest|existing|remaining|other|same|previous|unchanged|more"
        r"|code|keep|as before|omitted)\b",
        _COMMENT + r"\W*(?:the )?(?:rest|remainder) of (?:the |your |this )?(?:\w+ )?(?:code|file|function|class|method"
        r"|module|implementation|tests?)\b",
        _COMMENT
        + r"\W*(?:existing|previous|remaining|unchanged|other) (?:\w+ )?(?:code|methods?|functions?|tests?|imports?"
        r"|content)\b[^.]{0,40}(?:here|unchanged|remains?|stays?|\.{3}|…)",
        _COMMENT + r".{0,40}\b(?:remains|stays|is|are) (?:the same|unchanged)\s*(?:\.{3}|…)?\s*(?:\*/|-->)?$",
        _COMMENT + r"\W*(?:code|content|implementation) (?:omitted|goes here|unchanged)\b",
        _COMMENT + r"\W*(?:your |the |full )?(?:code|contents?|implementation) here\W*$",
    )
]
_UNWRITTEN = [
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:TODO|FIXME|XXX)\b\W{0,4}(?:implement|add (?:the )?(?:implementation|code|logic)|write|finish|complete"
        r"|fill)\b",
        _COMMENT + r"\W*(?:add |put |write |insert )?your (?:code|implementation|logic) (?:goes )?here\b",
        _NOTE + r"\W*(?:implement|fill in) (?:this|me|here|later|the (?:logic|function|method|rest))\b",
        r"^\s*(?:pass|\.\.\.|return None|return)\s*#\s*(?:\W*)(?:implement|todo|fixme|placeholder|to be"
        r"|not implemented|your|add|replace|stub|fill)\b",
        _COMMENT + r"\W*placeholder (?:for|implementation|code|logic)\b",
    )
]


def find_placeholder(path: str, content: str, before: str) -> tuple[int, str] | None:
    """The first line (number, text) that stands for code left out; lines the file already had do not count."""
    patterns = _LEFT_OUT if path.lower().endswith(_PROSE) else [*_LEFT_OUT, *_UNWRITTEN]
    known = {line.strip() for line in before.splitlines()}
    for row, line in enumerate(content.splitlines(), start=1):
        if line.strip() in known:
            continue
        short = " ".join(line[:400].split())[:200]
        if any(pattern.search(short) for pattern in patterns):
            return row, line.strip()[:120]
    return None
