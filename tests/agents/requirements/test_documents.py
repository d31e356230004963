"""Reading a document: text in any honest encoding comes in, everything else is refused with a way out."""

import io
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.requirements.documents import Document, DocumentLimits, DocumentRefused, read_document, read_path
from tests.tables import each_row

PRD = "# Notes\n\nFR-1: Grüße werden gespeichert – “sofort”.\n"


def refused(data: bytes, **limits: int) -> DocumentRefused:
    with pytest.raises(DocumentRefused) as caught:
        read_document(data, "prd.md", DocumentLimits(**limits))
    assert caught.value.hint
    assert str(caught.value).startswith("prd.md: ")
    return caught.value


def test_utf8_is_read_whole() -> None:
    document = read_document(PRD.encode(), "prd.md")
    assert document.text == PRD.rstrip("\n")
    assert document.lines == ("# Notes", "", "FR-1: Grüße werden gespeichert – “sofort”.")
    assert document.encoding == "utf-8"
    assert document.notes == ()
    assert len(document.sha256) == 64


@each_row(
    ("bom", "codec"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\x00\x00", "utf-32-le"),
        (b"\x00\x00\xfe\xff", "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_the_encoding(bom: bytes, codec: str) -> None:
    document = read_document(bom + PRD.encode(codec), "prd.md")
    assert document.text == PRD.rstrip("\n")
    assert document.encoding == codec
    assert bool(document.notes) == (codec != "utf-8")


def test_windows_1252_is_read_with_a_note_naming_the_line() -> None:
    document = read_document("Title\nCaf\xe9 \x96 open".encode("latin-1"), "prd.md")
    assert document.lines[1] == "Café – open"
    assert document.encoding == "cp1252"
    assert "line 2" in document.notes[0]


def test_bytes_unknown_to_windows_1252_are_latin_1() -> None:
    document = read_document(b"a line of text, and \x81 here, " + "é".encode("latin-1"), "prd.md")
    assert document.encoding == "latin-1"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_an_editor_counts_them(line_end: str) -> None:
    document = read_document(line_end.join(["a", "", "b\u2028c\x0cd"]).encode(), "prd.md")
    assert document.lines == ("a", "", "b\u2028c\x0cd")
    assert document.text == "a\n\nb\u2028c\x0cd"


@each_row("data", [b"", b"  \n\t\r\n", b"\xef\xbb\xbf", "\ufeff\u200b \n".encode(), b"\xff\xfe \x00"])
def test_an_empty_document_is_refused(data: bytes) -> None:
    assert "empty" in refused(data).reason


def zip_bytes() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>")
    return buffer.getvalue()


@each_row(
    ("data", "said"),
    [
        (b"%PDF-1.7\n1 0 obj\n", "PDF"),
        (b"\n\n %PDF-1.4 text", "PDF"),
        (zip_bytes(), "ZIP"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more", "old Office"),
        (b"\x89PNG\r\n\x1a\n....", "PNG"),
        (b"\xff\xd8\xff\xe0....JFIF", "JPEG"),
        (b"GIF89a text", "GIF"),
        (b"RIFF....WEBPVP8 ", "image"),
        (b"\x1f\x8b\x08....", "gzip"),
        (b"{\\rtf1 hello}", "Rich Text"),
        (b"\x7fELF....", "program"),
        (b"SQLite format 3\x00....", "SQLite"),
        (b"x" * 257 + b"ustar" + b"y" * 300, "tar"),
    ],
)
def test_other_formats_are_refused_by_their_content(data: bytes, said: str) -> None:
    assert said in refused(data).reason


def test_a_pdf_behind_readable_text_is_refused() -> None:
    data = b"# Requirements\n%PDF-1.5\n1 0 obj\n<<>>\nendobj\nstartxref\n%%EOF\n"
    assert "PDF hides" in refused(data).reason


def test_a_zip_behind_readable_text_is_refused() -> None:
    assert "ZIP archive hides" in refused(b"# Requirements\n" * 40 + zip_bytes()).reason


def test_a_text_about_pdf_files_is_a_text() -> None:
    text = "FR-1: Files that begin with %PDF-1.7 are refused, as are those with PK signatures."
    assert read_document(text.encode(), "prd.md").text == text


def test_control_codes_make_it_binary_and_are_counted() -> None:
    problem = refused(b"text " * 20 + bytes(range(1, 9)) * 4)
    assert "binary" in problem.reason
    assert "32" in problem.reason


def test_utf16_without_its_mark_is_named() -> None:
    assert "UTF-16" in refused(("some words " * 20).encode("utf-16-le")).reason


def test_a_single_nul_is_refused_with_its_line() -> None:
    assert "Line 3 " in refused(b"one\ntwo\nth\x00ree\n" + b"filler words\n" * 100).reason


@pytest.mark.parametrize(
    "data",
    [
        b"one\ntwo \xed\xa0\x80 half\n",
        b"\xff\xfe" + "one\ntwo ".encode("utf-16-le") + b"\x00\xd8" + " x\n".encode("utf-16-le"),
    ],
)
def test_a_lone_surrogate_is_refused_with_its_line(data: bytes) -> None:
    problem = refused(data)
    assert "Line 2" in problem.reason
    assert "pair" in problem.reason


def test_limits_are_named_with_figures() -> None:
    assert refused(b"abcdef", max_bytes=5).reason == "It has 6 bytes; the limit is 5."
    assert refused(b"a\nb\nc", max_lines=2).reason == "It has 3 lines; the limit is 2."
    assert refused(b"a\nbcd", max_line_chars=2).reason == "Line 2 has 3 characters; the limit is 2."


def test_a_document_at_the_limit_is_read() -> None:
    limits = DocumentLimits(max_bytes=6, max_lines=3, max_line_chars=1)
    assert read_document(b"a\nb\nc\n", "prd.md", limits).lines == ("a", "b", "c")


def test_a_file_is_read_under_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "prd.md"
    path.write_text(PRD, encoding="utf-8")
    assert read_path(path) == read_document(PRD.encode(), "prd.md")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.md"
    with path.open("wb") as handle:
        handle.truncate(200_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(DocumentRefused, match="200,000,000 bytes; the limit is 5,000,000"):
            read_path(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe):
        with pytest.raises(DocumentRefused) as caught:
            read_path(path)
        assert caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match=r"gone\.md: There is no such file"):
        read_path(tmp_path / "gone.md")


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(DocumentRefused):
        read_path("a\x00b")


def test_a_hostile_name_is_made_printable_and_short() -> None:
    with pytest.raises(DocumentRefused) as caught:
        read_document(b"", "\x1b[31mred\n" + "x" * 500)
    assert caught.value.name.isprintable()
    assert len(caught.value.name) == 200


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        document = read_document(data, "any")
    except DocumentRefused:
        return
    assert isinstance(document, Document)
    assert document.text.strip()
    assert "\x00" not in document.text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=200))
def test_any_printable_text_comes_back_unchanged(text: str) -> None:
    data = text.encode()
    if not text.strip().strip("\ufeff\u200b\u200c\u200d\u2060").strip() or text.startswith("\ufeff"):
        return
    assert read_document(data, "any").text == text
