"""Pages of documentation: links and anchors lead somewhere, quoted code parses, commands name files that exist."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from textwrap import dedent
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agents.checks.checked_file import CheckedFile, Found
from agents.checks.configuration import parse_problem
from agents.languages.registry import language_labelled

_OUTSIDE = re.compile(r"[A-Za-z][\w+.-]*:|//")
_ID = re.compile(r"""\b(?:id|name)=["']?([^"'\s>]+)|\{#([\w.-]+)""")
_SHELL = frozenset("sh bash shell console zsh".split())
_RUNS = re.compile(
    r"(?:^|[\s;&|])(?:python[\d.]*|bash|sh|node|source|-r|--requirement)\s+([\w./-]+\.[A-Za-z]\w*)(?=\s|$)"
)
_PARTIAL = re.compile(r"\.\.\.|…|<[a-z][\w -]*>|\{\{|^\s*(?:>>>|\$ )", re.MULTILINE)
_REMARK = re.compile(r"^\s*//", re.MULTILINE)  # part of the text only where the language has such comments
_RST_FILE = re.compile(r"^\s*\.\. (?:\|[^|\n]+\| )?(?:include|literalinclude|image|figure):: +(\S+)", re.MULTILINE)
_RST_LINK = re.compile(r"<([^<>\s`]+)>`_")
_RST_CODE = re.compile(
    r"^( *)\.\. (?:code-block|code|sourcecode):: *(\S+)\n(?:\1 +:[^\n]*\n)*\n((?:\1 +[^\n]*(?:\n|\Z)|[ \t]*\n)+)",
    re.MULTILINE,
)
MARKDOWN, RST = (".md", ".markdown"), (".rst",)


def is_page(path: str) -> bool:
    """True for documentation that can be checked."""
    return path.lower().endswith(MARKDOWN + RST)


def check_page(text: str, place: CheckedFile) -> Found:
    """Lines and what is wrong there."""
    yield from _rst(text, place) if place.path.lower().endswith(RST) else _markdown(text, place)


def _markdown(text: str, place: CheckedFile) -> Found:
    for token in _tokens(text):
        line = (token.map or [0])[0] + 1
        if token.type == "fence":
            yield from _code(token.info.split()[0] if token.info.strip() else "", token.content, line + 1, place)
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target and (problem := _link(str(target), text, place)):
                yield line, problem


def _tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def _link(target: str, text: str, place: CheckedFile) -> str:
    """Why a link leads nowhere; "" when it leads somewhere or out of the repository."""
    if _OUTSIDE.match(target):
        return ""
    address, _, anchor = unquote(target).partition("#")
    path = place.resolve(address.partition("?")[0]) if address else place.path
    if not place.has(path):
        return f"the link {target} leads to {path}, which is not in the repository"
    if not anchor or not path.lower().endswith(MARKDOWN):
        return ""
    linked = text if path == place.path else place.read(path)
    known = linked is None or anchor.lower() in (one.lower() for one in anchors(linked))
    return "" if known else f"the link {target} names a heading that {path} does not have"


def anchors(text: str) -> Iterator[str]:
    """The anchors of a Markdown page, as GitHub names its headings, and those it sets itself."""
    counts: Counter[str] = Counter()
    tokens = _tokens(text)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            said = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", said.strip().lower()).replace(" ", "-")
            yield f"{slug}-{counts[slug]}" if counts[slug] else slug
            counts[slug] += 1
    for found in _ID.finditer(text):
        yield found[1] or found[2]


def _rst(text: str, place: CheckedFile) -> Found:
    for found in [*_RST_FILE.finditer(text), *_RST_LINK.finditer(text)]:
        target = found[1].partition("#")[0]
        if not target or target.startswith("/") or target.endswith("_") or _OUTSIDE.match(target):
            continue
        if not place.has(path := place.resolve(target)):
            line = text.count("\n", 0, found.start(1)) + 1
            yield line, f"the link {target} leads to {path}, which is not in the repository"
    for found in _RST_CODE.finditer(text):
        yield from _code(found[2], found[3], text.count("\n", 0, found.start(3)) + 1, place)


def _code(label: str, code: str, line: int, place: CheckedFile) -> Found:
    label = label.lower().strip("{}.")
    if label in _SHELL:
        yield from _commands(code, line, place)
        return
    if _PARTIAL.search(code):
        return
    kind, language = {"yml": "yaml"}.get(label, label), language_labelled(label)
    if _REMARK.search(code) and (language is None or not language.compiles("// remark")):
        return
    if kind in ("json", "toml", "yaml"):
        if broken := parse_problem(kind, code):
            yield line + broken[0] - 1, f"the {kind} block is {broken[1]}"
    elif language is not None and language.compiles(dedent(code)) is False:
        yield line, f"the {language.title} block does not parse"


def _commands(code: str, line: int, place: CheckedFile) -> Found:
    """Commands that run or read a file which the repository does not have; after a `cd` nobody knows."""
    for number, row in enumerate(code.splitlines(), line):
        if re.search(r"(?:^|[\s;&|])cd\s", row):
            return
        for found in _RUNS.finditer(row):
            path = place.resolve(f"/{found[1].removeprefix('./')}")
            if not found[1].startswith(("/", "..")) and not place.has(path) and not _made_before(code, found[1], row):
                yield number, f"the command names {path}, which is not in the repository"


def _made_before(code: str, path: str, row: str) -> bool:
    return path in code.partition(row)[0]
