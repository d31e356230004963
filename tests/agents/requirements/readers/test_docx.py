"""Word files, read by the reader itself: it needs the standard library alone."""

import io
import zipfile

import pytest

from agents.requirements.extract import extract
from agents.requirements.readers.inside.docx import read
from agents.requirements.readers.inside.markdown import Unreadable
from tests.agents.requirements.readers.files import W, docx, p
from tests.tables import each_row

STYLES = f"""<w:styles {W}>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="own"><w:name w:val="Own"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:styleId="src"><w:name w:val="Source Code"/></w:style>
<w:style w:styleId="toc1"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="req"><w:name w:val="Requirement"/><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr></w:style>
</w:styles>"""


def level(at: int, fmt: str, text: str, start: int = 1) -> str:
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{fmt}"/><w:lvlText w:val="{text}"/></w:lvl>'
    )


def numbering(*lists: str) -> str:
    held = "".join(f'<w:abstractNum w:abstractNumId="{at}">{text}</w:abstractNum>' for at, text in enumerate(lists, 1))
    used = "".join(f'<w:num w:numId="{at}"><w:abstractNumId w:val="{at}"/></w:num>' for at in range(1, len(lists) + 1))
    return f"<w:numbering {W}>{held}{used}</w:numbering>"


NUMBERING = numbering(
    level(0, "bullet", "\uf0b7") + level(1, "lowerLetter", "%2)"),
    level(0, "decimal", "%1.") + level(1, "decimal", "%1.%2"),
    level(0, "decimalZero", "REQ-%1:", start=7),
    level(0, "upperRoman", "%1."),
)


def cells(*texts: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{p(text)}</w:tc>" for text in texts) + "</w:tr>"


def test_headings_lists_tables_and_code_survive() -> None:
    body = (
        p("Shop", "berschrift1")
        + p("Contents", "toc1")
        + p("Scope", "own")
        + p("The shop sells books.")
        + p("fast", numbered=(1, 0))
        + p("on weekdays", numbered=(1, 1))
        + p("safe", numbered=(1, 0))
        + f"<w:tbl>{cells('ID', 'Text')}{cells('N-1', 'a|b')}</w:tbl>"
        + p("def add():", "src")
        + p("    return 1", run='<w:rFonts w:ascii="Courier New"/>')
        + p("The end.")
    )
    found = read(docx(body, styles=STYLES, numbering=NUMBERING))
    assert found["markdown"].split("\n") == [
        *("# Shop", "", "# Scope", "", "The shop sells books.", ""),
        *("- fast", "  a) on weekdays", "- safe", ""),
        *("| ID | Text |", "| --- | --- |", "| N-1 | a\\|b |", ""),
        *("```", "def add():", "    return 1", "```", "", "The end."),
    ]


def test_numbers_that_word_keeps_apart_stand_before_their_words() -> None:
    """Ids of requirements are often numbers of a list: without them nobody could refer to a requirement."""
    body = (
        p("Scope", "berschrift1", (2, 0))
        + p("Users", "berschrift1", (2, 1))
        + p("The system shall let a member log in.", "req")
        + p("The system shall let a member log out.", "req")
        + p("Data", "berschrift1", (2, 0))
        + p("Mail", "berschrift1", (2, 1))
        + p("first", numbered=(4, 0))
        + p("second", numbered=(4, 0))
    )
    found = read(docx(body, styles=STYLES, numbering=NUMBERING))["markdown"]
    assert [line for line in found.split("\n") if line] == [
        *("# 1. Scope", "# 1.1 Users"),
        "REQ-07: The system shall let a member log in.",
        "REQ-08: The system shall let a member log out.",
        *("# 2. Data", "# 2.1 Mail", "I. first", "II. second"),
    ]
    assert [row.author_key for row in extract(found).requirements] == ["REQ-07", "REQ-08"]


def test_tracked_insertions_are_read_and_deletions_are_not() -> None:
    body = (
        "<w:p><w:r><w:t>Members shall </w:t></w:r><w:del><w:r><w:delText>not </w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>always </w:t></w:r></w:ins><w:r><w:t>pay.</w:t></w:r></w:p>"
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>One </w:t></w:r></w:p>"
        + p("paragraph.")
        + f"<w:tbl>{cells('A', 'B')}"
        + cells("gone", "too").replace("<w:tr>", "<w:tr><w:trPr><w:del/></w:trPr>")
        + "</w:tbl>"
    )
    found = read(docx(body))
    assert found["markdown"].startswith("Members shall always pay.\n\nOne paragraph.\n\n| A | B |")
    assert "gone" not in found["markdown"]
    assert any("tracked changes: insertions are read" in note for note in found["notes"])


def test_boxes_footnotes_links_and_images_are_where_they_stand() -> None:
    box = "<w:txbxContent>" + p("In a box.") + "</w:txbxContent>"
    body = (
        "<w:p><w:r><mc:AlternateContent xmlns:mc='m'><mc:Choice><w:drawing>" + box + "</w:drawing></mc:Choice>"
        "<mc:Fallback><w:pict>" + box + "</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        "<w:p><w:hyperlink><w:r><w:t>See here</w:t></w:r></w:hyperlink><w:r><w:footnoteReference w:id='2'/></w:r></w:p>"
        "<w:sdt><w:sdtContent>" + p("Controlled.") + "</w:sdtContent></w:sdt>"
        "<w:p><w:r><w:drawing><docPr descr='The [big] picture'/><blip/></w:drawing></w:r></w:p>"
        f"<w:tbl>{cells('A frame.')}</w:tbl>"
    )
    notes = f"<w:footnotes {W}><w:footnote w:id='2'>{p('a note')}</w:footnote></w:footnotes>"
    found = read(docx(body, footnotes=notes))["markdown"].split("\n\n")
    assert found == ["In a box.", "See here (a note)", "Controlled.", "![The (big) picture](image)", "A frame."]


def test_macros_and_comments_are_left_alone_and_named() -> None:
    found = read(docx(p("Text."), vbaProject=b"\x00", comments=f"<w:comments {W}/>"))
    assert found["notes"] == ["Its comments are not read.", "It holds macros: they are neither run nor read."]


def other(*names: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return held.getvalue()


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><w:styles>&b;</w:styles>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:styles>&a;</w:styles>'


@each_row(
    ("data", "words"),
    [
        (docx(p("x"), styles=LAUGHS), "XML entities"),
        (docx(p("x"), styles=OUTSIDE), "XML entities"),
        (docx(p("x") + " " * 60_000_000), "more than 50 MB"),
        (docx(""), "no text"),
        (docx(p("x"))[:-30], "damaged"),
        (other("xl/workbook.xml"), "Excel"),
        (other("ppt/presentation.xml"), "PowerPoint"),
        (other("mimetype", "content.xml"), "OpenDocument"),
        (other("readme.txt"), "ZIP archive"),
    ],
    ids=["entities", "outside entities", "bomb", "empty", "cut off", "xlsx", "pptx", "odt", "zip"],
)
def test_what_cannot_be_read_is_said(data: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words) as refused:
        read(data)
    assert refused.value.hint
