"""PlantUML's component and deployment diagrams, and C4 as its library writes it.

The preprocessor is not run: nothing is included and no variable is replaced. A line that is not understood is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agents.requirements.readers import c4
from agents.requirements.readers.drawing import Drawing

BEGIN, END = re.compile(r"\s*@startuml\b"), re.compile(r"\s*@enduml\b")
_SHAPES = {
    **dict.fromkeys(("database", "storage"), "database"),
    "queue": "queue",
    **dict.fromkeys(("actor", "person"), "person"),
}
_GROUPS = ("package", "node", "folder", "frame", "cloud", "rectangle", "together", "stack", "container", "card")
_KINDS = (*_SHAPES, *_GROUPS, "component", "artifact", "interface", "agent", "boundary", "control", "entity", "hexagon")
_END_OF_PART = r'(?:"([^"]*)"|\[([^\]]*)\]|:([^:]+):|(\w+(?:[-.]\w+)*))'
_DECLARED = re.compile(
    rf"({'|'.join((*_KINDS, 'file', 'collections', 'participant'))})\s+{_END_OF_PART}"
    r'(?:\s+as\s+(?:"([^"]*)"|([\w.-]+)))?(?:\s*\[[^\]]*\])?\s*((?:<<[^>]*>>\s*)*)(?:#[^\s{]*\s*)?(\{?)$'
)
_SHORT = re.compile(r"(?:\[([^\]]+)\]|:([^:]+):)(?:\s+as\s+([\w.-]+))?\s*((?:<<[^>]*>>\s*)*)(?:#\S*)?$")
_TIP = r"(?:[<>|*#^+(){}0@]{1,2}|(?<=\s)[ox]|[ox](?=\s))?"
_LINE = r"[-.=~]{0,20}"
_ARROW = re.compile(
    rf'^{_END_OF_PART}\s*(?:"[^"]*"\s*)?({_TIP}[-.=~]{_LINE}(?:\[[^\]]*\])?(?:left|right|up|down|[lrud](?=[-.=~]))?'
    rf'{_LINE}{_TIP}[-.=~]{{0,2}})\s*(?:"[^"]*"\s*)?{_END_OF_PART}\s*(?::\s*(.*))?$'
)
_SKIPPED = re.compile(r"(?:title|header|footer|skinparam|hide|show|scale|!|@|left to|top to|caption|allowmixing)")
_BLOCKS = {"note": "end note", "legend": "endlegend", "skinparam": "}", "/'": "'/"}


def read_plantuml(lines: Iterable[str]) -> tuple[str, Drawing]:
    """The kind ("PlantUML" or "C4") and what the lines between @startuml and @enduml draw."""
    drawing, kind, until = Drawing(), "PlantUML", ""
    for line in (one.strip() for one in lines):
        if until:
            until = "" if line.replace(" ", "").endswith(until.replace(" ", "")) else until
        elif line and not line.startswith("'"):
            until = _opens_block(line)
            if until or _SKIPPED.match(line):
                continue
            if c4.CALL.match(line):
                kind = "C4"
                c4.read_call(line, drawing)
            else:
                _line(line, drawing)
    return kind, drawing


def _opens_block(line: str) -> str:
    """How a block of text ends that begins here and is not on this line alone; "" for none."""
    word = next((word for word in _BLOCKS if line.lower().startswith(word)), "")
    one_line = (word == "note" and (":" in line or " as " in line)) or (word == "skinparam" and not line.endswith("{"))
    return "" if not word or one_line or line.endswith("'/") else _BLOCKS[word]


def _line(line: str, drawing: Drawing) -> None:
    if line == "}":
        drawing.leave()
    elif found := _DECLARED.match(line):
        kind, *names, long_alias, alias, marks, opens = found.groups()
        told = next(filter(None, names), "")
        # Both forms are written: component "Orders" as orders, and component orders as "Orders".
        name, label = (told, long_alias) if long_alias else (alias or told, told)
        detail = " ".join(re.findall(r"<<\s*([^<>]*?)\s*>>", marks or ""))
        if opens:
            drawing.enter(name, label, detail)
        else:
            drawing.part(name, label, shape=_SHAPES.get(kind, "external" if kind == "cloud" else ""), detail=detail)
    elif found := _SHORT.match(line):
        label = found[1] or found[2]
        detail = " ".join(re.findall(r"<<\s*([^<>]*?)\s*>>", found[4] or ""))
        drawing.part(found[3] or label, label, shape="person" if found[2] else "", detail=detail)
    elif found := _ARROW.match(line):
        groups = found.groups()
        start, arrow, end = next(filter(None, groups[:4]), ""), groups[4], next(filter(None, groups[5:9]), "")
        for name, actor in ((start, groups[2]), (end, groups[7])):
            drawing.part(name, shape="person" if actor else "")
        if "hidden" not in arrow:
            backwards = "<" in arrow and ">" not in arrow
            drawing.link(*((end, start) if backwards else (start, end)), groups[9])
    elif line.endswith("{"):
        drawing.enter("")  # a group of a kind that is not known: its end must not end another one
