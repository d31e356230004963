"""The diagrams of a file: a document of any accepted format, or a file of Mermaid, PlantUML or draw.io alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agents.requirements.documents import DocumentLimits, DocumentRefused, open_path, read_document
from agents.requirements.readers import convert, drawio
from agents.requirements.readers.diagrams import read_diagrams
from sandbox.base import Backend

MERMAID, DRAWIO = (".mmd", ".mermaid"), (".drawio", ".xml")
ACCEPTED = f"{convert.ACCEPTED}; or Mermaid (.mmd), PlantUML (.puml) or draw.io (.drawio)"


@dataclass(frozen=True)
class DiagramSource:
    """The diagrams of a file, its name, and the SHA-256 of its bytes."""

    name: str
    sha256: str
    diagrams: list[dict[str, Any]]


def read_source(path: str | os.PathLike[str], backend: Callable[[], Backend]) -> DiagramSource:
    """Read the file at `path`; `backend` is asked only for formats that are read in the sandbox.

    Raises DocumentRefused.
    """
    data, name = open_path(path)
    found = _drawio(data, name) if name.lower().endswith(DRAWIO) else _others(data, name, backend)
    return DiagramSource(name, hashlib.sha256(data).hexdigest(), found)


def _others(data: bytes, name: str, backend: Callable[[], Backend]) -> list[dict[str, Any]]:
    if name.lower().endswith(MERMAID):
        return [{**one, "line": 1} for one in read_diagrams(["```mermaid", *read_document(data, name).lines])]
    return read_diagrams(convert.read_any(data, name, backend).lines)


def _drawio(data: bytes, name: str) -> list[dict[str, Any]]:
    """Each page as a diagram; its "line" is the number of the page."""
    # A compressed page is one line of any length, so the limits of documents do not fit.
    limit = DocumentLimits().max_bytes
    if len(data) > limit:
        raise DocumentRefused(name, f"It has more than {limit // 1_000_000} MB.", "Save the pages it needs alone.")
    try:
        drawn = drawio.read_drawio(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, drawio.DrawioRefused) as error:
        reason = f"It is not a diagram of draw.io that can be read: {error}."
        raise DocumentRefused(name, reason, "Save it in draw.io as .drawio, in UTF-8.") from None
    return [one.as_found("draw.io", number) for number, one in enumerate(drawn, 1)]
