"""Finding the path a block is meant for: in the fence, on the line above, or in the first comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.languages.registry import language_labelled, language_of

_PATH = re.compile(r"(?:[^\s`'\"<>|*?:=(){}\[\],;#/]+/)*[^\s`'\"<>|*?:=(){}\[\],;#/]+")
_KEYED = re.compile(
    r"\b(?:path|file|file_?path|filename|file_name|title|name|src)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s}]+))", re.I
)
_LABEL = re.compile(r"^(?:new |updated |modified )?(?:file(?: ?(?:name|path))?|path)(?: \d{1,3})?\s*:\s*", re.I)
_DRESS = re.compile(
    r"^(?:<!--\s*|//\s+|\[(?=[^\]]+\]$)|(?:<\w{1,10}>\s*){1,3}|[=~-]{2,}\s*)|(?:\s*-->|(?:\s*</\w{1,10}>){1,3}|\s*[=~-]{2,}|(?<=\w)\])$"
)
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\([^)\n]{1,300}\)")
_WORD = re.compile(r"[\w./-]{1,300}\w")
_NOT_GIVEN = re.compile(  # words that speak of a file rather than give it
    r"\b(?:runs?|running|execute|usage|use[sd]?|using|imports?|imported|calls?|called|outputs?|prints?|test it|try"
    r"|example|from|see|look(?:s|ed)?|like|instead|delete|remove|forget"
    r"|inside|currently|holds?|held|contains?|errors?|bugs?|problems?|issues?|assum\w+|reference|before|previous(?:ly)?|earlier|was|were|old|original(?:ly)?|given|excerpt|relevant|part|end"
    r"|beginning|extend|modify|could|might|may|would|existing|unchanged|in your)\b",
    re.I,
)
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|<!--|--|;|%)\s*(?:(path|file|filename)\s*:\s*)?(.+?)\s*(?:\*/|-->)?\s*$", re.I)
_FILE_NEXT = r"(?!\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file\s+|module\s+)?[`*\"']?[\w./-]+\.\w)"
_PART = re.compile(  # a part of a file is no file: "Add this line to `app.py`:"
    rf"\b(?:forget|append|insert|put|set|replace|change)\b|\badd\b{_FILE_NEXT}|\b(?:lines?|imports?|function|method"
    rf"|snippet|top of|bottom of)\b",
    re.I,
)
_DOCSTRING = re.compile(r"^(\0)?\"\"\"\s*(\S{1,300})\s*\"\"\"$")
_BARE_LABEL = re.compile(r"^(path|file|filename):\s+(\S{1,300})\s*$", re.I)
_TAIL = re.compile(r"\s*\((?:new|updated|modified|changed|complete|full)[^)]{0,40}\)\s*:?\s*$", re.I)
_NAMES = {"Makefile", "Dockerfile", "Procfile", "Pipfile", "LICENSE", "README", "CHANGELOG", "Justfile", "Caddyfile"}
_OUTPUTS = frozenset("bash sh shell zsh console terminal text txt output log plaintext diff patch".split())
_SUFFIXES: dict[str, tuple[str, ...]] = {
    "html": (".html", ".htm", ".jinja", ".j2"),
    **{label: (f".{label}",) for label in ("css", "json", "toml", "sql")},
    **dict.fromkeys(("yaml", "yml"), (".yaml", ".yml")),
    "ini": (".ini", ".cfg"),
    **dict.fromkeys(("markdown", "md"), (".md", ".markdown")),
    **dict.fromkeys(("bash", "sh", "shell"), (".sh", ".bash")),
    **dict.fromkeys(("text", "txt"), (".txt",)),
    **dict.fromkeys(("diff", "patch"), (".diff", ".patch")),
}
_MAX_LINE = 600


def info_language(info: str) -> str:
    """The language word of a fence's info string, lower case; empty when there is none."""
    word = re.split(r"[\s:{]", info.lstrip("{. "), maxsplit=1)[0].rstrip("}")
    return "" if "=" in word or looks_like_path(word) else word.lower()


def _suffixes(label: str) -> tuple[str, ...]:
    """Suffixes of the files that a fence with this label may hold; one that no path ends with for an unknown label."""
    written = language_labelled(label)
    return written.suffixes if written else _SUFFIXES.get(label, ("\0",))


