"""Files as JSON, in the shapes that models send them in, and as half JSON.

Code in JSON is where small models slip: line ends and quotes that were not escaped, strings that never end. So the
strings are looked for themselves when the whole cannot be read, and what was mended must at least compile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.languages.python import syntax
from agents.languages.registry import language_of
from agents.replies.block_paths import looks_like_path
from agents.replies.jsonish import MAX_CHARS, MAX_DEPTH, MAX_REPAIR_CHARS, depth_of, mended
from agents.replies.source import compiles, is_broken, without_talk

MAX_PARTS = 200
_PATHS = ("path", "file", "filename", "file_name", "filepath", "file_path", "relative_path")
_NAMES = ("name", "target")  # a path only when they look like one
_CONTENTS = ("content", "contents", "code", "text", "body", "source", "file_text", "data", "new_content", "lines")
_SEARCHES = ("search", "old", "old_str", "old_string", "find", "before", "original")
_REPLACES = ("replace", "new", "new_str", "new_string", "replacement", "after", "updated")
_ARGUMENTS = ("arguments", "parameters", "input", "args", "function", "tool_input")
_PROSE = ("thought", "thoughts", "thinking", "reasoning", "explanation", "analysis", "summary", "comment", "notes")
_TAGGED = re.compile(
    r"<(?:tool_call|function_call|tools?)>\s*(.*?)\s*(?:</(?:tool_call|function_call|tools?)>|\Z)", re.S
)
_FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*(?:json5?|jsonc)?[ \t]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.S | re.M | re.I
)
_KEYED = re.compile(
    r"(?:[\"']|\b)(?:path|file|filename|file_name|filepath|file_path)(?:[\"']\s*[:=]?|\s*[:=])\s*[\"'](?P<path>[^\"'\n]{1,400})[\"']\s*,?\s*"
    r"(?:[\"']|\b)(?:content|contents|code|text|body|source)(?:[\"']\s*[:=]?|\s*[:=])\s*(?P<mark>\"\"\"|'''|[\"'`])"
)
_MORE = re.compile(r"[\s,]*(?=[{\[])")
_LATER = re.compile(r"^(?=[{\[])", re.M)
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda name: None)
_LONG_QUOTES = re.compile(r"\"{3}|'{3}")
_AFTER = re.compile(r"\s*(?:\}\s*(?:[,\]}{]|\Z)|,\s*[\"'][A-Za-z_]{1,30}[\"']\s*:)")
_PIECES = re.compile(r"(?<!\\)\"\s*\+\s*\n?\s*\"")
_INSIDE = re.compile(r"[{\[]\s*[\"{\[]")
_FOLDERS = ("directory", "dir", "folder")
_WRAPPERS = frozenset(
    (
        "files file changes edits actions result results response answer output data content solution code arguments "
        "parameters input args function params project patch updates new_files modified created create update updated "
        "write new modify edit payload body action_input tree"
    ).split()
)
_FOLDER = re.compile(r"[\w-]{1,80}(?:\.[\w-]{1,80}){0,3}")
_MAX_STARTS = 30
_REASONS = ("cause", "evidence", "hypothesis", "plan")


@dataclass
class Found:
    """What a JSON reply holds: files and edits as plain tuples, prose, the rest by name, and whether it was mended."""

    files: list[tuple[str, str]] = field(default_factory=list)
    edits: list[tuple[str, str, str]] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    values: list[Mapping[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find_json(text: str, *, truncated: bool = False, certain: bool = False) -> Found | None:
    """Read a reply that is JSON, or whose first block or tool call is; None when it is none or holds no file or edit.

    `certain` says that JSON was asked for, so the problems of a failed reading are told instead of None.
    """
    if len(text) > MAX_CHARS or ("{" not in text and "[" not in text):
        return None
    text = re.sub(r"^\s*<think>.*?</think>", "", text, count=1, flags=re.S).strip().lstrip("\ufeff")
    found = Found()
    documents = _documents(text)
    if documents and depth_of(documents[0]) > MAX_DEPTH:
        found.problems.append(f"The JSON is nested more than {MAX_DEPTH} levels deep.")
        return found if certain else None
    for document in documents:
        _read(document, found, truncated=truncated)
    if not found.files and not found.edits and not found.problems and not truncated:
        _read_inside(text, found)
    if not found.files and not found.edits:
        if not certain and not found.problems:
            return None
        found.problems = found.problems or [
            'No file was found in the JSON: send {"files": [{"path": "…", "content": "…"}]}.'
        ]
    return found


def _read_inside(text: str, found: Found) -> None:
    """JSON in the middle of a line: the argument of a call, a value that is assigned."""
    for number, start in enumerate(_INSIDE.finditer(text)):
        if number == _MAX_STARTS or found.files:
            return
        try:
            value, _ = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            continue
        _walk(value, found, 0)


def _documents(text: str) -> list[str]:
    """The pieces of a reply that may be JSON: all of it, what stands in tool calls, or in the first fence."""
    if calls := [call for call in _TAGGED.findall(text)[:MAX_PARTS] if call[:1] in "{["]:
        return calls
    if text[:1] == '"':  # all of it as one string
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            inner = ""
        if isinstance(inner, str) and inner.lstrip()[:1] in ("{", "["):
            return [inner.strip()]
    if text[:1] in "{[":
        return [text]
    if (fenced := _FENCED.search(text)) and fenced[2].lstrip()[:1] in ("{", "["):
        return [fenced[2].strip()]
    # Some words, then JSON without a fence.
    start = re.search(r"^[{\[]", text, re.M)
    return [text[start.start() :]] if start else []


def _read(document: str, found: Found, *, truncated: bool) -> None:
    for value in _values(document):
        _walk(value, found, 0)
    if found.files or found.edits:
        return
    loose = list(_loose(_PIECES.sub("", document)))
    if loose:
        for path, content, closed in loose[:MAX_PARTS]:
            _take_mended(path, content, found, cut=truncated and not closed)
    else:
        _walk(mended(document), found, 0)
        late, found.files = found.files, []
        for at, (path, content) in enumerate(late):
            _take_mended(path, content, found, cut=truncated and at == len(late) - 1)
    if found.files or found.edits:
        found.problems.append(
            "The JSON was broken and had to be mended: escape quotes and line ends, close all brackets."
        )


def _values(document: str) -> Iterator[Any]:
    """The JSON documents one after the other, as far as they can be read; one in Python's words counts too."""
    at = 0
    for _ in range(MAX_PARTS):
        try:
            value, at = _DECODER.raw_decode(document, at)
        except (ValueError, RecursionError):
            break
        yield value
        if (more := _MORE.match(document, at) or _LATER.search(document, at)) is None:
            return
        at = more.end()
    if _LONG_QUOTES.search(document):
        return  # as Python reads them, `\\n` is a line end; as models write them, it is what the code says
    if at == 0 and len(document) <= MAX_REPAIR_CHARS and depth_of(document) <= MAX_DEPTH:
        try:
            yield syntax.literal(document[: max(document.rfind("}"), document.rfind("]")) + 1])
        except (*syntax.UNREADABLE, TypeError):
            return


