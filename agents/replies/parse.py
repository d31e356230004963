"""A reply taken apart into files, edits and reasons. Whatever the model wrote, this does not raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.replies import sections, where
from agents.replies.fences import DIVIDER, REPLACE, SEARCH, Block, split
from agents.replies.filejson import Found, find_json
from agents.replies.tags import first_tag, split_tags
from agents.replies.tails import without_talk, without_tokens
from agents.replies.types import EditBlock, FileBlock, Protocol, Reply

MAX_CHARS = 2_000_000
MAX_EDITS = 500
MAX_PROBLEMS = 30
MAX_WISHES = 50
_REASONS = ("cause", "evidence", "hypothesis", "plan")


def parse_reply(text: str, *, truncated: bool = False, protocol: Protocol | None = None) -> Reply:
    """Take a reply apart; `truncated` says that the model was cut off, so a block without an end is not used.

    `protocol` is what was asked for; models keep to what they are used to, so every form is understood all the same.
    """
    problems: list[str] = []
    text = without_tokens(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if len(text) > MAX_CHARS:
        text, truncated = text[:MAX_CHARS], True
        problems.append(f"The reply is longer than {MAX_CHARS} characters; the rest was not read.")
    if first_tag(text) is not None and (tagged := _tagged(text, problems, truncated=truncated)) is not None:
        return tagged
    if protocol == "json" or text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        # First, because code in its strings may hold fences of its own.
        found = find_json(text, truncated=truncated)
        if found is not None:
            return _from_json(found, problems)
    reply = _fenced(text, list(problems), truncated=truncated)
    if reply.files or reply.edits:
        return reply
    found = find_json(text, truncated=truncated, certain=protocol == "json")
    return reply if found is None else _from_json(found, problems)


def _fenced(text: str, problems: list[str], *, truncated: bool) -> Reply:
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
    _finish(reply, parts.prose, [*parts.thinking, *parts.prose, *kept], problems)
    return reply


def _finish(reply: Reply, prose: Sequence[str], thought: Sequence[str], problems: Sequence[str]) -> None:
    """What all protocols have in common: reasons in prose, one version of each file, problems in order."""
    told = list(problems)
    _settle_doubles(reply, told)
    reply.diagnosis, lacking = sections.find_diagnosis(prose)
    reply.decisions, wrong = sections.find_decisions(prose)
    reply.packages, odd = sections.find_packages(prose)
    reply.verdict, unclear = sections.find_verdict(prose)
    words = "\n".join(thought)
    reply.thought = "\n".join(line.rstrip() for line in words.splitlines() if line.strip())
    reply.problems = [*told, *lacking, *wrong, *odd, *unclear][:MAX_PROBLEMS]


def _tagged(text: str, problems: list[str], *, truncated: bool) -> Reply | None:
    """A reply in tags; None when the tags were only spoken of and the files stand in fences."""
    parts = split_tags(text)
    outside = split("\n".join(parts.prose))
    reply = Reply(protocol="tags", wishes=parts.wishes[:MAX_WISHES])
    told = [*problems, *parts.problems, *outside.problems]
    kept: list[str] = []
    for path, lines, first, closed in parts.blocks:
        _read_block(Block(f"path={path!r}", lines, "", first, closed), reply, told, kept, [], truncated=truncated)
    for block in outside.blocks:
        _read_block(block, reply, told, kept, [], truncated=truncated)
    if len(reply.edits) > MAX_EDITS:
        told.append(f"The reply holds more than {MAX_EDITS} edits, so none of them is used: send whole files.")
        reply.edits = []
    if not parts.blocks and (reply.files or reply.edits):
        reply.protocol = "fences"
    _finish(reply, outside.prose, [*outside.thinking, *outside.prose, *kept], told)
    return reply


def _from_json(found: Found, problems: Sequence[str]) -> Reply:
    reply = Reply(protocol="json")
    for path, content in found.files:
        text = content.replace("\r\n", "\n").rstrip("\n")
        reply.files.append(FileBlock(path, text + "\n" if text.strip() else ""))
    reply.edits = [EditBlock(path, _ended(old), _ended(new)) for path, old, new in found.edits[:MAX_EDITS]]
    prose = [*found.prose, *_said(found.values)]
    _finish(reply, prose, prose, [*problems, *found.problems])
    return reply


def _said(values: Sequence[Mapping[str, Any]]) -> list[str]:
    """Diagnosis, decisions, packages and verdict of a JSON reply, as the lines they would be in prose."""
    lines: list[str] = []
    for value in values:
        diagnosis = value.get("diagnosis")
        source = diagnosis if isinstance(diagnosis, dict) else value
        lines += [
            f"{name.capitalize()}: {_one(source[name])}" for name in _REASONS if isinstance(source.get(name), str)
        ]
        if isinstance(diagnosis, str):
            lines += diagnosis.splitlines()
        packages = value.get("packages")
        if isinstance(packages, list):
            lines.append("Packages: " + ", ".join(_one(name) for name in packages[:50] if isinstance(name, str)))
        if isinstance(value.get("verdict"), str):
            lines.append(f"Verdict: {_one(value['verdict'])} - {_one(value.get('reason') or '')}")
        decisions = value.get("decisions")
        for row in decisions if isinstance(decisions, list) else []:
            if isinstance(row, str):
                lines.append(f"Decision: {_one(row)}")
            elif isinstance(row, dict):
                ids = row.get("requirements")
                target = " -> " + ", ".join(map(_one, ids)) if isinstance(ids, list) and ids else ""
                over = f" over {_one(row['rejected'])}" if row.get("rejected") else ""
                lines.append(
                    f"Decision: chose {_one(row.get('choice'))}{over} because {_one(row.get('reason'))}{target}"
                )
    return lines


def _one(value: Any) -> str:
    return " ".join(str(value or "").split())[:2_000]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


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
        if path.endswith(".py") and (code := without_talk(content)) is not None:
            problems.append(f"The block for {path[:200]} ran on into other words; they were cut off.")
            content = code.rstrip("\n")
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