def info_path(info: str) -> str:
    """The path in a fence's info string: `path=a.py`, `title="a.py"`, `python:a.py`, `python a.py` or `a.py`."""
    info = info[:_MAX_LINE]
    if keyed := _KEYED.search(info):
        return str(keyed[1] or keyed[2] or keyed[3] or "").strip()
    words = info.split()
    if not words:
        return ""
    first, colon, rest = words[0].partition(":")
    rest = rest.lstrip(":")
    if colon and rest and not first.startswith(("http", "https")) and len(first) > 1:
        return rest if looks_like_path(rest) else ""
    for word in words[:2]:
        if looks_like_path(word):
            return word
    bare = [word for part in words[:6] for word in _WORD.findall(part.partition(":")[2] or part)]
    paths = [word for word in bare if looks_like_path(word) and re.search(r"\.\w{1,8}$", word)]
    return paths[0] if len(paths) == 1 else ""


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
    bare = _LINK.sub(
        r"\1",
        re.sub(r"^(?:[#>*+-]+\s+|\d+[.)]\s+|[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]+\s*)+", "", _TAIL.sub("", line)),
    )
    bare = _DRESS.sub("", bare)
    bare = bare.strip().strip("*_").rstrip(":").strip("*_ ")
    bare = _LABEL.sub("", re.sub(r"^\d{1,3}[.)]\s+", "", bare)).strip("*_ ")
    bare = bare.strip("`'\"").rstrip(":").strip()
    if (looks_like_path(bare) or bare in _NAMES) and _suits(bare, language):
        return bare
    quoted = re.findall(r"`([^`\n]{1,200})`", line) if re.search(r"`:?\**\s*$|:\**\s*$", line) else []
    # "In bank/account.py:", but not "Run it with main.py:"
    named = [word for word in _WORD.findall(line) if looks_like_path(word)] if line.endswith(":") else []
    for found in (quoted, named):
        if len(found) == 1 and looks_like_path(found[0]) and found[0].endswith(_suffixes(language)):
            return "" if _speaks_of(line) else str(found[0])
    return ""


def _speaks_of(line: str) -> bool:
    """Does a sentence with a path and a colon only speak of the file, or of a part of it?"""
    words = re.sub(r"`[^`]*`|[\w.-]*/[\w./-]+", "", line)
    return _NOT_GIVEN.search(words) is not None or _PART.search(line) is not None


def path_over(above: Sequence[str], language: str) -> str:
    """The path on the lines above a block, the nearer one first; the farther one must be a path and nothing else."""
    if not above:
        return ""
    if found := path_above(above[0], language):
        return found
    alone = above[1].strip().strip("*`#: ") if len(above) > 1 else ""
    return alone if looks_like_path(alone) and alone.endswith(_suffixes(language)) else ""


def path_in_comment(lines: Sequence[str], language: str) -> tuple[str, bool]:
    """The path in a block's first line, and whether that line is only a label (to be dropped)."""
    if not lines or len(lines[0]) > _MAX_LINE or lines[0].startswith("#!"):
        return "", False
    bare = lines[0].strip()
    if _WORD.fullmatch(bare) and looks_like_path(bare) and "/" in bare and bare.endswith(_suffixes(language)):
        return bare, True
    match = _COMMENT.match(lines[0]) or _DOCSTRING.match(lines[0]) or _BARE_LABEL.match(lines[0])
    if match is None:
        return "", False
    path = match[2].strip("`'\" =~*-")
    if not looks_like_path(path):
        return "", False
    written = language_of(path)
    if match[1] or (written is not None and lines[0].lstrip()[:1] in written.foreign_marks):
        return path, True  # what is no comment in this language cannot stay
    return (path, False) if path.endswith(_suffixes(language)) else ("", False)


def is_markdown(path: str, language: str) -> bool:
    """May this block hold fences of its own?"""
    return language in ("markdown", "md") or path.endswith((".md", ".markdown"))


def is_shell(language: str) -> bool:
    """Does the language say that a block holds commands?"""
    return language in ("bash", "sh", "shell", "zsh", "console", "terminal")


def is_output(language: str) -> bool:
    """Does the language say that a block shows commands or their output rather than a file?"""
    return language in _OUTPUTS


def _suits(path: str, language: str) -> bool:
    """A block of shell lines or output under a file's name is not that file."""
    return not is_output(language) or path.endswith(_suffixes(language))
