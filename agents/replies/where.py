"""Finding the path a block is meant for: in the fence, on the line above, or in the first comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PATH = re.compile(r"(?:[^\s`'\"<>|*?:=(){}\[\],;#/]+/)*[^\s`'\"<>|*?:=(){}\[\],;#/]+")
_KEYED = re.compile(r"\b(?:path|file|filename|title|name)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s}]+))", re.I)
_LABEL = re.compile(r"^(?:new |updated |modified )?(?:file(?: ?name)?|path)\s*:\s*", re.I)
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|<!--|--|;|%)\s*(?:(path|file|filename)\s*:\s*)?(.+?)\s*(?:\*/|-->)?\s*$", re.I)
_TAIL = re.compile(r"\s*\((?:new|updated|modified|changed|complete|full)[^)]{0,40}\)\s*:?\s*$", re.I)
_NAMES = {"Makefile", "Dockerfile", "Procfile", "Pipfile", "LICENSE", "README", "CHANGELOG", "Justfile", "Caddyfile"}
_OUTPUTS = {
    "bash",
    "sh",
    "shell",
    "zsh",
    "console",
    "terminal",
    "text",
    "txt",
    "output",
    "log",
    "plaintext",
    "diff",
    "patch",
}
_SUFFIXES: dict[str, tuple[str, ...]] = {
    "python": (".py", ".pyi"),
    "py": (".py", ".pyi"),
    "python3": (".py", ".pyi"),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "js": (".js", ".mjs", ".cjs", ".jsx"),
    "typescript": (".ts", ".tsx"),
    "ts": (".ts", ".tsx"),
    "html": (".html", ".htm", ".jinja", ".j2"),
    "css": (".css",),
    "json": (".json",),
    "toml": (".toml",),
    "yaml": (".yaml", ".yml"),
    "yml": (".yaml", ".yml"),
    "ini": (".ini", ".cfg"),
    "sql": (".sql",),
    "markdown": (".md", ".markdown"),
    "md": (".md", ".markdown"),
    "bash": (".sh", ".bash"),
    "sh": (".sh", ".bash"),
    "shell": (".sh", ".bash"),
    "text": (".txt",),
    "txt": (".txt",),
    "diff": (".diff", ".patch"),
    "patch": (".diff", ".patch"),
}
_MAX_LINE = 600


def info_language(info: str) -> str:
    """The language word of a fence's info string, lower case; empty when there is none."""
    word = re.split(r"[\s:{]", info.lstrip("{. "), maxsplit=1)[0].rstrip("}")
    return "" if "=" in word or looks_like_path(word) else word.lower()


def info_path(info: str) -> str:
    """The path in a fence's info string: `path=a.py`, `title="a.py"`, `python:a.py`, `python a.py` or `a.py`."""
    info = info[:_MAX_LINE]
    if keyed := _KEYED.search(info):
        return str(keyed[1] or keyed[2] or keyed[3] or "").strip()
    words = info.split()
    if not words:
        return ""
    first, colon, rest = words[0].partition(":")
    if colon and rest and not first.startswith(("http", "https")) and len(first) > 1:
        return rest if looks_like_path(rest) else ""
    for word in words[:2]:
        if looks_like_path(word):
            return word
    return ""


def looks_like_path(text: str) -> bool:
    """Could this word be a file of a project? A slash or a suffix, and nothing a path does not hold."""
    if text in _NAMES:
        return False  # as a fence's word these are languages
    if "://" in text or not text.isprintable():
        return False
    if text.startswith(("/", "../", "~/", "./")) and len(text) > 3:
        return True  # refused later, with a reason the model can act on
    if not _PATH.fullmatch(text):
        return False
    if "/" in text:
        return True
    return bool(re.fullmatch(r"\.?[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,9}", text)) or bool(
        re.fullmatch(r"\.[a-z][\w-]{2,}", text)
    )


def path_above(line: str, language: str) -> str:
    """The path on the line above a block, when the line is hardly more than that path."""
    line = line.strip()
    if not line or len(line) > _MAX_LINE:
        return ""
    bare = re.sub(r"^(?:[#>*+-]+\s+|\d+[.)]\s+)+", "", _TAIL.sub("", line))
    bare = bare.strip().strip("*_").rstrip(":").strip("*_ ")
    bare = _LABEL.sub("", bare).strip("*_ ")
    bare = bare.strip("`'\"").rstrip(":").strip()
    if (looks_like_path(bare) or bare in _NAMES) and _suits(bare, language):
        return bare
    quoted = re.findall(r"`([^`\n]{1,200})`", line)
    ends = re.search(r"`:?\**\s*$|:\**\s*$", line)
    if (
        len(quoted) == 1
        and ends
        and looks_like_path(quoted[0])
        and quoted[0].endswith(_SUFFIXES.get(language, ("\0",)))
    ):
        return str(quoted[0])
    return ""


def path_in_comment(lines: Sequence[str], language: str) -> tuple[str, bool]:
    """The path in a block's first line, and whether that line is only a label (to be dropped)."""
    if not lines or len(lines[0]) > _MAX_LINE or lines[0].startswith("#!"):
        return "", False
    match = _COMMENT.match(lines[0])
    if match is None:
        return "", False
    path = match[2].strip("`'\" ")
    if not looks_like_path(path):
        return "", False
    if match[1]:
        return path, True
    return (path, False) if path.endswith(_SUFFIXES.get(language, ("\0",))) else ("", False)


def is_markdown(path: str, language: str) -> bool:
    """May this block hold fences of its own?"""
    return language in ("markdown", "md") or path.endswith((".md", ".markdown"))


def is_output(language: str) -> bool:
    """Does the language say that a block shows commands or their output rather than a file?"""
    return language in _OUTPUTS


def _suits(path: str, language: str) -> bool:
    """A block of shell lines or output under a file's name is not that file."""
    return not is_output(language) or path.endswith(_SUFFIXES.get(language, ("\0",)))
