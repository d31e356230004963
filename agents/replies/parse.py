"""A reply read as files, edits and reasons. Whatever the model wrote, this does not raise.

Each form of reply has a reader in `READERS`; the first that recognises the text and finds something in it answers.
apply.py makes the new contents of files from its FileBlocks and EditBlocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.replies import block_paths, sections
from agents.replies.blocks import MAX_EDITS, BlockReader, regrouped
from agents.replies.fences import Block, split
from agents.replies.filejson import Found, find_json, said_in
from agents.replies.normalize import clean_path, is_pattern, mended
from agents.replies.other_formats import foreign_files
from agents.replies.tags import first_tag, split_tags, usual_brackets
from agents.replies.turns import answer_of, without_tokens
from agents.replies.types import EditBlock, FileBlock, Reply, ReplyFormat

MAX_CHARS = 2_000_000
MAX_PROBLEMS = 30


@dataclass(frozen=True)
class ReplyText:
    """A reply to be read: its text, whether it was cut off, the format that was asked for, and problems so far."""

    text: str
    truncated: bool
    wanted: ReplyFormat | None
    problems: tuple[str, ...] = ()

    @cached_property
    def fenced(self) -> Reply:
        """The reply read as prose and fences."""
        return _read_fences(self)

    @cached_property
    def json(self) -> Found | None:
        """What JSON there is in the reply."""
        return find_json(self.text, truncated=self.truncated)


@dataclass(frozen=True)
class ReplyReader:
    """Reads one form of reply; `reads` gives None when the form is only mentioned, so that the next reader tries."""

    name: str
    recognises: Callable[[ReplyText], bool]
    reads: Callable[[ReplyText], Reply | None]


def parse_reply(text: str, *, truncated: bool = False, protocol: ReplyFormat | None = None) -> Reply:
    """Read a reply; `truncated` says that the model was cut off, so a block without an end is not used.

    `protocol` is what was asked for; models keep to what they are used to, so every form is understood all the same.
    """
    problems: tuple[str, ...] = ()
    text = without_tokens(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if len(text) > MAX_CHARS:
        text, truncated = text[:MAX_CHARS], True
        problems = (f"The reply is longer than {MAX_CHARS} characters; the rest was not read.",)
    source = ReplyText(usual_brackets(answer_of(text)), truncated, protocol, problems)
    replies = (reader.reads(source) for reader in READERS if reader.recognises(source))
    return next(reply for reply in replies if reply is not None)


def _read_tags(source: ReplyText) -> Reply:
    """A reply in tags, or in fences with tags beside them."""
    parts = split_tags(source.text)
    outside = split("\n".join(parts.prose))
    reader = BlockReader(source.truncated, problems=[*source.problems, *parts.problems, *outside.problems])
    tagged = [Block(f"path={path!r}", lines, (), first, closed) for path, lines, first, closed in parts.blocks]
    reader.read([*tagged, *outside.blocks])
    fenced = not parts.blocks and (reader.files or reader.edits)
    reply = Reply(protocol="fences" if fenced else "tags")
    return _finished(reply, reader, outside.prose, [*outside.thinking, *outside.prose, *reader.other])


def _read_fences(source: ReplyText) -> Reply:
    parts = split(source.text)
    reader = BlockReader(source.truncated, problems=[*source.problems, *parts.problems])
    reader.read(list(regrouped(parts.blocks)))
    reader.note_pathless()
    return _finished(Reply(), reader, parts.prose, [*parts.thinking, *parts.prose, *reader.other])


def _read_json(source: ReplyText) -> Reply | None:
    return None if source.json is None else _from_json(source, source.json)


def _read_broken_json(source: ReplyText) -> Reply | None:
    """JSON without a file: what is wrong with it, where JSON was asked for."""
    found = find_json(source.text, truncated=source.truncated, certain=source.wanted == "json")
    return None if found is None else _from_json(source, found)


def _from_json(source: ReplyText, found: Found) -> Reply:
    reader = BlockReader(source.truncated, problems=[*source.problems, *found.problems])
    for path, content in found.files:
        path = clean_path(path)
        if not is_pattern(path):
            text = mended(path, content.replace("\r\n", "\n")).rstrip("\n")
            reader.files.append(FileBlock(path, text + "\n" if text.strip() else ""))
    reader.edits = [EditBlock(path, _ended(old), _ended(new)) for path, old, new in found.edits[:MAX_EDITS]]
    prose = [*found.prose, *said_in(found.values)]
    return _finished(Reply(protocol="json"), reader, prose, prose)


def _read_other_formats(source: ReplyText) -> Reply | None:
    languages = ((block, block_paths.info_language(block.info)) for block in split(source.text).blocks)
    shell = [block.lines for block, language in languages if block_paths.is_shell(language)]
    files = foreign_files(source.text, shell if "<<" in source.text else [])
    if not files:
        return None
    reply = source.fenced
    reply.files = [FileBlock(clean_path(path), content) for path, content in files]
    reply.files = _last_of_each(reply.files, reply.problems)
    return reply


def _finished(reply: Reply, reader: BlockReader, prose: Sequence[str], thought: Sequence[str]) -> Reply:
    """What all forms have in common: one version of each file, reasons in prose, problems in order."""
    problems = list(reader.problems)
    reply.files, reply.edits = _last_of_each(reader.files, problems), reader.edits
    reply.diagnosis, lacking = sections.find_diagnosis(prose)
    reply.decisions, wrong = sections.find_decisions(prose)
    reply.packages, odd = sections.find_packages(prose)
    reply.removals = sections.find_removals(prose)
    reply.verdict, unclear = sections.find_verdict(prose)
    words = "\n".join(thought)
    reply.thought = "\n".join(line.rstrip() for line in words.splitlines() if line.strip())
    reply.problems = [*problems, *lacking, *wrong, *odd, *unclear][:MAX_PROBLEMS]
    return reply


def _last_of_each(files: Sequence[FileBlock], problems: list[str]) -> list[FileBlock]:
    """Of a file given twice the last one counts: models correct themselves as they write."""
    last = {file.path: file for file in files}
    for path in last:
        if len({file.content for file in files if file.path == path}) > 1:
            problems.append(f"{path[:200]} was given more than once; the last one counts.")
    return list(last.values())


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _is_json(source: ReplyText) -> bool:
    return source.wanted == "json" or source.text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def _has_files(reply: Reply) -> bool:
    return bool(reply.files or reply.edits)


def _json_has_files(source: ReplyText) -> bool:
    return source.json is not None and bool(source.json.files or source.json.edits)


READERS = (
    ReplyReader("tags", lambda source: first_tag(source.text) is not None, _read_tags),
    # Before fences, because code in its strings may hold fences of its own.
    ReplyReader("json", _is_json, _read_json),
    ReplyReader("fences", lambda source: _has_files(source.fenced), lambda source: source.fenced),
    ReplyReader("json inside text", _json_has_files, _read_json),
    ReplyReader("other formats", lambda source: not source.truncated, _read_other_formats),
    ReplyReader("broken json", lambda source: True, _read_broken_json),
    ReplyReader("prose", lambda source: True, lambda source: source.fenced),
)
