"""Calls of the C4 model as Mermaid and PlantUML write them: Container(api, "API", "FastAPI"), Rel(api, db, "reads")."""

from __future__ import annotations

import re

from agents.requirements.readers.drawing import Drawing

CALL = re.compile(r"(?:Person|System|Container|Component|Deployment_Node|Node|Boundary|Enterprise|Bi|Rel)\w*\s*\(")
_CALL = re.compile(r"(\w+)\s*\((.*)\)\s*(\{?)$")
_ARGUMENT = re.compile(r'(?:\$(\w+)\s*=\s*)?(?:"([^"]*)"|([^,"\s][^,"]*))')
_SHAPES = (("Boundary", "group"), ("Node", "group"), ("Person", "person"), ("_Ext", "external"), ("Db", "database"))


def read_call(line: str, drawing: Drawing) -> None:
    """One line of a C4 diagram."""
    if line == "}":
        drawing.leave()
        return
    call = _CALL.match(line)
    found = _ARGUMENT.findall(call[2]) if call else []
    named = {name: (quoted or bare).strip() for name, quoted, bare in found if name}
    given = [(quoted or bare).strip() for name, quoted, bare in found if not name]
    if call is None or not given or call[1].startswith(("Update", "Lay_", "SHOW_", "Add")):
        return
    if "Rel" in call[1] and len(given) > 1:
        ends = (given[1], given[0]) if call[1].startswith("Rel_Back") else (given[0], given[1])
        drawing.link(*ends, given[2] if len(given) > 2 else "")
        return
    label = given[1] if len(given) > 1 else ""
    # Systems and persons have a description where containers and components have a technology.
    technical = call[1].startswith(("Container", "Component", "Deployment", "Node"))
    technology = named.get("techn", given[2] if len(given) > 2 and technical else "")
    if call[3]:
        drawing.enter(given[0], label, technology)
        return
    shape = next((shape for word, shape in _SHAPES if word in call[1]), "queue" if "Queue" in call[1] else "")
    drawing.part(given[0], label, shape=shape, detail=technology)