def _take_mended(path: str, content: str, found: Found, *, cut: bool) -> None:
    if cut:
        found.problems.append(f"The file {path[:200]} has no end; it was cut off and is not used.")
    elif len(content) > MAX_REPAIR_CHARS:
        found.problems.append(f"{path[:200]} came in broken JSON and is too long to be mended; send it again.")
    elif is_broken(path, content) and (content := without_talk(path, content) or "") == "":
        found.problems.append(f"{path[:200]} came in broken JSON and does not compile as it is; send it again.")
    else:
        found.files.append((path, content))


def _walk(value: Any, found: Found, depth: int) -> None:
    """Collect everything that has a path and a content, wherever it stands."""
    if depth > MAX_DEPTH or len(found.files) + len(found.edits) >= MAX_PARTS:
        return
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and depth:
        for inner in _values(value.strip()):  # arguments as a text, as tool calls have them
            if isinstance(inner, dict | list):
                _walk(inner, found, depth + 1)
    elif isinstance(value, list):
        if len(value) == 2 and all(isinstance(part, str) for part in value) and looks_like_path(value[0]):
            found.files.append((value[0], value[1]))
            return
        for part in value:
            _walk(part, found, depth + 1)
    elif isinstance(value, dict):
        _walk_object(value, found, depth)


def _walk_object(value: dict[str, Any], found: Found, depth: int) -> None:
    lower = _lowered(value)
    texts = {key: part for key, part in lower.items() if isinstance(part, str)}
    path, content = _path_in(texts), _lines(lower, _CONTENTS)
    search, replace = _lines(lower, _SEARCHES), _lines(lower, _REPLACES)
    if path and search is not None and replace is not None:
        found.edits.append((path, search, replace))
        return
    if path and content is not None:
        found.files.append((path, content))
        return
    found.prose += [line for key in _PROSE if key in texts for line in texts[key].splitlines()]
    found.values.append(lower)
    named = {str(key): part for key, part in value.items() if looks_like_path(str(key))}
    found.files += [(name, text) for name, part in named.items() if (text := _content_of(part)) is not None]
    _walk_members({name: part for name, part in value.items() if str(name) not in named}, found, depth)


def _lowered(value: Mapping[str, Any]) -> dict[str, Any]:
    """The object with its keys in small letters, without the name of a tool that is called."""
    lower = {str(key).lower(): part for key, part in value.items()}
    if "name" in lower and any(isinstance(lower.get(key), dict | str) for key in _ARGUMENTS):
        lower.pop("name")
    return lower


def _walk_members(value: Mapping[str, Any], found: Found, depth: int) -> None:
    for name, part in value.items():
        if str(name).lower() not in _PROSE:
            before = len(found.files)
            _walk(part, found, depth + 1)
            if _is_folder(part) and _FOLDER.fullmatch(str(name)) and str(name).lower() not in _WRAPPERS:
                # A tree of folders: what stands directly in one has no path of its own.
                found.files[before:] = [(f"{name}/{inner}", text) for inner, text in found.files[before:]]


