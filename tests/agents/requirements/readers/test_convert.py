"""Documents of every format through the sandbox, and what happens to those that are made to break readers."""

import json
from collections.abc import Callable

import pytest

from agents.requirements.documents import Document, DocumentRefused
from agents.requirements.extract import extract
from agents.requirements.readers import convert
from agents.requirements.readers.convert import read_any
from sandbox.base import ExecResult, SandboxUnavailable
from sandbox.registry import open_backend
from tests.agents.requirements.readers.files import bomb, docx, lines, p, pdf
from tests.needs import bubblewrap_problem, missing
from tests.sandbox.fake_backend import FakeBackend, FakeSandbox
from tests.sizes import scaled
from tests.tables import each_row

Read = Callable[[bytes, str], Document]


@pytest.fixture
def read() -> Read:
    if problem := bubblewrap_problem():
        missing(problem)
    return lambda data, name: read_any(data, name, lambda: open_backend("bubblewrap"))


SHOP = [
    [
        (60, 800, 20, "bold", "Shop requirements"),
        *lines("The shop sells books to members of the library, and it shall answer every request of them in", top=770),
        *lines("less than two seconds.", top=757),
        (60, 730, 14, "bold", "1 Functions"),
        *lines("FR-01 The system shall add a book to the cart.", "FR-02 The system shall show the total.", top=705),
        *lines("• with taxes, which differ from one country to the other and from year to year, and in", top=672),
        *lines("its own currency", top=659, x=70),
        *lines("• at once", top=646),
        *[(x, 615, 10, "bold", text) for x, text in ((60, "ID"), (120, "Requirement"), (400, "Priority"))],
        *[(x, 600, 10, "body", text) for x, text in ((60, "N-1"), (120, "Pages load"), (400, "High"))],
        (120, 588, 10, "body", "in two seconds."),
        *[(x, 574, 10, "body", text) for x, text in ((60, "N-2"), (120, "Mail is sent"), (400, "Low"))],
        *lines("def add(book):", "    return book", top=540, font="code"),
        (300, 20, 8, "body", "Page 1 of 2"),
    ],
    [
        (60, 800, 14, "bold", "2 Data"),
        *lines("FR-03 The system shall delete the data of a member within 30 days.", top=770),
        (300, 20, 8, "body", "Page 2 of 2"),
    ],
]


@pytest.mark.bubblewrap
def test_a_pdf_keeps_its_headings_lists_tables_code_and_pages(read: Read) -> None:
    found = read(pdf(SHOP), "shop.pdf")
    assert found.encoding == "PDF"
    assert found.original.startswith(b"%PDF-")
    assert found.lines == (
        *("# Shop requirements", ""),
        "The shop sells books to members of the library, and it shall answer every request of them in less than two "
        "seconds.",
        *("", "## 1 Functions", "", "FR-01 The system shall add a book to the cart.", ""),
        *("FR-02 The system shall show the total.", ""),
        "- with taxes, which differ from one country to the other and from year to year, and in its own currency",
        *("- at once", ""),
        *("| ID | Requirement | Priority |", "| --- | --- | --- |"),
        *("| N-1 | Pages load in two seconds. | High |", "| N-2 | Mail is sent | Low |", ""),
        *("```", "def add(book):", "    return book", "```", ""),
        *("## 2 Data", "", "FR-03 The system shall delete the data of a member within 30 days."),
    )
    assert found.pages == (1, 24)
    by_key = {row.author_key: row.lines for row in extract(found).requirements}
    assert by_key["FR-01"] == (7, 7)
    assert by_key["FR-03"] == (26, 26)
    assert found.notes == ("Page numbers, and lines repeated at the edge of most pages, are left out.",)


def cells(y: float, *columns: tuple[float, list[str]]) -> list[tuple[float, float, float, str, str]]:
    """A row as it is written: one cell after the other, each with its lines below each other."""
    return [(x, y - 12 * at, 10, "body", text) for x, texts in columns for at, text in enumerate(texts)]


@pytest.mark.bubblewrap
def test_cells_that_are_wrapped_stay_in_their_row(read: Read) -> None:
    """Columns are close to each other, an id is broken over two lines, a cell is empty."""
    page = [
        *lines("Requirements of the office", top=790),
        *cells(760, (60, ["No."]), (84, ["Requirement"]), (380, ["Prio"]), (420, ["Remark"])),
        *cells(
            740, (60, ["A-", "01"]), (84, ["The system shall store each order with its", "parts."]), (380, ["must"])
        ),
        *cells(710, (60, ["A-", "02"]), (84, ["It shall print a label."]), (380, ["can"]), (420, ["QL-820,", "later"])),
        *lines("Outside.", top=660),
    ]
    assert read(pdf([page]), "a.pdf").lines == (
        *("Requirements of the office", ""),
        *("| No. | Requirement | Prio | Remark |", "| --- | --- | --- | --- |"),
        "| A-01 | The system shall store each order with its parts. | must |  |",
        *("| A-02 | It shall print a label. | can | QL-820, later |", "", "Outside."),
    )


