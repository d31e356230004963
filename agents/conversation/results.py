"""Results of commands: made by the tools, and shown in the next prompt as whole lines with a fair share of its room."""

from __future__ import annotations

from collections.abc import Sequence

from agents.conversation.state import Command, Excerpt, FileChange, ToolResult
from agents.prompts.provenance import Material, Source, joined, label
from agents.repair.feedback import clip
from agents.secrets.redaction import redact

SHOWN_LINES, SHOWN_CHARS = 400, 16_000  # of a file in a prompt


def done(
    command: Command, output: str, source: Source = Source.PRODUCT, changes: Sequence[FileChange] = ()
) -> ToolResult:
    """A command that succeeded."""
    return ToolResult(command.tool, command.title, True, output, source.value, changes=list(changes))


def failed(command: Command, why: str, *next_steps: str) -> ToolResult:
    """A command that did not succeed, and what can be done next."""
    steps = list(next_steps) or ["retry", "adjust", "skip"]
    return ToolResult(command.tool, command.title, False, f"ERROR: {why}", next_steps=steps)


def refused(command: Command, why: str = "") -> ToolResult:
    """A command that a person did not allow; `why` it was asked about, so that the model can do it differently."""
    what = f"The person said no. They were warned: {why.rstrip('.')}." if why else "The person said no."
    result = failed(command, f"{what} Do not try it again; ask what is wanted, or go on without.", "skip")
    result.refused = True
    return result


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
