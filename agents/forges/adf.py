"""Atlassian Document Format as Markdown, and plain words as Atlassian Document Format.

A document is a stranger's JSON: bounded in depth and size, nothing of it becomes HTML or an image, and what has no form
in Markdown stays as its text, with a note.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import Any
from urllib.parse import quote

MOST_DEPTH, MOST_NODES, MOST_CHARS = 30, 20_000, 400_000
MOST_COLUMNS = 100  # that short rows are filled up to
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_FORMED = re.compile(r"`([^`\n]+)`|https?://[^\s<>\"]+")
_THROUGH = ("doc", "layoutSection", "layoutColumn", "mediaSingle", "mediaGroup", "expand", "nestedExpand")
Node = dict[str, Any]


@dataclass(frozen=True)
class AdfText:
    """A document in Markdown, and what a person should know of how it was read."""

    text: str
    notes: tuple[str, ...] = ()


def to_markdown(document: Any) -> AdfText:
    """A document, or whatever stands in its place: a plain text stays one, and nothing is nothing. Never raises."""
    if isinstance(document, str):
        return AdfText(_plain(document[:MOST_CHARS]).strip())
    writer = _AdfWriter()
    text = "\n".join(writer.blocks(_children({"content": [document]}), 0)).strip("\n")
    notes = [f"{kind} ({number}): only its text is taken." for kind, number in writer.strange.items()]
    if writer.cut:
        notes.append("It is longer, or nested deeper, than is read: the rest is left out.")
    return AdfText(text, tuple(notes[:20]))


def to_adf(text: str) -> Node:
    """Plain words as a document: paragraphs, lines, `code` and links; nothing in it mentions anybody."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        content: list[Node] = []
        for line in paragraph.splitlines():
            content += [{"type": "hardBreak"}] if content else []
            at = 0
            for found in _FORMED.finditer(line):
                content += [{"type": "text", "text": line[at : found.start()]}] if found.start() > at else []
                mark = {"type": "code"} if found[1] else {"type": "link", "attrs": {"href": found[0]}}
                content.append({"type": "text", "text": found[1] or found[0], "marks": [mark]})
                at = found.end()
            content += [{"type": "text", "text": line[at:]}] if line[at:] else []
        paragraphs.append({"type": "paragraph", "content": content})
    return {"version": 1, "type": "doc", "content": paragraphs}


def _children(node: Node) -> list[Node]:
    content = node.get("content")
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _attr(node: Node, name: str) -> str:
    """An attribute as one line of text; "" without one."""
    attrs = node.get("attrs")
    value = attrs.get(name) if isinstance(attrs, dict) else None
    return " ".join(_UNSEEN.sub("", str(value)[:4_000]).split()) if isinstance(value, (str, int, float)) else ""


def _plain(text: str, *, spans: bool = False) -> str:
    """Text that begins no HTML, image or fence, and no code where there are `spans`; without what nobody sees."""
    # A backslash before a sign, or at the end, would take the force of the one that is put there.
    signs = rf"(?<!\\)(\\*)(<(?=[A-Za-z/!?]|\Z)|!(?=\[)|{'`+' if spans else '`{3,}'}|\Z)"
    return re.sub(signs, lambda at: at[1] * 2 + "".join(f"\\{sign}" for sign in at[2]), _UNSEEN.sub("", text))


