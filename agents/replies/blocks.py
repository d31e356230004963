"""Fenced and tagged blocks read as files and edits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from agents.replies import block_paths
from agents.replies.diffs import Diff, is_diff, looks_like_diff, read_diff
from agents.replies.fences import ANY_SEARCH, DIVIDER, REPLACE, SEARCH, Block, split
from agents.replies.normalize import clean_path, is_pattern, mended, without_plus
from agents.replies.other_formats import several
from agents.replies.source import compiles, without_talk, written_in
from agents.replies.types import EditBlock, FileBlock

MAX_EDITS = 500
_PATHED = re.compile(r"^\s{0,12}(?:`{3,}|~{3,})\w*[ \t]+(?:path|file|filename)=\S")
_PREAMBLE = re.compile(r"^(?:#!|# -\*-|---$|# ?[-=*#~]{3,}$)")


@dataclass
class BlockReader:
    """Collects what the blocks of one reply hold; `truncated` says that the reply was cut off."""

    truncated: bool
    files: list[FileBlock] = field(default_factory=list)
    edits: list[EditBlock] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)  # lines of blocks that are not files
    _pathless: list[int] = field(default_factory=list)
    _diff: Diff = field(default_factory=Diff)

    def read(self, blocks: Sequence[Block]) -> None:
        """Read all blocks of a reply."""
        for block in blocks:
            self._read(block)
        # A diff beside the whole file only explains it.
        given = {file.path for file in self.files}
        self.files += [file for file in self._diff.files if file.path not in given]
        self.edits += [edit for edit in self._diff.edits if edit.path not in given]
        if len(self.edits) > MAX_EDITS:
            self.problems.append(
                f"The reply holds more than {MAX_EDITS} edits, so none of them is used: send whole files."
            )
            self.edits = []

    def note_pathless(self) -> None:
        """Report code without a path, where nothing else was found."""
        if self._pathless and not self.files and not self.edits:
            rows = ", ".join(map(str, self._pathless[:5]))
            self.problems.append(f"No path= was given for the code at line {rows}.")

    def _read(self, block: Block) -> None:
        language = block_paths.info_language(block.info)
        named = clean_path(block_paths.info_path(block.info))
        # First, because `--- a/name.py` also reads as a comment with a path.
        marked_diff = language in ("diff", "patch") and is_diff(block.lines)
        in_code = written_in(named, language) is not None and looks_like_diff(block.lines)
        if (marked_diff or (in_code and (named or is_diff(block.lines)))) and not named.endswith((".diff", ".patch")):
            if self.truncated and not block.closed:
                self.problems.append(f"The diff at line {block.first} has no end; it was cut off and is not used.")
            else:
                self._read_diff(block.lines, named)
            return
        path, lines, marked = _located(block, language)
        if is_pattern(path):
            self.problems.append(f"{path!r} is the pattern, not a path: write the file's own.")
            return
        if not path:
            if marked:
                self.problems.append(f"The edit at line {block.first} names no file: write its path in the fence.")
            elif not block_paths.is_output(language) and language != "json":
                self._pathless.append(block.first)
            self.other += lines
            return
        if not block.closed:
            ending = "; it was cut off and is not used." if self.truncated else "."
            self.problems.append(f"The block for {path[:200]} has no end{ending}")
            if self.truncated:
                return
        self._read_file(path, lines, language, marked=marked)

    def _read_file(self, path: str, lines: list[str], language: str, *, marked: bool) -> None:
        if marked:
            edits, wrong, beside = _edits(path, lines)
            self.problems += wrong
            self.edits += edits
            if edits and (found := written_in(path, language)) and found.definitions(path, beside):
                self.files.append(FileBlock(path, beside))  # definitions beside the edits: a part of the file too
        elif language in ("diff", "patch") and not path.endswith((".diff", ".patch")):
            if (added := without_plus("\n".join(lines))) is not None:
                self.files.append(FileBlock(path, added.rstrip("\n") + "\n"))
            else:
                self._read_diff(lines, path)
        else:
            content = mended(path, "\n".join(lines).rstrip("\n")).rstrip("\n")
            if (code := without_talk(path, content)) is not None:
                self.problems.append(f"The block for {path[:200]} ran on into other words; they were cut off.")
                content = code.rstrip("\n")
            self.files.append(FileBlock(path, content + "\n" if content.strip() else ""))

    def _read_diff(self, lines: Sequence[str], path: str) -> None:
        diff = read_diff(lines, path)
        self.problems += diff.problems
        self._diff.files += [replace(file, path=clean_path(file.path)) for file in diff.files]
        self._diff.edits += [replace(edit, path=clean_path(edit.path)) for edit in diff.edits]


def _located(block: Block, language: str) -> tuple[str, list[str], bool]:
    """The path of a block, its lines without a label, and whether they are search/replace edits."""
    path, lines = block_paths.info_path(block.info) or block_paths.path_over(block.above, language), block.lines
    path = clean_path(path)
    first = next((at for at, line in enumerate(lines[:4]) if line.strip() and not _PREAMBLE.match(line)), 0)
    in_comment, label_only = block_paths.path_in_comment(lines[first:], language)
    if label_only and first:
        lines = [line for line in lines[first : first + 2] if line != "---"] + lines[first + 2 :]
    if in_comment and (not path or in_comment == path):
        path, lines = path or in_comment, lines[1:] if label_only else lines
    marked = _is_edit(path, lines)
    if marked and not path and block_paths.looks_like_path(lines[0].strip()):
        path, lines = lines[0].strip(), lines[1:]
    return path, lines, marked


def regrouped(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks as they are meant: a fence around other fences opened, one with several files split, an empty one
    with a path joined to the code that follows it."""
    waiting: Block | None = None
    for block in blocks:
        language, path = block_paths.info_language(block.info), block_paths.info_path(block.info)
        if waiting is not None:
            if path or block.above or block_paths.is_output(language) or not any(line.strip() for line in block.lines):
                yield waiting
            else:
                block, path = replace(block, info=waiting.info), block_paths.info_path(waiting.info)
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


