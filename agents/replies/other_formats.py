"""Files in forms that other tools ask models for; looked at only where a reply holds none in our own.

Here-documents of a shell, patches that add files, elements of other assistants' tools, and code below its name without
any fence. Nothing is run: a command is read for the file that it would write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from agents.replies.block_paths import looks_like_path, path_in_comment
from agents.replies.normalize import without_plus
from agents.replies.source import compiles, is_broken

MAX_FILES = 100
_HEREDOC = re.compile(
    r"^\s*(?:\$ )?(?:sudo )?(?:cat|tee)\b(?=[^\n]*<<)(?=[^\n]{0,400}?(?:>\s*"
    r"|tee (?:-a )?)(?P<path>[\w./-]{1,300}))[^\n]{0,400}?<<-?\s*[\"'\\]?(?P<end>\w{1,40})[\"']?"
)
_ADDED = re.compile(r"^\*\*\* Add File: (\S.{0,400}?)\s*$")
_NEW = re.compile(r"^\+\+\+ (?:b/)?(\S.{0,400}?)\s*$")
_NAMES = "path|file_path|filepath|filename|file|source|target_file"
_CONTENTS = "content|contents|code|document_content|file_text|text|file_content"
_PATH_ELEMENT = re.compile(
    rf"<(?:parameter[= ](?:name=)?\"?)?(?:{_NAMES})\"?>\s*(?P<path>[^<>\n]{{1,400}}?)\s*</\w{{1,40}}>", re.I
)
_CONTENT_ELEMENT = re.compile(
    rf"\s{{0,20}}<(?P<tag>parameter(?=[= ])|(?:{_CONTENTS})(?=>))(?:[= ](?:name=)?\"?(?:{_CONTENTS})\"?)?>\n?", re.I
)
_NAMED_ELEMENT = re.compile(
    r"^[ \t]{0,12}<(?P<tag>[A-Za-z]\w{1,30})\s[^<>\n]{0,200}?\b(?:path|filePath|file_path|filename|file"
    r"|name)=[\"'](?P<path>[^\"'<>\n]{1,400})[\"'][^<>\n]{0,200}>\n?",
    re.M,
)
_PATH_AS_TAG = re.compile(r"^<(?P<tag>(?:file:)?(?P<path>[\w.-]+(?:/[\w.-]+)*\.\w{1,8}))>\n", re.M)
_TITLE = re.compile(
    r"^(?:#+ |// )?(?:(?:File(?: ?name)?|Path)(?: \d{1,3})?:\s*"
    r"|[=*-]{2,} ?)?`?(?P<path>[\w.-]+(?:/[\w.-]+)*\.\w{1,8})`?(?: ?[=*-]{2,})?$"
)


def foreign_files(text: str, shell: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Path and content of each file, in the first of these forms that holds any; `shell` is the blocks of commands."""
    written = (each for lines in shell for each in _heredocs(lines))
    found = (list(islice(files, MAX_FILES)) for files in (written, _patched(text), _elements(text), _untold(text)))
    return next(filter(None, found), [])


def _heredocs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    row = 0
    while row < len(lines):
        opening = _HEREDOC.match(lines[row]) if "<<" in lines[row] and len(lines[row]) < 1_000 else None
        row += 1
        if opening is None:
            continue
        start = row
        while row < len(lines) and lines[row].strip() != opening["end"]:
            row += 1
        if row < len(lines) and opening["path"] != "/dev/null":
            yield opening["path"], "".join(f"{line}\n" for line in lines[start:row])


def _patched(text: str) -> Iterator[tuple[str, str]]:
    """Files that a patch adds whole; one that changes a file is not enough to know what the file is."""
    if "\n+" not in text:
        return
    lines = text.split("\n")
    for row, line in enumerate(lines):
        found = _ADDED.match(line) or (_NEW.match(line) if row and lines[row - 1].startswith("--- /dev/null") else None)
        if found is None:
            continue
        end = row + 1
        while end < len(lines) and (lines[end][:1] in ("+", "") or lines[end].startswith("@@ -0,0")):
            end += 1
        if (content := without_plus("\n".join(lines[row + 1 : end]))) is not None:
            yield found[1], content.rstrip("\n") + "\n"


def _elements(text: str) -> Iterator[tuple[str, str]]:
    for pattern in (_PATH_ELEMENT, _NAMED_ELEMENT, _PATH_AS_TAG):
        at, any_ = 0, False
        while (found := pattern.search(text, at)) is not None:
            at = start = found.end()
            tag = found.groupdict().get("tag")
            if tag is None:
                opening = _CONTENT_ELEMENT.match(text, start)
                if opening is None:
                    continue
                start, tag = opening.end(), opening["tag"]
            end = text.find(f"</{tag}>", start)
            if end < 0:
                break
            if looks_like_path(found["path"].strip()):
                any_ = True
                yield found["path"].strip(), text[start:end]
            at = end
        if any_:
            return


def _untold(text: str) -> Iterator[tuple[str, str]]:
    """Code below a line that is its path, without any fence; all of it must compile."""
    lines = text.strip().split("\n")
    if "```" in text or len(lines) < 3 or _TITLE.match(lines[0]) is None:
        return
    parts: list[tuple[str, list[str]]] = []
    for row, line in enumerate(lines):
        title = _TITLE.match(line) if len(line) < 400 and (row == 0 or not lines[row - 1].strip()) else None
        if title is not None:
            parts.append((title["path"], []))
        else:
            parts[-1][1].append(line)
    files = [(path, "\n".join(body).strip("\n") + "\n") for path, body in parts]
    if all(body.strip() and compiles(path, body) for path, body in files):
        yield from files


def several(lines: Sequence[str], language: str) -> list[tuple[str, list[str]]]:
    """The files of one block that holds several, each below a comment with its path; [] when it holds one."""
    parts: list[tuple[str, list[str]]] = []
    for row, line in enumerate(lines):
        path = ""
        if line[:1] in ("#", "/") and (row == 0 or not lines[row - 1].strip()):
            path, _ = path_in_comment([line], language)
        if path:
            parts.append((path, []))
        elif parts:
            parts[-1][1].append(line)
        elif line.strip():
            return []
    whole = len({path for path, _ in parts}) == len(parts) > 1 and all("".join(body).strip() for _, body in parts)
    sound = not any(is_broken(path, "\n".join(body)) for path, body in parts)
    return parts if whole and sound else []