def _code(text: str) -> str:
    """A span of code, whatever backticks it holds."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{'`' * (longest + 1)}{pad}{text}{pad}{'`' * (longest + 1)}"


class _AdfWriter:
    """Writes one document; counts what it meets."""

    def __init__(self) -> None:
        self.nodes, self.room, self.cut, self.strange = 0, MOST_CHARS, False, Counter[str]()

    def _fit(self, text: str) -> str:
        """As much of a text as there is room for: cut here, no code or fence is left open."""
        self.cut |= len(text) > self.room
        text = text[: self.room]
        self.room -= len(text)
        return text

    def _take(self, nodes: Sequence[Node], depth: int) -> Iterator[Node]:
        """The nodes, as far as the limits allow."""
        for node in nodes:
            self.nodes += 1
            if self.nodes > MOST_NODES or depth > MOST_DEPTH:
                self.cut = True
                return
            yield node

    def blocks(self, nodes: Sequence[Node], depth: int, *, tight: bool = False) -> list[str]:
        """Lines of blocks, with an empty one between them; in a list item, where it is `tight`, none before a list."""
        lines: list[str] = []
        inline: list[Node] = []
        for node in chain(self._take(nodes, depth), [None]):
            if node is not None and node.get("type") in _INLINE:
                inline.append(node)
                continue
            found = [self._paragraph(inline, depth)] if inline else []
            inline = []
            if node is not None:
                found.append(self._block(node, depth))
            for block in filter(None, found):
                near = tight and node is not None and str(node.get("type")).endswith("List")
                lines += [""] if lines and not near else []
                lines += block
        return lines

    def _block(self, node: Node, depth: int) -> list[str]:
        kind = str(node.get("type"))
        if kind == "paragraph":
            return self._paragraph(_children(node), depth)
        if kind in ("heading", "caption"):
            words = " ".join(" ".join(self._paragraph(_children(node), depth)).split())
            level = _attr(node, "level")
            # The title of the ticket stands above all.
            mark = "#" * min(6, 1 + int(level if level in tuple("123456") else 1))
            return [words if kind == "caption" else f"{mark} {words}"] if words else []
        if kind in ("bulletList", "orderedList", "taskList", "decisionList"):
            return self._list(node, depth)
        if kind == "codeBlock":
            text = self._fit("".join(str(one.get("text", "")) for one in self._take(_children(node), depth)))
            language = re.sub(r"[^A-Za-z0-9+#._-]", "", _attr(node, "language"))[:30]
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            return [fence + language, *_UNSEEN.sub("", text).split("\n"), fence]
        if kind == "table":
            return self._table(node, depth)
        if kind in ("blockquote", "panel"):
            title = [f"**{_plain(_attr(node, 'panelType')).capitalize()}**", ""] if kind == "panel" else []
            return [f"> {line}".rstrip() for line in [*title, *self.blocks(_children(node), depth + 1)]]
        if kind == "rule":
            return ["---"]
        if kind in _SAID:
            return [self._inline(node, depth)]
        if kind not in _THROUGH:
            self.strange[re.sub(r"\W", "", kind)[:40] or "A nameless part"] += 1
        said = _plain(self._fit(_attr(node, "title"))).strip(" *")
        own = node.get("text") if isinstance(node.get("text"), str) else _attr(node, "text")
        above = [*([f"**{said}**"] if said else []), *filter(None, [_plain(self._fit(str(own))).strip()])]
        below = self.blocks(_children(node), depth + 1)
        return [*above, *([""] if above and below else []), *below]

    def _list(self, node: Node, depth: int) -> list[str]:
        kind, lines = str(node.get("type")), list[str]()
        order = _attr(node, "order")
        number = int(order) if order.isdecimal() and len(order) < 9 else 1
        for item in self._take(_children(node), depth + 1):
            task = {"TODO": "[ ] ", "DONE": "[x] "}.get(_attr(item, "state"), "") if kind == "taskList" else ""
            mark = f"{number}. " if kind == "orderedList" else "- "
            number += 1
            if str(item.get("type")) == kind:  # a list of tasks right in a list of tasks
                lines += [f"  {line}" for line in self._list(item, depth + 2)]
            elif below := self.blocks(_children(item), depth + 2, tight=True):
                lines += [f"{mark}{task}{below[0]}", *(f"{' ' * len(mark)}{line}".rstrip() for line in below[1:])]
        return lines

    def _table(self, node: Node, depth: int) -> list[str]:
        rows = []
        for row in self._take(_children(node), depth + 1):
            cells = []
            for cell in self._take(_children(row), depth + 2):
                span = _attr(cell, "colspan")
                words = " ".join(" ".join(self._cell(_children(cell), depth + 3)).split())
                cells += [words.replace("|", r"\|"), *[""] * (int(span) - 1 if span in tuple("23456789") else 0)]
            rows.append(cells)
        width = min(max(map(len, rows), default=0), MOST_COLUMNS)
        if not width:
            return []
        lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
        return [lines[0], f"|{' --- |' * width}", *lines[1:]]

    def _cell(self, nodes: Sequence[Node], depth: int) -> Iterator[str]:
        """The lines of a cell: in a table there are no fences and no headings."""
        for node in self._take(nodes, depth):
            if node.get("type") == "codeBlock":
                text = self._fit("".join(str(one.get("text", "")) for one in _children(node)))
                yield from (_code(_UNSEEN.sub("", line)) for line in text.split("\n") if line.strip())
            elif node.get("type") in ("paragraph", "heading"):
                yield from self._paragraph(_children(node), depth)
            elif below := _children(node):
                yield from self._cell(below, depth + 1)
            else:
                yield from self.blocks([node], depth)

    def _paragraph(self, nodes: Sequence[Node], depth: int) -> list[str]:
        """The lines of what stands in one paragraph."""
        taken = list(self._take(nodes, depth))
        spans = any("code" in _marks(node) for node in taken)
        out: list[str] = []
        for marks, group in groupby(taken, _marks):
            members = list(group)
            if members[0].get("type") == "text":
                text = self._fit("".join(str(one.get("text", "")) for one in members))
                pieces = [self._text(text, marks, spans)]
            else:
                pieces = [self._inline(one, depth) for one in members]
            for piece in pieces:
                if piece.startswith("[") and out:  # a link after "!" becomes an image
                    out[-1] = re.sub(r"(?<!\\)(\\*)!\Z", r"\1\1\\!", out[-1])
                out.append(piece)
        return [line for line in map(str.strip, "".join(out).split("\n")) if line]

    @staticmethod
    def _text(text: str, marks: tuple[str, ...], spans: bool) -> str:
        if not text.strip():
            return text
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        words = text.strip()
        code = "code" in marks
        words = _code(" ".join(_UNSEEN.sub("", words).split())) if code else _plain(words, spans=spans)
        target = next((mark[5:] for mark in marks if mark.startswith("link ")), "")
        if target:
            label = words if code else re.sub(r"(?<!\\)([\[\]])", r"\\\1", words)
            words = f"[{label}]({target})"
        for name, sign in (("strike", "~~"), ("em", "*"), ("strong", "**")):
            words = f"{sign}{words}{sign}" if name in marks and not code and "\n" not in words else words
        return before + words + after

    def _inline(self, node: Node, depth: int) -> str:
        kind = str(node.get("type"))
        if kind in _SAID:
            return _plain(self._fit(_SAID[kind](node)))
        self.strange[re.sub(r"\W", "", kind)[:40] or "A nameless part"] += 1
        own = node.get("text") if isinstance(node.get("text"), str) else _attr(node, "text")
        return " ".join(filter(None, [_plain(self._fit(str(own))), *self.blocks(_children(node), depth + 1)]))


def _marks(node: Node) -> tuple[str, ...]:
    """The marks that Markdown has a form for; what is no text has none, and its own kind instead."""
    if node.get("type") != "text":
        return (f"={node.get('type')}",)
    found, marks = set[str](), node.get("marks")
    for mark in marks if isinstance(marks, list) else ():
        if isinstance(mark, dict) and mark.get("type") == "link":
            href = _attr(mark, "href")
            if re.match(r"(?:https?://|mailto:)[^\s]", href):
                found.add("link " + quote(href, safe="/:?#@!$&'*+,;=%~-._[]"))
        elif isinstance(mark, dict) and mark.get("type") in ("code", "strong", "em", "strike"):
            found.add(mark["type"])
    return tuple(sorted(found))


def _date(node: Node) -> str:
    try:
        return datetime.fromtimestamp(int(_attr(node, "timestamp")) / 1_000, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return _attr(node, "timestamp")


def _file(node: Node) -> str:
    return f"(attachment: {_attr(node, 'alt') or _attr(node, 'url') or _attr(node, 'id') or 'without a name'})"


def _card(node: Node) -> str:
    attrs = node.get("attrs")
    data = attrs.get("data") if isinstance(attrs, dict) else None
    known = {"attrs": data} if isinstance(data, dict) else {}
    return " ".join(filter(None, [_attr(known, "name"), _attr(node, "url") or _attr(known, "url")])) or "(a card)"


_SAID: dict[str, Callable[[Node], str]] = {
    "hardBreak": lambda node: "\n",
    "mention": lambda node: _attr(node, "text") or f"@{_attr(node, 'id')}",
    "emoji": lambda node: _attr(node, "text") or _attr(node, "shortName"),
    "status": lambda node: _attr(node, "text"),
    "placeholder": lambda node: _attr(node, "text"),
    "date": _date,
    "media": _file,
    "mediaInline": _file,
    "inlineCard": _card,
    "blockCard": _card,
    "embedCard": _card,
}
_INLINE = ("text", "inlineExtension", *(kind for kind in _SAID if kind not in ("blockCard", "embedCard", "media")))
