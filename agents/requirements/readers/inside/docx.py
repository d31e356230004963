"""A Word document as Markdown, by the zip and XML readers of the standard library.

Word keeps the numbers of headings and of paragraphs ("REQ-007", "3.2 a)") apart from their words; they are counted here
as Word counts them. Tracked insertions are taken, deletions are left out.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from agents.requirements.readers.inside.markdown import MarkdownText, Reading, Unreadable, flat, image
from agents.requirements.readers.inside.word_numbers import Numbers

MOST_XML = 50_000_000  # bytes of one part, unpacked
_DROPPED = {"del", "moveFrom", "delText", "instrText", "pPr", "rPr", "txbxContent", "rt"}
_CODE = re.compile(r"code|source|preformatted|listing", re.IGNORECASE)
_MONOSPACE = re.compile(r"courier|consolas|mono|menlo", re.IGNORECASE)
_MARKER = re.compile(r"\d{1,3}[.)]|[a-z][.)]|\([a-z0-9]{1,2}\)")
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)


class _NoEntities(ElementTree.TreeBuilder):
    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """A document type can declare entities, for bombs and for other files; Word writes none."""
        raise Unreadable("It declares XML entities, which Word never does.", "Save it again with a word processor.")


def _part(archive: zipfile.ZipFile, name: str) -> Element | None:
    """One part as XML whose names have lost their name spaces; None when there is none."""
    try:
        with archive.open(name) as packed:
            data = packed.read(MOST_XML + 1)
    except KeyError:
        return None
    if len(data) > MOST_XML:
        raise Unreadable(f"Unpacked, it has more than {MOST_XML // 1_000_000} MB of text.", "Split the document.")
    root = ElementTree.fromstring(data, ElementTree.XMLParser(target=_NoEntities()))  # noqa: S314  no entities, and in a sandbox
    for element in root.iter():
        for copy in element.findall("{*}Fallback"):  # for old versions, of what is there already
            element.remove(copy)
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
    return root


def _value(element: Element | None, path: str, default: str = "", name: str = "val") -> str:
    found = element.find(path) if element is not None else None
    return default if found is None else found.get(name, default)


class _Word:
    def __init__(self, archive: zipfile.ZipFile, body: Element) -> None:
        styles = _part(archive, "word/styles.xml")
        self.styles = {one.get("styleId", ""): one for one in styles.iter("style")} if styles is not None else {}
        self.numbers = Numbers(_part(archive, "word/numbering.xml"))
        self.notes = {kind: self._footnotes(archive, kind) for kind in ("footnote", "endnote")}
        self.out = MarkdownText()
        self.listing: list[str] = []
        self.carried = ""  # words of a paragraph whose end was deleted: the next one goes on with them
        self.walk(body)
        self.end_listing()

    @staticmethod
    def _footnotes(archive: zipfile.ZipFile, kind: str) -> dict[str, str]:
        root = _part(archive, f"word/{kind}s.xml")
        notes = root.iter(kind) if root is not None else ()
        return {note.get("id", ""): flat("".join(t.text or "" for t in note.iter("t"))) for note in notes}

    def walk(self, parent: Element) -> None:
        for block in parent:
            if block.tag == "p":
                self.paragraph(block)
            elif block.tag == "tbl":
                self.table(block)
            elif block.tag not in _DROPPED:
                self.walk(block)  # content controls, tracked insertions

    def words(self, parent: Element) -> Iterator[str]:
        for part in parent:
            if part.tag == "t":
                yield part.text or ""
            elif part.tag in ("tab", "br", "cr"):
                yield "\n" if part.tag != "tab" else "\t"
            elif part.tag == "noBreakHyphen":
                yield "-"
            elif part.tag in ("footnoteReference", "endnoteReference"):
                note = self.notes[part.tag.removesuffix("Reference")].get(part.get("id", ""))
                yield f" ({note})" if note else ""
            elif part.tag in ("drawing", "pict", "object"):
                if any(True for _ in part.iter("blip")) or any(True for _ in part.iter("imagedata")):
                    named = next((one for one in part.iter("docPr")), None)
                    yield image((named.get("descr") or named.get("name") or "") if named is not None else "")
            elif part.tag not in _DROPPED:
                yield from self.words(part)

    def style_chain(self, properties: Element | None) -> list[Element]:
        """The style of a paragraph and those it is based on."""
        chain: list[Element] = []
        style = self.styles.get(_value(properties, "pStyle"))
        while style is not None and style not in chain:
            chain.append(style)
            style = self.styles.get(_value(style, "basedOn"))
        return chain

    def paragraph(self, block: Element) -> None:
        properties = block.find("pPr")
        text = self.carried + "".join(self.words(block))
        self.carried = ""
        if properties is not None and properties.find("rPr/del") is not None:
            self.carried = text
            return
        chain = self.style_chain(properties)
        names = [_value(style, "name") for style in chain]
        if names and names[0].lower().startswith("toc"):
            return
        if self._is_code(block, names, text):
            self.listing.append(text)
            return
        self.end_listing()
        for box in block.iter("txbxContent"):
            self.walk(box)
        if not text.strip():
            return
        label, depth = self._label(properties, chain)
        level = self._level(properties, chain, names)
        if level:
            self.out.heading(level, f"{'' if label == '-' else label} {text}")
        elif label == "-" or _MARKER.fullmatch(label):
            self.out.item(text, depth, label)
        else:
            self.out.paragraph(f"{label} {text}" if label else text)

    def _label(self, properties: Element | None, chain: list[Element]) -> tuple[str, int]:
        """The number that Word shows before the paragraph, "-" for a bullet, and how deep its list is."""
        for place in (properties, *(style.find("pPr") for style in chain)):
            if place is not None and place.find("numPr") is not None:
                depth = _value(place, "numPr/ilvl") or _value(properties, "numPr/ilvl")
                return self.numbers.next(_value(place, "numPr/numId"), int(depth or 0))
        return "", 0

    @staticmethod
    def _level(properties: Element | None, chain: list[Element], names: list[str]) -> int:
        for name in names:
            if found := _HEADING.match(name):
                return int(found[1])
            if name.lower() == "title":
                return 1
        for place in (properties, *(style.find("pPr") for style in chain)):
            if (outline := _value(place, "outlineLvl")).isdecimal() and int(outline) < 9:
                return int(outline) + 1
        return 0

    @staticmethod
    def _is_code(block: Element, names: list[str], text: str) -> bool:
        if names and _CODE.search(names[0]):
            return True
        runs = [run for run in block.iter("r") if any(True for _ in run.iter("t"))]
        fonts = [_value(run, "rPr/rFonts", name="ascii") for run in runs]
        return bool(text.strip() and fonts) and all(map(_MONOSPACE.search, fonts))

    def end_listing(self) -> None:
        if self.listing:
            self.out.code("\n".join(self.listing))
            self.listing = []

    def table(self, block: Element) -> None:
        self.end_listing()
        rows = [row for row in _below(block, "tr") if row.find("trPr/del") is None]
        if all(len(list(_below(row, "tc"))) == 1 for row in rows):
            for row in rows:  # a frame around paragraphs
                self.walk(next(_below(row, "tc")))
            return
        self.out.table([[text for cell in _below(row, "tc") for text in self._cell(cell)] for row in rows])

    def _cell(self, cell: Element) -> list[str]:
        lines = [
            " ".join(filter(None, (self._label(p.find("pPr"), self.style_chain(p.find("pPr")))[0], words)))
            for p in cell.iter("p")
            if (words := "".join(self.words(p)).strip())
        ]
        wide = _value(cell, "tcPr/gridSpan", "1")
        return ["\n".join(lines), *[""] * (min(int(wide), 50) - 1 if wide.isdecimal() else 0)]


def _below(parent: Element, tag: str) -> Iterator[Element]:
    """The rows of a table, or the cells of a row, also within content controls."""
    for part in parent:
        if part.tag == tag:
            yield part
        elif part.tag in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _below(part, tag)


def read(data: bytes) -> Reading:
    """Raises Unreadable for an archive that is not a Word document, or holds no text."""
    save = "Save it as .docx, or give Markdown or plain text."
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        raise Unreadable("It is damaged: its ZIP archive cannot be opened.", save) from None
    names = archive.namelist()
    root = _part(archive, "word/document.xml") if "word/document.xml" in names else None
    body = root.find("body") if root is not None else None
    if root is None or body is None:
        raise Unreadable(f"It is {_other(names)}, not a Word document (.docx).", save)
    out = _Word(archive, body).out
    if not out.lines:
        raise Unreadable("It holds no text.", "Give a document that states what is wanted.")
    changes = sum(1 for one in root.iter() if one.tag in ("ins", "del", "moveFrom", "moveTo"))
    if changes:
        out.notes.append(f"{changes} tracked changes: insertions are read, deletions are left out.")
    if any(name.startswith("word/comments") for name in names):
        out.notes.append("Its comments are not read.")
    if any(name.endswith("vbaProject.bin") for name in names):
        out.notes.append("It holds macros: they are neither run nor read.")
    return out.reading()


def _other(names: list[str]) -> str:
    kinds = {"xl/workbook.xml": "an Excel workbook", "ppt/presentation.xml": "a PowerPoint presentation"}
    known = next((kind for part, kind in kinds.items() if part in names), "")
    return known or ("an OpenDocument file" if "mimetype" in names else "a ZIP archive")