@pytest.mark.bubblewrap
def test_texts_beside_each_other_at_the_end_of_a_page_are_one_line(read: Read) -> None:
    """It was refused as damaged: the search for tables looked behind the last row."""
    page = [*lines("The system shall start.", top=790), (60, 60, 10, "body", "Signed:"), (300, 60, 10, "body", "Date:")]
    assert read(pdf([page]), "a.pdf").lines == ("The system shall start.", "", "Signed: Date:")


@pytest.mark.bubblewrap
def test_paragraphs_that_begin_with_a_bold_id_are_no_table(read: Read) -> None:
    page = []
    for at, words in enumerate(
        ("a thing for one whole day, at most", "a thing that is lent or broken and", "a fee for")
    ):
        top = 780 - 30 * at
        page += [
            (60, top, 10, "bold", f"FR-00{at}"),
            (97, top, 10, "body", f"The system shall not lend {words} 28 days"),
        ]
        page += lines("ahead, and tell the person who asked for it.", top=top - 12)
    found = read(pdf([page]), "a.pdf").lines
    assert [line.split(" The")[0] for line in found if line] == ["FR-000", "FR-001", "FR-002"]
    assert not any("|" in line for line in found)


@pytest.mark.bubblewrap
def test_a_page_without_text_is_named_and_a_scan_is_refused(read: Read) -> None:
    some = read(pdf([lines("The system shall start."), []]), "a.pdf")
    assert "Page 2 holds no text: scans, images or nothing." in some.notes
    with pytest.raises(DocumentRefused, match="Its 3 pages hold no text: it is a scan") as refused:
        read(pdf([[], [], []]), "scan.pdf")
    assert "OCR" in refused.value.hint


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pdf(SHOP, trailer="/Encrypt << /Filter /Standard /V 2 /R 3 /O (x) /U (y) /P -4 >>"), "encrypted"),
        (pdf(SHOP)[:400], "damaged"),
        (b"%PDF-1.7\n" + b"[" * 200_000, "damaged|failed"),
        (bomb(), "damaged|memory|seconds"),
        (docx(p("x") + " " * 60_000_000), "more than 50 MB"),
        (b"PK\x03\x04 no archive", "damaged"),
        (b"<!doctype html><script>document.write('x')</script>", "no text"),
        (b"<html>" + b"<div>\n" * 30_000 + b"deep", "damaged|memory|failed|seconds"),
    ],
    ids=["encrypted", "cut off", "nested", "page bomb", "zip bomb", "not a zip", "script only", "deep"],
)
def test_what_is_made_to_break_readers_is_refused_in_words(read: Read, data: bytes, words: str) -> None:
    with pytest.raises(DocumentRefused, match=words) as refused:
        read(data, "file")
    assert refused.value.hint
    assert len(str(refused.value)) < 500


@pytest.mark.bubblewrap
@pytest.mark.whole
@pytest.mark.timeout(300)
def test_many_pages_are_read_with_their_numbers(read: Read) -> None:
    many = scaled(500)
    page = [f"The system shall keep the row {number} of the table for as long as it is needed." for number in range(45)]
    found = read(pdf([lines(f"{'A' * at} begins.", *page, top=800) for at in range(many)]), "long.pdf")
    assert len(found.pages) == many
    assert found.lines[found.pages[-1] - 1] == f"{'A' * (many - 1)} begins."
    assert len(found.lines) > 80 * many


@pytest.mark.bubblewrap
def test_html_and_restructuredtext_become_markdown(read: Read) -> None:
    page = b"<html><head><title>x</title><style>b{}</style></head><body><h1>Shop</h1><p>It <b>shall</b> start."
    page += b"<ul><li>a<ul><li>b</ul></ul><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    page += b"<pre class=mermaid>graph TD\n A--&gt;B</pre>"
    html = read(page, "shop.htm")
    assert [line for line in html.lines if line] == [
        *("# Shop", "It **shall** start.", "- a", "  - b", "| A | B |", "| --- | --- |", "| 1 | 2 |"),
        *("```mermaid", "graph TD", " A-->B", "```"),
    ]
    text = (
        "Shop\n====\n\nScope\n-----\n\n.. include:: /etc/passwd\n\n.. req:: Start\n   :id: R-1\n\n   It shall start.\n"
    )
    rst = read(text.encode(), "shop.rst")
    assert [line for line in rst.lines if line] == ["# Shop", "## Scope", "Start", ":id: R-1", "It shall start."]


