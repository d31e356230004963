"""The words of a model's reply: what can be stored of them, and the one line that stands for them in the stream."""

from __future__ import annotations

import re

_HEADING = re.compile(r"#{1,6}(?:\s|$)|[=-]{3,}$")
_CAUSE = re.compile(r"[*_]{0,2}cause[*_]{0,2}\s*:[*_]{0,2}\s*(\S.*)", re.IGNORECASE)
_AS_JSON = {
    "structure": "The plan, as JSON",
    "infer": "Requirements read between the lines",
    "todo.plan": "TODOs, as JSON",
    "todo.work": "The next tool, as JSON",
    "todo.judge": "The judgement of a TODO, as JSON",
    "todo.confirm": "Whether the task is complete, as JSON",
}
_MARK = re.compile(r"^(?:[-*+>]\s+|\d{1,3}[.)]\s+)+")


def plain(text: str) -> str:
    """A reply that every store, socket and file can hold: without lone surrogates or NUL characters."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def prose(text: str) -> str:
    """The words of a reply without its fenced blocks."""
    kept, fenced = [], ""
    for line in text.splitlines():
        mark = line.strip()[:3]
        if fenced:
            if line.strip().startswith(fenced) and line.strip().strip(fenced[0]) == "":
                fenced = ""
            continue
        if mark in ("```", "~~~"):
            fenced = mark
            continue
        kept.append(line)
    return "\n".join(kept).strip()


def first_sentence(text: str, step: str) -> str:
    """One line for the stream: of a diagnosis its cause, else the first sentence that is no heading."""
    lines = [line for raw in prose(text).splitlines() if (line := raw.strip())]
    said = [line for line in lines if not _HEADING.match(line)] or [line.lstrip("# ") for line in lines]
    cause = next((found[1] for line in said if (found := _CAUSE.match(line))), "")
    words = " ".join(_MARK.sub("", cause or " ".join(said)).split())
    if not words or words[0] in "{[":
        return _AS_JSON.get(step, f"Answered: {step}")
    end = min((i for i in (words.find(". "), words.find(": ")) if i > 20), default=len(words))
    return words[: min(end + 1, 240)]
