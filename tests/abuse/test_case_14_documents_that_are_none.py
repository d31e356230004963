"""Case 14: archives that unpack to petabytes or outside their folder, 200 MB, a million lines, wrong encodings,
polyglots.

Nothing is ever unpacked in this process: what is no text is refused in words, before it costs memory, or read in the
sandbox (tests/agents/requirements/readers). The upload of 200 MB through the
page, with the server's memory watched, is in tests/faults/test_uploads.py.
"""

from __future__ import annotations

import gzip
import io
import stat
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from agents.requirements.documents import DocumentLimits, DocumentRefused, read_document, read_path
from tests.tables import each_row

TEXT = "# Notes\n\nFR-01 The user shall add a note.\n"


def zipped(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


def bomb() -> bytes:
    """Archives in archives: 16 × 16 × 10 MB from a few kilobytes."""
    inner = zipped(**{"zeros.txt": b"0" * 10_000_000})
    for _ in range(2):
        inner = zipped(**{f"{number}.zip": inner for number in range(16)})
    return inner


def slip() -> bytes:
    """Members that would land elsewhere, and one that is a link."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("../../outside.md", TEXT)
        archive.writestr("/etc/cron.d/job", TEXT)
        link = zipfile.ZipInfo("prd.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return held.getvalue()


PDF = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\nstartxref\n0\n%%EOF\n"
REFUSED = {
    "zip bomb": (bomb, "ZIP archive"),
    "zip slip": (slip, "ZIP archive"),
    "office file": (lambda: zipped(**{"word/document.xml": b"<w/>"}), "ZIP archive"),
    "gzip bomb": (lambda: gzip.compress(b"0" * 20_000_000), "gzip"),
    "pdf": (lambda: PDF, "PDF"),
    "text, then a zip": (lambda: TEXT.encode() + slip(), "ZIP archive"),
    "text around a pdf": (lambda: b"# Notes\n" + PDF + TEXT.encode(), "PDF"),
    "gif and text": (lambda: b"GIF89a/*" + TEXT.encode() + b"*/", "GIF"),
    "tar": (lambda: b"prd.md".ljust(257, b"\0") + b"ustar\x0000" + b"\0" * 300, "tar"),
    "program": (lambda: b"\x7fELF" + b"\0" * 60, "program"),
    "million lines": (lambda: b"x\n" * 1_000_000, "lines"),
    "one endless line": (lambda: b"x" * 4_000_000, "characters"),
    "six megabytes": (lambda: b"# x\n" * 1_500_000, "bytes"),
    "lone surrogate": (lambda: "# Notes\n\nFR-01 \ud800 shall\n".encode("utf-8", "surrogatepass"), "surrogate"),
    "broken utf-16": (lambda: b"\xff\xfe" + "# Notes\n".encode("utf-16-le") + b"\x00\xd8", "UTF-16"),
    "utf-16 without its mark": (lambda: TEXT.encode("utf-16-le"), "UTF-16"),
    "NULs in text": (lambda: b"# Notes\n\nFR-01 The user\x00 shall add.\n" * 40, "NUL|control"),
    "noise": (lambda: bytes(range(256)) * 100, "control|binary"),
    "nothing": (lambda: b" \n\t\n", "empty"),
}


@each_row("name", REFUSED)
def test_what_is_no_document_is_refused_in_words_and_costs_little(name: str) -> None:
    make, words = REFUSED[name]
    data = make()
    tracemalloc.start()
    try:
        with pytest.raises(DocumentRefused, match=words) as refused:
            read_document(data, "prd.md")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25 * len(data) + 1_000_000  # a text may be decoded and split; nothing is unpacked
    assert peak < 150_000_000
    assert refused.value.hint
    assert "prd.md" in str(refused.value)


def test_two_hundred_megabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.md"
    with path.open("wb") as file:
        file.truncate(200_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(DocumentRefused, match="200,000,000 bytes"):
            read_path(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_a_file_that_never_ends_is_read_up_to_the_limit() -> None:
    with pytest.raises(DocumentRefused, match="not a regular file"):
        read_path("/dev/zero")


@each_row(
    ("data", "encoding"),
    [
        (TEXT.encode("utf-8-sig"), "utf-8"),
        (TEXT.encode("utf-16"), "utf-16-le"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("utf-32"), "utf-32-le"),
        (TEXT.replace("note", "caf\xe9").encode("latin-1"), "cp1252"),
        (TEXT.replace("\n", "\r\n").encode(), "utf-8"),
    ],
)
def test_a_text_in_another_encoding_is_read_and_says_so(data: bytes, encoding: str) -> None:
    found = read_document(data, "prd.md")
    assert found.encoding == encoding
    assert found.lines[0] == "# Notes"
    assert len(found.lines) == 3


def test_the_limits_hold_at_their_edge() -> None:
    limits = DocumentLimits(max_bytes=100, max_lines=10, max_line_chars=50)
    assert read_document(b"x\n" * 10, "a.md", limits).lines == ("x",) * 10
    for data in (b"x" * 101, b"x\n" * 11, b"x" * 51):
        with pytest.raises(DocumentRefused):
            read_document(data, "a.md", limits)