class Broken(FakeBackend):
    def open(self, **wanted: object) -> FakeSandbox:
        raise SandboxUnavailable("no engine answers")


def test_without_a_sandbox_only_texts_are_read() -> None:
    for name in ("a.md", "a.txt", "a.rst"):
        assert read_any(b"FR-01 It shall start.", name, Broken).lines == ("FR-01 It shall start.",)
    for data, name in ((pdf(SHOP), "a.pdf"), (docx(p("x")), "a.docx"), (b"<p>x", "a.html")):
        with pytest.raises(DocumentRefused, match=r"sandbox only, and none works here: no engine answers") as refused:
            read_any(data, name, Broken)
        assert "aiswe doctor" in refused.value.hint


@each_row("written", [b"", b"[", b"[]", b"[" * 100_000, b'{"markdown": "a\\u0000b"}', b'{"markdown": ""}'])
def test_an_answer_that_makes_no_sense_is_refused(written: bytes) -> None:
    """A file that takes over its reader decides what the reader answers, and nothing else."""

    class Lying(FakeBackend):
        def open(self, **wanted: object) -> FakeSandbox:
            box = FakeSandbox(lambda argv: ExecResult(argv, 0, "", "", 0.0))
            box.get = lambda paths: {"reading.json": written}  # type: ignore[method-assign]
            return box

    with pytest.raises(DocumentRefused):
        read_any(pdf(SHOP), "a.pdf", Lying)


def test_pages_and_notes_of_an_answer_are_checked() -> None:
    answer = {"markdown": "a\nb", "pages": [1, "x", 10**9, -4], "notes": [7, "n" * 9_999] * 40}

    class Odd(FakeBackend):
        def open(self, **wanted: object) -> FakeSandbox:
            box = FakeSandbox(lambda argv: ExecResult(argv, 0, "", "", 0.0))
            box.get = lambda paths: {"reading.json": json.dumps(answer).encode()}  # type: ignore[method-assign]
            return box

    found = read_any(pdf(SHOP), "a.pdf", Odd)
    assert found.pages == (1, 1, 2)
    assert len(found.notes) == 20
    assert max(map(len, found.notes)) == 300


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"timed_out": True}, "90 seconds"),
        ({"timed_out": True, "starved": True}, "no time"),
        ({"out_of_memory": True}, "512 MB"),
        ({}, "reader failed"),
    ],
)
def test_why_a_reader_ended_is_said(result: dict[str, bool], words: str) -> None:
    backend = FakeBackend(lambda argv: ExecResult(argv, None, "", "", 1.0, **result))
    with pytest.raises(DocumentRefused, match=words):
        read_any(pdf(SHOP), "a.pdf", lambda: backend)


def test_a_third_document_waits_and_a_failed_one_gives_its_seat_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "WAIT_SECONDS", 0.01)
    for _ in range(convert.AT_ONCE + 1):
        with pytest.raises(DocumentRefused, match="no engine answers"):
            read_any(pdf(SHOP), "a.pdf", Broken)

    class Nested(FakeBackend):
        depth = 0

        def open(self, **wanted: object) -> FakeSandbox:
            Nested.depth += 1
            read_any(pdf(SHOP), "inner.pdf", Nested)
            raise AssertionError("the third was read")

    with pytest.raises(DocumentRefused, match="Other documents are being read"):
        read_any(pdf(SHOP), "a.pdf", Nested)
    assert Nested.depth == convert.AT_ONCE


def test_a_text_reaches_no_sandbox() -> None:
    assert read_any(b"# A\n", "a.md", lambda: pytest.fail("asked")).original == b""
    assert set(convert.ENDINGS) >= {".md", ".txt", ".rst", ".html", ".docx", ".pdf"}


def test_generated_code_does_not_find_what_the_readers_are_made_of(read: Read) -> None:
    assert read(b"<html><body><h1>Shop</h1></body></html>", "shop.html").lines[0] == "# Shop"
    with open_backend("bubblewrap").open(label="test") as box:
        result = box.exec(["python", "-c", "import pytest, pypdf"])
    assert "No module named 'pypdf'" in result.err
