"""Results as a prompt shows them: whole lines of files, with how to read on, and a fair share of the room for each."""

from __future__ import annotations

from collections.abc import Sequence

from agents.conversation.state import Excerpt, ToolResult
from agents.prompts.provenance import Material, Source, joined, label
from agents.repair.feedback import clip
from agents.secrets.redaction import redact

SHOWN_LINES, SHOWN_CHARS = 400, 16_000  # of a file in a prompt


def page(excerpt: Excerpt, most: int = SHOWN_CHARS) -> str:
    """As many whole lines as fit into `most` characters; where they are not the whole file, which ones they are."""
    kept, size = list[str](), 0
    for row in excerpt.rows[:SHOWN_LINES]:
        size += len(row) + 1
        if kept and size > most:
            break
        kept.append(row)
    last, text = excerpt.first + len(kept) - 1, clip("\n".join(kept), most)
    if excerpt.first == 1 and last >= excerpt.total:
        return text
    where = f"lines {excerpt.first}-{last} of {excerpt.total}"
    onward = f"{last + 1}-{min(last + SHOWN_LINES, excerpt.total)}"
    note = f"[{where}]" if last >= excerpt.total else f"[{where}; <<READ: {excerpt.path}:{onward}>> goes on]"
    return f"{text}\n{note}"


def shown(result: ToolResult, share: int) -> Material:
    """A result in about `share` characters at the most."""
    text = result.output
    if len(text) > share:
        text = page(result.excerpt, share) if result.excerpt is not None else f"{text[:share]}\n… cut off"
    return joined([Material(f"{result.title}:", {Source.MODEL}), label(str(redact(text)), Source(result.source))], "\n")


def shares(lengths: Sequence[int], room: int) -> list[int]:
    """What each of several texts gets of the room: what short ones leave is for the long ones."""
    found, left = [0] * len(lengths), room
    for done, number in enumerate(sorted(range(len(lengths)), key=lengths.__getitem__)):
        found[number] = min(lengths[number], left // (len(lengths) - done))
        left -= found[number]
    return found
