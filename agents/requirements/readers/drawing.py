"""What a diagram says: its parts, what they are drawn as, and the links between them."""

from __future__ import annotations

import re
from typing import Any

MOST_DIAGRAMS, MOST_PARTS, MOST_LINKS, MOST_CHARS = 40, 200, 400, 2_000
_BREAK = re.compile(r"<br\s*/?>|\\n")


def words(text: str) -> str:
    """A label on one line, without its quotes, in at most 200 characters."""
    return " ".join(_BREAK.sub(" ", text.strip().strip('"|')).split())[:200]


class Drawing:
    """Parts and links, collected line by line; what goes beyond the limits is left out."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, str]] = {}
        self.links: list[dict[str, str]] = []
        self._groups: list[str] = []

    def part(self, name: str, label: str = "", *, shape: str = "", detail: str = "") -> None:
        """A part by name; what an earlier line said of it stays where this one says nothing.

        `shape` is database, queue, person, external or group where the drawing tells; `detail` is what it says beside
        the label: technology, stereotype, class.
        """
        name = _name(name)
        if not name or (name not in self.parts and len(self.parts) >= MOST_PARTS):
            return
        row = self.parts.setdefault(name, {"name": name, "label": name, "shape": "", "detail": "", "group": ""})
        row["label"] = words(label) or row["label"]
        row["shape"] = shape or row["shape"]
        row["detail"] = words(f"{row['detail']} {detail}")
        if self._groups and not row["group"] and name not in self._groups:
            row["group"] = self._groups[-1]

    def link(self, start: str, end: str, label: str | None = "") -> None:
        """A link between two parts, which it makes where they are new."""
        for name in (start, end):
            self.part(name)
        names = [_name(name) for name in (start, end)]
        if len(self.links) < MOST_LINKS and all(name in self.parts for name in names):
            self.links.append({"from": names[0], "to": names[1], "label": words(label or "")})

    def enter(self, name: str, label: str = "", detail: str = "") -> None:
        """Begin a group: parts named until leave() belong to it."""
        self.part(name, label, shape="group", detail=detail)
        self._groups.append(_name(name))

    def leave(self) -> None:
        """End the innermost group; without one nothing happens."""
        if self._groups:
            self._groups.pop()

    def as_found(self, kind: str, line: int) -> dict[str, Any]:
        """The diagram as it is stored."""
        return {"kind": kind, "line": line, "parts": list(self.parts.values()), "links": self.links}


def _name(text: str) -> str:
    return text.strip().strip('"`')
