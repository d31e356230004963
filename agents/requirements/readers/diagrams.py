"""Diagrams of a document as components and links between them, and the images that nobody reads.

Mermaid's flowcharts, sequences, states, classes, entities and C4 here; PlantUML and draw.io in modules of their own.
What a line means beside that (styles, members) is left to whoever reads the document; a line that is not understood is
skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from agents.requirements.readers import c4, drawio, plantuml
from agents.requirements.readers.drawing import MOST_CHARS, MOST_DIAGRAMS, Drawing

_FENCE = re.compile(r"^\s{0,12}(`{3,}|~{3,})\s*([\w-]*)")
_IMAGE = re.compile(r"!\[[^\]]{0,500}\]\(|<img\b", re.IGNORECASE)
_NAME = r"[^\W_][\w]*(?:[-.][\w]+)*"
_NODE = re.compile(
    rf'\s*({_NAME})(?:@\{{(?P<set>(?:[^}}]*?label:\s*"(?P<said>[^"]*)")?[^}}]*)\}}'
    r'|(?:(?P<open>[\[({>]{1,3})[/\\]?\s*(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\])}"]*?))\s*[/\\]?[\])}]{1,3}))?'
    r"(?::::(?P<style>[\w-]+))?\s*"
)
_SHAPE = re.compile(r"\bshape:\s*([\w-]+)")
_SHAPES = {
    **dict.fromkeys(("[(", "cyl", "cylinder", "database", "db", "disk", "lin-cyl", "datastore"), "database"),
    **dict.fromkeys(("das", "h-cyl", "horizontal-cylinder"), "queue"),
    "cloud": "external",
}
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
_STYLE = ("style ", "classDef ", "linkStyle ", "click ", "direction ", "class ")


def _drawn(found: re.Match[str]) -> dict[str, str]:
    """Label, shape and detail of a node."""
    label = next(filter(None, (found["said"], found["quoted"], found["bare"])), "")
    named = _SHAPE.search(found["set"] or "")
    shape = _SHAPES.get(named[1] if named else found["open"] or "", "")
    return {"label": label, "shape": shape, "detail": found["style"] or ""}


def _flowchart(line: str, drawing: Drawing) -> None:
    if line.startswith("subgraph "):
        found = _NODE.fullmatch(line.removeprefix("subgraph ").replace(" [", "["))
        drawing.enter(found[1] if found else line.removeprefix("subgraph "), _drawn(found)["label"] if found else "")
        return
    if line == "end":
        drawing.leave()
    if line == "end" or line.startswith(_STYLE):
        return
    before: list[str] = []
    label, at = "", 0
    while at < len(line):
        group: list[str] = []
        while found := _NODE.match(line, at):
            group.append(found[1])
            drawing.part(found[1], **_drawn(found))
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


def _sequence(line: str, drawing: Drawing) -> None:
    named = re.match(r"(?:create\s+)?(participant|actor)\s+([^\s@]+)(?:@\{.*\})?(?:\s+as\s+(.+))?$", line)
    if named:
        drawing.part(named[2], named[3] or "", shape="person" if named[1] == "actor" else "")
    elif (sent := _MESSAGE.match(line)) and not line.lower().startswith(("note ", "loop ", "alt ", "opt ", "title")):
        drawing.link(sent[1], sent[2], sent[3])


def _classes(line: str, drawing: Drawing) -> None:
    if named := re.match(r'(?:class|state)\s+(?:"([^"]+)"\s+as\s+)?([\w.~`]+)(?:\["([^"]*)"\])?', line):
        drawing.part(named[2], named[1] or named[3] or "")
    elif related := _RELATION.match(line):
        drawing.link(related[1], related[2], related[3])


def _entities(line: str, drawing: Drawing) -> None:
    if related := _ENTITIES.match(line):
        drawing.link(related[1], related[2], related[3])
    elif named := re.match(r'"?([\w-]+)"?(?:\["?([^"\]]*)"?\])?\s*\{$', line):
        drawing.part(named[1], named[2] or "")


_Reader = Callable[[str, Drawing], None]
_READERS: dict[str, tuple[str, _Reader]] = {
    **dict.fromkeys(("graph", "flowchart", "flowchart-elk"), ("flowchart", _flowchart)),
    "sequenceDiagram": ("sequence", _sequence),
    **dict.fromkeys(("classDiagram", "classDiagram-v2"), ("class", _classes)),
    **dict.fromkeys(("stateDiagram", "stateDiagram-v2"), ("state", _classes)),
    "erDiagram": ("entity", _entities),
    **dict.fromkeys(("C4Context", "C4Container", "C4Component", "C4Dynamic", "C4Deployment"), ("C4", c4.read_call)),
}


_LABELS = ("", "mermaid", "plantuml", "puml", "uml", "drawio", "xml")


def read_diagrams(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The diagrams in order: {kind, line, parts: [{name, label, shape, detail, group}], links: [{from, to, label}]}.

    `line` is that of the fence, from 1; shapes are told in agents.requirements.readers.drawing. A diagram of another
    kind, one that cannot be read, or that names nothing, is left out.
    """
    found = [
        drawing.as_found(kind, number)
        for number, label, inside in _blocks(lines)
        for kind, drawing in _read(label, inside)
        if drawing.parts
    ]
    return found[:MOST_DIAGRAMS]


def _read(label: str, inside: Sequence[str]) -> Iterator[tuple[str, Drawing]]:
    text = "\n".join(inside)
    if label in ("plantuml", "puml", "uml"):
        yield plantuml.read_plantuml(line for line in inside if len(line) <= MOST_CHARS)
    elif label in ("drawio", "xml", ""):
        try:
            yield from (
                ("draw.io", drawing) for drawing in (drawio.read_drawio(text) if drawio.BEGIN.match(text) else ())
            )
        except drawio.DrawioRefused:
            return
    if label in ("mermaid", ""):
        yield _mermaid(inside)


def _mermaid(inside: Sequence[str]) -> tuple[str, Drawing]:
    words = (line.split("%%")[0].strip() for line in inside if len(line) <= MOST_CHARS)
    body = _without_settings([line for line in words if line])
    kind, reader = _READERS.get(re.split(r"[\s;:]", body[0], maxsplit=1)[0] if body else "", ("", None))
    drawing = Drawing()
    for line in body[1:] if reader else ():
        for statement in line.split(";") if '"' not in line and kind == "flowchart" else (line,):
            assert reader is not None  # noqa: S101
            reader(statement.strip(), drawing)
    return kind, drawing


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, str, Sequence[str]]]:
    """What may be a diagram: the line it begins on, its label, and its lines.

    PlantUML and draw.io are known by their own marks too, where a file holds nothing else or no fence is around them.
    """
    at = 0
    while at < len(lines):
        if opened := _FENCE.match(lines[at]):
            end = next((stop for stop in range(at + 1, len(lines)) if lines[stop].strip() == opened[1]), len(lines))
            label = opened[2].lower()
            if plantuml.BEGIN.match(next(filter(str.strip, lines[at + 1 : end]), "")):
                label = "plantuml"
            if label in _LABELS:
                yield at + 1, label, lines[at + 1 : end]
        elif plantuml.BEGIN.match(lines[at]):
            end = next((stop for stop in range(at, len(lines)) if plantuml.END.match(lines[stop])), len(lines))
            yield at + 1, "plantuml", lines[at + 1 : end]
        else:
            end = at
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
