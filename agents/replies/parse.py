"""A reply taken apart into files, edits and reasons. Whatever the model wrote, this does not raise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.replies import sections, where
from agents.replies.fences import ANY_SEARCH, DIVIDER, REPLACE, SEARCH, Block, split
from agents.replies.filejson import Found, find_json
from agents.replies.foreign import foreign_files, several
from agents.replies.mends import clean_path, is_pattern, mended, without_plus
from agents.replies.tags import first_tag, split_tags, usual_brackets
from agents.replies.tails import compiles, without_talk, without_tokens
from agents.replies.turns import answer_of
from agents.replies.types import EditBlock, FileBlock, Protocol, Reply

MAX_CHARS = 2_000_000
MAX_EDITS = 500
MAX_PROBLEMS = 30
MAX_WISHES = 50
_PATHED = re.compile(r"^\s{0,12}(?:`{3,}|~{3,})\w*[ \t]+(?:path|file|filename)=\S")
_PREAMBLE = re.compile(r"^(?:#!|# -\*-|---$|# ?[-=*#~]{3,}$)")
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
    text = usual_brackets(answer_of(text))
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
    if found is not None and (found.files or found.edits):
        return _from_json(found, problems)
    if not truncated and (foreign := foreign_files(text, _shell(text))):
        reply.files = [FileBlock(clean_path(path), content) for path, content in foreign]
        _settle_doubles(reply, reply.problems)
        return reply
    return reply if found is None else _from_json(found, problems)


def _shell(text: str) -> list[list[str]]:
    if "<<" not in text:
        return []
    return [block.lines for block in split(text).blocks if where.is_shell(where.info_language(block.info))]


def _fenced(text: str, problems: list[str], *, truncated: bool) -> Reply:
    parts = split(text)
    reply = Reply()
    problems += parts.problems
    kept: list[str] = []
    pathless: list[int] = []
    for block in _told_apart(parts.blocks):
        _read_block(block, reply, problems, kept, pathless, truncated=truncated)
    if len(reply.edits) > MAX_EDITS:
        problems.append(f"The reply holds more than {MAX_EDITS} edits, so none of them is used: send whole files.")
        reply.edits = []
    if pathless and not reply.files and not reply.edits:
        rows = ", ".join(map(str, pathless[:5]))
        problems.append(f"No path was given for the code at line {rows}: write ```python path=src/name.py above it.")
    _finish(reply, parts.prose, [*parts.thinking, *parts.prose, *kept], problems)
    return reply


def _told_apart(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks as they are meant: a fence around other fences opened, one with several files split, an empty one
    with a path joined to the code that follows it."""
    waiting: Block | None = None
    for block in blocks:
        language, path = where.info_language(block.info), where.info_path(block.info)
        if waiting is not None:
            if path or block.above or where.is_output(language) or not any(line.strip() for line in block.lines):
                yield waiting
            else:
                block, path = replace(block, info=waiting.info), where.info_path(waiting.info)
            waiting = None
        if path and block.closed and not any(line.strip() for line in block.lines):
            waiting = block
        elif not path and language in ("markdown", "md", "") and any(_PATHED.match(line) for line in block.lines):
            yield from split("\n".join(block.lines)).blocks
        elif not path and (files := several(block.lines, language)):
            for name, lines in files:
                yield replace(block, info=f"{language} path={name!r}", lines=lines)
        else:
            yield block
    if waiting is not None:
        yield waiting


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
        _read_block(Block(f"path={path!r}", lines, (), first, closed), reply, told, kept, [], truncated=truncated)
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
        path = clean_path(path)
        if is_pattern(path):
            continue
        text = mended(path, content.replace("\r\n", "\n")).rstrip("\n")
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
    path, lines = clean_path(where.info_path(block.info) or where.path_over(block.above, language)), block.lines
    first = next((at for at, line in enumerate(lines[:4]) if line.strip() and not _PREAMBLE.match(line)), 0)
    in_comment, label_only = where.path_in_comment(lines[first:], language)
    if label_only and first:
        lines = [line for line in lines[first : first + 2] if line != "---"] + lines[first + 2 :]
    if in_comment and (not path or in_comment == path):
        path, lines = path or in_comment, lines[1:] if label_only else lines
    marked = _is_edit(path, lines)
    if marked and not path and where.looks_like_path(lines[0].strip()):
        path, lines = lines[0].strip(), lines[1:]
    if is_pattern(path):
        problems.append(f"{path!r} is the pattern, not a path: write the file's own, like src/name.py.")
        return
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
    if marked:
        edits, wrong = _edits(path, lines)
        problems += wrong
        reply.edits += edits
    elif language in ("diff", "patch") and not path.endswith((".diff", ".patch")):
        if (whole := without_plus("\n".join(lines))) is not None:
            reply.files.append(FileBlock(path, whole.rstrip("\n") + "\n"))
            return
        problems.append(f"{path[:200]} came as a diff: send the whole file, or SEARCH/REPLACE blocks.")
    else:
        content = mended(path, "\n".join(lines).rstrip("\n")).rstrip("\n")
        if path.endswith(".py") and (code := without_talk(content)) is not None:
            problems.append(f"The block for {path[:200]} ran on into other words; they were cut off.")
            content = code.rstrip("\n")
        reply.files.append(FileBlock(path, content + "\n" if content.strip() else ""))


def _is_edit(path: str, lines: Sequence[str]) -> bool:
    """Does a block hold edits, or half of one? Python that compiles is a file, whatever its texts say."""
    strict = any(SEARCH.match(line) or (line[:4] == ">>>>" and REPLACE.match(line)) for line in lines)
    if not strict:
        marks = (ANY_SEARCH, DIVIDER, REPLACE)
        at = 0
        for line in lines:
            at += at < len(marks) and marks[at].match(line) is not None
        if at < len(marks):
            return False
    return not (where.is_python(path, "") and compiles("\n".join(lines)))


def _edits(path: str, lines: Sequence[str]) -> tuple[list[EditBlock], list[str]]:
    """The search/replace pairs of a block; one pair without its marks spoils the whole block."""
    edits: list[EditBlock] = []
    search: list[str] = []
    replace: list[str] = []
    state = "outside"
    bad = [f"The edit of {path[:200]} is not whole: it needs <<<<<<< SEARCH, =======, >>>>>>> REPLACE, in this order."]
    for line in lines:
        if ANY_SEARCH.match(line):
            if state != "outside":
                return [], bad
            state, search, replace = "search", [], []
        elif state == "search" and DIVIDER.match(line):
            state = "replace"
        elif state == "search" and line.strip() == "</search>":
            continue
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
