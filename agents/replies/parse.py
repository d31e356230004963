"""A reply taken apart into files, edits and reasons. Whatever the model wrote, this does not raise."""

from __future__ import annotations

from collections.abc import Sequence

from agents.replies import sections, where
from agents.replies.fences import DIVIDER, REPLACE, SEARCH, Block, split
from agents.replies.types import EditBlock, FileBlock, Reply

MAX_CHARS = 2_000_000
MAX_EDITS = 500
MAX_PROBLEMS = 30


def parse_reply(text: str, *, truncated: bool = False) -> Reply:
    """Take a reply apart; `truncated` says that the model was cut off, so a block without an end is not used."""
    problems: list[str] = []
    if len(text) > MAX_CHARS:
        text, truncated = text[:MAX_CHARS], True
        problems.append(f"The reply is longer than {MAX_CHARS} characters; the rest was not read.")
    parts = split(text)
    reply = Reply()
    problems += parts.problems
    kept: list[str] = []
    pathless: list[int] = []
    for block in parts.blocks:
        _read_block(block, reply, problems, kept, pathless, truncated=truncated)
    if len(reply.edits) > MAX_EDITS:
        problems.append(f"The reply holds more than {MAX_EDITS} edits, so none of them is used: send whole files.")
        reply.edits = []
    if pathless and not reply.files and not reply.edits:
        rows = ", ".join(map(str, pathless[:5]))
        problems.append(f"No path was given for the code at line {rows}: write ```python path=src/name.py above it.")
    _settle_doubles(reply, problems)
    reply.diagnosis, lacking = sections.find_diagnosis(parts.prose)
    reply.decisions, wrong = sections.find_decisions(parts.prose)
    reply.packages, odd = sections.find_packages(parts.prose)
    reply.verdict, unclear = sections.find_verdict(parts.prose)
    prose = "\n".join([*parts.thinking, *parts.prose, *kept])
    reply.thought = "\n".join(line.rstrip() for line in prose.splitlines() if line.strip())
    reply.problems = [*problems, *lacking, *wrong, *odd, *unclear][:MAX_PROBLEMS]
    return reply


def _read_block(
    block: Block, reply: Reply, problems: list[str], kept: list[str], pathless: list[int], *, truncated: bool
) -> None:
    language = where.info_language(block.info)
    path, lines = where.info_path(block.info) or where.path_above(block.above, language), block.lines
    in_comment, label_only = where.path_in_comment(lines, language)
    if in_comment and (not path or in_comment == path):
        path, lines = path or in_comment, lines[1:] if label_only else lines
    marked = any(SEARCH.match(line) for line in lines)
    if not path:
        if marked:
            problems.append(f"The edit at line {block.first} names no file: write its path in the fence.")
        elif not where.is_output(language) and language != "json":
            pathless.append(block.first)
        kept += lines
        return
    if not block.closed:
        problems.append(
            f"The block for {path[:200]} has no end" + ("; it was cut off and is not used." if truncated else ".")
        )
        if truncated:
            return
    if marked or any(REPLACE.match(line) for line in lines):
        edits, wrong = _edits(path, lines)
        problems += wrong
        reply.edits += edits
    elif language in ("diff", "patch") and not path.endswith((".diff", ".patch")):
        problems.append(f"{path[:200]} came as a diff: send the whole file, or SEARCH/REPLACE blocks.")
    else:
        content = "\n".join(lines).rstrip("\n")
        reply.files.append(FileBlock(path, content + "\n" if content.strip() else ""))


def _edits(path: str, lines: Sequence[str]) -> tuple[list[EditBlock], list[str]]:
    """The search/replace pairs of a block; one pair without its marks spoils the whole block."""
    edits: list[EditBlock] = []
    search: list[str] = []
    replace: list[str] = []
    state = "outside"
    bad = [f"The edit of {path[:200]} is not whole: it needs <<<<<<< SEARCH, =======, >>>>>>> REPLACE, in this order."]
    for line in lines:
        if SEARCH.match(line):
            if state != "outside":
                return [], bad
            state, search, replace = "search", [], []
        elif state == "search" and DIVIDER.match(line):
            state = "replace"
        elif REPLACE.match(line):
            if state != "replace":
                return [], bad
            edits.append(EditBlock(path, _joined(search), _joined(replace)))
            state = "outside"
        elif state == "search":
            search.append(line)
        elif state == "replace":
            replace.append(line)
    return (edits, []) if state == "outside" and edits else ([], bad)


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _settle_doubles(reply: Reply, problems: list[str]) -> None:
    """Of a file given twice the last one counts: models correct themselves as they write."""
    last = {file.path: file for file in reply.files}
    for path in last:
        if len({file.content for file in reply.files if file.path == path}) > 1:
            problems.append(f"{path[:200]} was given more than once; the last one counts.")
    reply.files = list(last.values())