def _path_in(texts: Mapping[str, str]) -> str:
    """The path that an object gives, with its folder; "" for none."""
    path = next((texts[key].strip() for key in _PATHS if key in texts), "")
    path = path or next((texts[key] for key in _NAMES if looks_like_path(texts.get(key, ""))), "")
    folder = next((texts[key].strip("/") for key in _FOLDERS if key in texts), "")
    return f"{folder}/{path}" if folder and path and "/" not in path else path


def _content_of(part: Any) -> str | None:
    """The text of a file whose path is the key."""
    text = _text_of(part)
    if text is None and isinstance(part, dict):
        text = _lines({str(key).lower(): value for key, value in part.items()}, _CONTENTS)
    return text


def _is_folder(part: Any) -> bool:
    """Is this a part of a tree: names of files and folders, and nothing that tells of one file?"""
    if not isinstance(part, dict) or not part or any("/" in str(key) for key in part):
        return False
    return not {str(key).lower() for key in part} & {*_PATHS, *_CONTENTS}


def _lines(value: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The text under the first of these names that has one."""
    return next((text for name in names if (text := _text_of(value.get(name))) is not None), None)


def _text_of(part: Any) -> str | None:
    """A text, also as a list of lines or of parts with a text each, or as lines under their numbers."""
    if isinstance(part, dict) and all(str(key).isdecimal() for key in part):
        part = [part[key] for key in sorted(part, key=int)]
    if isinstance(part, str) or not isinstance(part, list) or not part:
        return part if isinstance(part, str) else None
    if all(isinstance(row, dict) and isinstance(row.get("text"), str) for row in part):
        return "".join(row["text"] for row in part)
    if all(isinstance(line, str) for line in part):
        return "\n".join(line.removesuffix("\n") for line in part)
    return None


def _loose(text: str) -> Iterator[tuple[str, str, bool]]:
    """Path, content and "has an end" of each file in broken JSON, by its keys and quotes alone."""
    at = 0
    for _ in range(MAX_PARTS):
        match = _KEYED.search(text, at)
        if match is None:
            return
        mark, start = match["mark"], match.end()
        end = _end_of(text, start, mark) or _end_by_sense(text, start, mark, match["path"])
        raw = text[start : len(text) if end is None else end]
        yield match["path"], _unescaped(raw, mark, match["path"]), end is not None
        at = start if end is None else end
        if end is None:
            return


def _end_of(text: str, start: int, mark: str) -> int | None:
    """Where a string ends: at the first of its marks that is followed by what follows a string in JSON."""
    at = start
    for _ in range(20_000):
        at = text.find(mark, at)
        if at < 0:
            return None
        slashes = 0
        while slashes < at - start and text[at - 1 - slashes] == "\\":
            slashes += 1
        if slashes % 2 == 0 and _AFTER.match(text, at + len(mark)):
            return at
        at += 1
    return None


def _end_by_sense(text: str, start: int, mark: str, path: str) -> int | None:
    """Where code ends in a string after which the JSON breaks off: at the last mark before which it compiles."""
    at = len(text)
    short = len(text) - start <= MAX_REPAIR_CHARS
    for _ in range(8 if short and language_of(path) else 0):
        at = text.rfind(mark, start, at)
        if at < 0:
            return None
        if (found := _unescaped(text[start:at], mark, path)).strip() and compiles(path, found):
            return at
    return None


def _unescaped(raw: str, mark: str, path: str) -> str:
    """The text a broken string stands for. Whether `\\n` is a line end or two characters shows in compiling."""
    if len(mark) == 3 or mark == "`":
        return raw.removeprefix("\n")
    quoted = re.sub(r'(?<!\\)((?:\\\\)*)"', lambda match: match[1] + '\\"', raw)
    try:
        read = str(json.loads(f'"{quoted}"', strict=False))
    except ValueError:
        read = raw.replace("\\n", "\n").replace('\\"', '"')
    if "\n" not in raw or len(raw) > MAX_REPAIR_CHARS:
        return read
    return raw if is_broken(path, read) and compiles(path, raw) else read


def said_in(values: Sequence[Mapping[str, Any]]) -> list[str]:
    """Diagnosis, decisions, packages and verdict of a JSON reply, as the lines they would be in prose."""
    lines: list[str] = []
    for value in values:
        diagnosis = value.get("diagnosis")
        source = diagnosis if isinstance(diagnosis, dict) else value
        reasons = [name for name in _REASONS if isinstance(source.get(name), str)]
        lines += [f"{name.capitalize()}: {_one(source[name])}" for name in reasons]
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
                choice, reason = _one(row.get("choice")), _one(row.get("reason"))
                lines.append(f"Decision: chose {choice}{over} because {reason}{target}")
    return lines


def _one(value: Any) -> str:
    return " ".join(str(value or "").split())[:2_000]
