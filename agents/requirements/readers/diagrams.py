"""Mermaid diagrams of a document as components and links between them, and the images that nobody reads.

Flowcharts, sequences, states, classes, entities and C4. What a line means beside that (shapes, styles, members) is left
to whoever reads the document; a line that is not understood is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

MOST_DIAGRAMS, MOST_PARTS, MOST_LINKS, MOST_CHARS = 40, 200, 400, 2_000
_FENCE = re.compile(r"^\s{0,12}(`{3,}|~{3,})\s*([\w-]*)")
_IMAGE = re.compile(r"!\[[^\]]{0,500}\]\(|<img\b", re.IGNORECASE)
_NAME = r"[^\W_][\w]*(?:[-.][\w]+)*"
_NODE = re.compile(
    rf'\s*({_NAME})(?:@\{{(?:[^}}]*?label:\s*"([^"]*)")?[^}}]*\}}'
    r'|(?:[\[({>]{1,3}[/\\]?\s*(?:"([^"]*)"|([^\])}"]*?))\s*[/\\]?[\])}]{1,3}))?(?::::[\w-]+)?\s*'
)
_ARROW = re.compile(r"[<ox]?(?:-{2,}[>ox]|-{3,}|={2,}[>ox]|={3,}|-\.+->?)\s*(?:\|([^|]*)\|)?")
_WORDED_ARROW = re.compile(r"[<ox]?(?:--|==|-\.)\s*([^-=.|>\s][^|>]*?)\s*(?:-{2,}|={2,}|\.+-)[>ox]?")
_MESSAGE = re.compile(
    r"^([^-<:+]+?)\s*(?:<<-->>|<<->>|-->>|->>|-->|->|--x|-x|--\)|-\))\s*[+-]?\s*([^:]+?)\s*(?::\s*(.*))?$"
)
_RELATION = re.compile(
    r'^([\w.~`*\[\]]+)\s*(?:"[^"]*"\s*)?(?:<\|?|\*|o)?(?:--|\.\.)(?:\|?>|\*|o)?\s*(?:"[^"]*"\s*)?([\w.~`*\[\]]+)'
    r"\s*(?::\s*(.*))?$"
)
_ENTITIES = re.compile(r'^"?([\w -]+?)"?\s+[|}o{]{2}(?:--|\.\.)[|}o{]{2}\s+"?([\w -]+?)"?\s*(?::\s*"?([^"]*)"?)?$')
_ARGUMENT = re.compile(r'"([^"]*)"|([^,"\s][^,"]*)')
_STYLE = ("style ", "classDef ", "linkStyle ", "click ", "direction ", "end", "class ")


class _Diagram:
    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.links: list[dict[str, str]] = []

    def part(self, name: str, label: str = "") -> None:
        name = name.strip().strip('"`')
        if name and (name in self.parts or len(self.parts) < MOST_PARTS):
            self.parts[name] = _words(label) or self.parts.get(name, name)

    def link(self, start: str, end: str, label: str | None = "") -> None:
        for name in (start, end):
            self.part(name)
        if len(self.links) < MOST_LINKS:
            names = [name.strip().strip('"`') for name in (start, end)]
            self.links.append({"from": names[0], "to": names[1], "label": _words(label or "")})


def _words(text: str) -> str:
    return " ".join(re.sub(r"<br\s*/?>|\\n", " ", text.strip().strip('"|')).split())[:200]


def _flowchart(line: str, drawing: _Diagram) -> None:
    if line.startswith("subgraph "):
        found = _NODE.fullmatch(line.removeprefix("subgraph ").replace(" [", "["))
        name = found[1] if found else line.removeprefix("subgraph ")
        drawing.part(name, next(filter(None, found.groups()[1:]), "") if found else "")
        return
    if line.startswith(_STYLE):
        return
    before: list[str] = []
    label, at = "", 0
    while at < len(line):
        group: list[str] = []
        while found := _NODE.match(line, at):
            group.append(found[1])
            drawing.part(found[1], next(filter(None, found.groups()[1:]), ""))
            at = found.end()
            if line[at : at + 1] != "&":
                break
            at += 1
        for start, end in product(before, group):
            drawing.link(start, end, label)
        arrow = _ARROW.match(line, at) or _WORDED_ARROW.match(line, at)
        if not group or not arrow:
            return
        before, label, at = group, arrow[1] or "", arrow.end()


def _sequence(line: str, drawing: _Diagram) -> None:
    if named := re.match(r"(?:create\s+)?(?:participant|actor)\s+([^\s@]+)(?:@\{.*\})?(?:\s+as\s+(.+))?$", line):
        drawing.part(named[1], named[2] or "")
    elif (sent := _MESSAGE.match(line)) and not line.lower().startswith(("note ", "loop ", "alt ", "opt ", "title")):
        drawing.link(sent[1], sent[2], sent[3])


def _classes(line: str, drawing: _Diagram) -> None:
    if named := re.match(r'(?:class|state)\s+(?:"([^"]+)"\s+as\s+)?([\w.~`]+)(?:\["([^"]*)"\])?', line):
        drawing.part(named[2], named[1] or named[3] or "")
    elif related := _RELATION.match(line):
        drawing.link(related[1], related[2], related[3])


def _entities(line: str, drawing: _Diagram) -> None:
    if related := _ENTITIES.match(line):
        drawing.link(related[1], related[2], related[3])
    elif named := re.match(r'"?([\w-]+)"?(?:\["?([^"\]]*)"?\])?\s*\{$', line):
        drawing.part(named[1], named[2] or "")


def _c4(line: str, drawing: _Diagram) -> None:
    call = re.match(r"(\w+)\((.*)\)\s*\{?$", line)
    given = [(quoted or bare).strip() for quoted, bare in _ARGUMENT.findall(call[2])] if call else []
    if call is None or not given or call[1].startswith(("Update", "Lay_", "SHOW_")):
        return
    if "Rel" in call[1] and len(given) > 1:
        drawing.link(given[0], given[1], given[2] if len(given) > 2 else "")
    else:
        drawing.part(given[0], given[1] if len(given) > 1 else "")


_Reader = Callable[[str, _Diagram], None]
_READERS: dict[str, tuple[str, _Reader]] = {
    **dict.fromkeys(("graph", "flowchart", "flowchart-elk"), ("flowchart", _flowchart)),
    "sequenceDiagram": ("sequence", _sequence),
    **dict.fromkeys(("classDiagram", "classDiagram-v2"), ("class", _classes)),
    **dict.fromkeys(("stateDiagram", "stateDiagram-v2"), ("state", _classes)),
    "erDiagram": ("entity", _entities),
    **dict.fromkeys(("C4Context", "C4Container", "C4Component", "C4Dynamic", "C4Deployment"), ("C4", _c4)),
}


def read_diagrams(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The diagrams in order: {kind, line, parts: [{name, label}], links: [{from, to, label}]}.

    `line` is that of the fence, from 1. One of another kind, or that names nothing, is left out.
    """
    found: list[dict[str, Any]] = []
    for number, inside in _fenced(lines):
        words = (line.split("%%")[0].strip() for line in inside if len(line) <= MOST_CHARS)
        body = _without_settings([line for line in words if line])
        kind, reader = _READERS.get(re.split(r"[\s;:]", body[0], maxsplit=1)[0] if body else "", ("", None))
        drawing = _Diagram()
        for line in body[1:] if reader else ():
            for statement in line.split(";") if '"' not in line and kind == "flowchart" else (line,):
                assert reader is not None  # noqa: S101
                reader(statement.strip(), drawing)
        if drawing.parts and len(found) < MOST_DIAGRAMS:
            parts = [{"name": name, "label": label} for name, label in drawing.parts.items()]
            found.append({"kind": kind, "line": number, "parts": parts, "links": drawing.links})
    return found