def _is_edit(path: str, lines: Sequence[str]) -> bool:
    """Does a block hold edits, or half of one? Code that compiles is a file, whatever its texts say."""
    strict = any(SEARCH.match(line) or (line[:4] == ">>>>" and REPLACE.match(line)) for line in lines)
    if not strict:
        marks = (ANY_SEARCH, DIVIDER, REPLACE)
        at = 0
        for line in lines:
            at += at < len(marks) and marks[at].match(line) is not None
        if at < len(marks):
            return False
    return not (path and compiles(path, "\n".join(lines)))


def _edits(path: str, lines: Sequence[str]) -> tuple[list[EditBlock], list[str], str]:
    """The search/replace pairs of a block, and what stands outside of them; one pair without its marks spoils all."""
    edits: list[EditBlock] = []
    search: list[str] = []
    replace: list[str] = []
    beside: list[str] = []
    state = "outside"
    bad = [f"The edit of {path[:200]} is incomplete: it needs <<<<<<< SEARCH, =======, >>>>>>> REPLACE, in this order."]
    for line in lines:
        if ANY_SEARCH.match(line):
            if state != "outside":
                return [], bad, ""
            state, search, replace = "search", [], []
        elif state == "search" and DIVIDER.match(line):
            state = "replace"
        elif state == "search" and line.strip() == "</search>":
            continue
        elif REPLACE.match(line):
            if state != "replace":
                return [], bad, ""
            edits.append(EditBlock(path, _joined(search), _joined(replace)))
            state = "outside"
        elif state == "search":
            search.append(line)
        elif state == "replace":
            replace.append(line)
        else:
            beside.append(line)
    return (edits, [], _joined(beside).strip("\n") + "\n") if state == "outside" and edits else ([], bad, "")


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
