"""Diagrams of draw.io (diagrams.net): XML, also compressed, as parts and links.

The XML is a stranger's: documents with a DOCTYPE are refused, so that no entity is ever expanded, and sizes are bounded
before and after decompression.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote
from xml.parsers import expat

from agents.requirements.readers.drawing import MOST_DIAGRAMS, Drawing

BEGIN = re.compile(r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)?<(?:mxfile|mxGraphModel)\b", re.DOTALL)
MOST_BYTES, MOST_CELLS = 4_000_000, 5_000
_TAG = re.compile(r"<[^<>]{0,500}>")
_SHAPES = (
    (re.compile(r"umlActor|shape=actor|c4\.person|mxgraph\.basic\.user"), "person"),
    (re.compile(r"sqs|queue|kafka|service_bus|pubsub|shape=cylinder3?;.*direction=(?:north|south)|event_hub"), "queue"),
    (re.compile(r"cylinder|database|datastore|\brds\b|dynamodb|_sql"), "database"),
    (re.compile(r"ellipse;shape=cloud|shape=cloud|fillColor=#999999"), "external"),
    (re.compile(r"swimlane|^group|;group\b|container=1"), "group"),
)
_PLACEHOLDER = re.compile(r"%(\w+)%")


class DrawioRefused(ValueError):
    """The file cannot be read; the text says why."""


def read_drawio(text: str) -> list[Drawing]:
    """What each page of a file draws. Raises DrawioRefused."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise DrawioRefused(f"a diagram of draw.io may have {MOST_BYTES // 1_000_000} MB")
    pages = _pages(text)
    return [drawing for page in pages[:MOST_DIAGRAMS] if (drawing := _drawn(page)).parts]


def _elements(text: str) -> Iterator[tuple[str, dict[str, str], str, str]]:
    """Name, attributes, text and the id of the element around it, of each element in the order of its end.

    Raises DrawioRefused.
    """
    found: list[tuple[str, dict[str, str], str, str]] = []
    opened: list[tuple[str, dict[str, str], list[str]]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(found) + len(opened) > 4 * MOST_CELLS:
            raise DrawioRefused(f"a diagram of draw.io may have {MOST_CELLS:,} cells")
        opened.append((name, attributes, []))

    def end(_: str) -> None:
        name, attributes, data = opened.pop()
        outer = opened[-1][1] if opened and opened[-1][0] in ("object", "UserObject") else {}
        found.append((name, {**outer, **attributes}, "".join(data).strip(), outer.get("id", "")))

    def characters(data: str) -> None:
        if opened:
            opened[-1][2].append(data)

    def doctype(*_: Any) -> None:
        raise DrawioRefused("it declares a document type, which diagrams of draw.io do not have")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = characters, doctype
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise DrawioRefused(f"its XML is damaged: {error}") from None
    except ValueError as error:
        raise error if isinstance(error, DrawioRefused) else DrawioRefused(f"it cannot be read: {error}") from None
    yield from found


def _pages(text: str, *, packed: bool = True) -> list[list[dict[str, str]]]:
    """The cells of each page; a page that is unpacked holds no further packed one."""
    pages: list[list[dict[str, str]]] = []
    cells: list[dict[str, str]] = []
    for name, attributes, data, outer in _elements(re.sub(r"^\s*<\?xml[^>]*\?>", "", text)):
        if name == "mxCell":
            cells.append({**attributes, "id": outer or attributes.get("id", "")})
        elif name == "mxGraphModel":
            pages.append(cells)
            cells = []
        elif name == "diagram" and data and packed:
            pages += _pages(_unpacked(data), packed=False)
    return pages


def _unpacked(data: str) -> str:
    """A page as it is compressed: base64 of raw deflate of percent-encoded XML. Raises DrawioRefused."""
    try:
        unzip = zlib.decompressobj(-zlib.MAX_WBITS)
        found = unzip.decompress(base64.b64decode(data, validate=True), MOST_BYTES)
        if unzip.unconsumed_tail:
            raise DrawioRefused(f"a page of draw.io may have {MOST_BYTES // 1_000_000} MB")
        text = unquote(found.decode("utf-8"), errors="strict")
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise DrawioRefused(f"a page of it cannot be unpacked: {error}") from None
    if not BEGIN.match(text):
        raise DrawioRefused("a page of it holds no diagram")
    return text


def _drawn(cells: list[dict[str, str]]) -> Drawing:
    drawing = Drawing()
    _add_parts(drawing, cells)
    labels = {cell.get("parent", ""): _label(cell) for cell in cells if "edgeLabel" in cell.get("style", "")}
    for cell in cells:
        start, end = _ends(cell)
        if start in drawing.parts and end in drawing.parts:
            backwards = "startArrow=" in cell.get("style", "") and "endArrow=none" in cell.get("style", "")
            label = _label(cell) or labels.get(cell["id"], "")
            drawing.link(*((end, start) if backwards else (start, end)), label)
    return drawing


def _add_parts(drawing: Drawing, cells: list[dict[str, str]]) -> None:
    drawn = {
        cell["id"]: cell for cell in cells if cell.get("vertex") == "1" and "edgeLabel" not in cell.get("style", "")
    }
    around = {cell.get("parent", "") for cell in drawn.values()}
    for name, cell in drawn.items():
        style, label = cell.get("style", ""), _label(cell)
        if not label or (style.startswith("text;") and not any(name in _ends(one) for one in cells)):
            continue  # a decoration, or a caption that nothing leads to
        shape = next((shape for pattern, shape in _SHAPES if pattern.search(style)), "")
        icon = re.search(r"(?:resIcon|shape|image)=(?:mxgraph|img/lib)[./][\w./]*?([\w]+)(?:\.svg)?(?:;|$)", style)
        detail = " ".join(filter(None, (cell.get("c4Technology"), cell.get("technology"), icon and icon[1])))
        drawing.part(name, label, shape="group" if name in around else shape, detail=detail.replace("_", " "))
    for name, cell in drawn.items():
        if name in drawing.parts and (parent := cell.get("parent", "")) in drawing.parts:
            drawing.parts[name]["group"] = parent


def _ends(cell: dict[str, str]) -> tuple[str, str]:
    return (cell.get("source", ""), cell.get("target", "")) if cell.get("edge") == "1" else ("", "")


def _label(cell: dict[str, str]) -> str:
    """Its words, without HTML; placeholders are replaced once."""
    raw = cell.get("value") or cell.get("label") or ""
    raw = _PLACEHOLDER.sub(lambda found: cell.get(found[1], ""), raw)
    return " ".join(html.unescape(_TAG.sub(" ", html.unescape(raw))).split())