def _fenced(lines: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """The blocks of code that may be Mermaid, with the line of their fence."""
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        if opened is None:
            at += 1
            continue
        end = next((stop for stop in range(at + 1, len(lines)) if lines[stop].strip() == opened[1]), len(lines))
        if opened[2].lower() in ("", "mermaid"):
            yield at + 1, lines[at + 1 : end]
        at = end + 1


def _without_settings(body: list[str]) -> list[str]:
    """Without the front matter."""
    return body[body.index("---", 1) + 1 :] if body[:1] == ["---"] and "---" in body[1:] else body


def in_words(diagrams: Iterable[Mapping[str, Any]]) -> str:
    """The diagrams for a prompt: a line for each with its components, and one for each link."""
    lines = []
    for diagram in diagrams:
        labels = {part["name"]: part["label"] for part in diagram["parts"]}
        lines.append(f"{diagram['kind']} diagram, line {diagram['line']}: {', '.join(labels.values())}")
        for link in diagram["links"]:
            label = f" ({link['label']})" if link["label"] else ""
            lines.append(f"- {labels[link['from']]} -> {labels[link['to']]}{label}")
    return "\n".join(lines)


def image_note(lines: Sequence[str]) -> str:
    """What to say about images that the text names; "" when there are none."""
    numbers = [number for number, line in enumerate(lines, 1) if _IMAGE.search(line)]
    shown = ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")
    return f"Images are not read; the original has them (line {shown})." if numbers else ""
