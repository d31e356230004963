"""Written requirements are shown before anything is stored, and stored once."""

import json
from typing import Any

import pytest

from projects.errors import BadInput
from projects.models import OriginalFile, Project, RequirementDocument
from projects.services.planning import documents, reading
from projects.services.planning.deleting import delete_project
from sandbox.base import ExecResult
from tests.factories import make_project, make_user, owner_of
from tests.rows import fresh
from tests.sandbox.fake_backend import FakeBackend, FakeSandbox
from tests.tables import each_row

pytestmark = pytest.mark.django_db

PRD = b"# Todo\n\nFR-01 The API shall add a to-do.\n\nThe weather is nice.\n"


def stored(data: bytes, name: str = "todo.md", project: Project | None = None) -> RequirementDocument:
    """A document of a project, as it was uploaded."""
    project = project or make_project()
    return documents.upload_document(project, data, name, by=owner_of(project))


def test_a_preview_names_what_would_be_read() -> None:
    found = documents.preview(reading.read_bytes(PRD, "todo.md"))
    assert [r["author_key"] for r in found["requirements"]] == ["FR-01"]
    assert [p["text"] for p in found["unmapped"]] == ["The weather is nice."]
    assert (found["mapped"], found["paragraphs"]) == (1, 2)


def test_what_the_written_implies_is_previewed_and_kept_with_its_reason() -> None:
    found = documents.preview(reading.read_bytes(b"FR-01 Members shall log in with a password.", "a.md"))
    assert found["implied"]
    assert {row["because_of"] for row in found["implied"]} == {"R1"}


def test_a_heading_without_requirements_is_no_gap_in_the_coverage() -> None:
    text = b"# Todo\n\nFR-01 The API shall add a to-do.\n\n## Weather\n\nThe weather is nice.\n"
    seen = documents.preview(reading.read_bytes(text, "todo.md"))
    document = documents.extract_written(stored(text))
    assert documents.coverage(document) == {"mapped": seen["mapped"], "total": seen["paragraphs"]}
    assert [part["text"] for part in documents.left_over(document)] == ["The weather is nice."]
    assert any(part["kind"] == "heading" for part in document.unmapped)


def test_what_is_implied_names_the_requirement_that_calls_for_it() -> None:
    document = documents.extract_written(stored(b"FR-01 Members shall log in with a password."))
    implied = document.requirements.filter(origin="implied")
    assert implied.exists()
    assert all("because of R1" in row.reason and row.line_start == 0 for row in implied)


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"PK\x03\x04"])
def test_what_cannot_be_read_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"todo\.md"):
        documents.preview(reading.read_bytes(data, "todo.md"))


def test_a_document_is_read_once_and_what_people_decided_stays() -> None:
    document = documents.extract_written(stored(PRD))
    documents.set_requirement(document.requirements.get(), by=owner_of(document.project), status="rejected")
    documents.extract_written(RequirementDocument.objects.get(pk=document.pk))
    assert document.requirements.get().status == "rejected"


PDF = b"%PDF-1.7 stands for one"
ARCHITECTURE = "```mermaid\nflowchart LR\n  web[Web] -->|reads| db[Database]\n```"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have the reader in the sandbox answer this for every file."""

    def answer(markdown: str, **more: Any) -> None:
        class Reader(FakeBackend):
            def open(self, **wanted: object) -> FakeSandbox:
                box = FakeSandbox(lambda argv: ExecResult(argv, 0, "", "", 0.0))
                written = json.dumps({"markdown": markdown, **more}).encode()
                box.get = lambda paths: {"reading.json": written}  # type: ignore[method-assign]
                return box

        monkeypatch.setattr(reading, "open_backend", lambda name: Reader())

    return answer


def test_a_pdf_is_stored_as_its_markdown_beside_the_file_itself(answers: Any) -> None:
    text = f"# Shop\n\nFR-01 It shall start.\n\n![Plan](image)\n\n{ARCHITECTURE}"
    answers(text, pages=[1, 5], notes=["Page 2 holds images."])
    project = make_project()
    document = documents.extract_written(documents.upload_document(project, PDF, "shop.pdf", by=owner_of(project)))
    assert (fresh(document).text, document.encoding, document.pages) == (text, "PDF", [1, 5])
    assert document.notes == ["Page 2 holds images.", "Images are not read; the original has them (line 5)."]
    assert [row.page for row in document.requirements.filter(author_key="FR-01")] == [1]
    assert document.page_of(7) == 2
    assert reading.file_of(document) == ("shop.pdf", PDF)
    assert PDF not in bytes(OriginalFile.objects.get().sealed)
    assert "Web -> Database (reads)" in reading.background_of(document)
    assert stored(PDF, "shop.pdf", document.project).pk == document.pk


def test_of_a_file_with_a_secret_only_the_text_without_it_is_kept(answers: Any) -> None:
    secret = "AKIA" + "QWERTYUIOPASDFGH"
    answers(f"FR-01 It shall start with {secret}.")
    document = stored(PDF, "shop.pdf")
    assert secret not in document.text
    assert document.original is None
    assert "secret" in document.notes[-1]
    assert secret.encode() not in reading.file_of(document)[1]


def test_a_file_goes_with_the_last_project_that_has_it(answers: Any) -> None:
    answers("FR-01 It shall start.")
    first, second = make_project(), make_project()
    for project in (first, second):
        stored(PDF, "shop.pdf", project)
    root = make_user("root", superuser=True)
    delete_project(first, by=root, named=first.slug)
    assert OriginalFile.objects.count() == 1
    delete_project(second, by=root, named=second.slug)
    assert not OriginalFile.objects.exists()


def test_a_text_is_its_own_original() -> None:
    document = stored(PRD)
    assert document.original is None
    assert reading.file_of(document) == ("todo.md", PRD.rstrip())


def test_a_specification_has_versions_of_its_own() -> None:
    project = make_project()
    by = owner_of(project)
    one, two = reading.read_bytes(PRD, "a"), reading.read_bytes(PRD + b"More.", "b")
    first = documents.store_document(project, one, "specs/001-a/spec.md", "the plan", by=by)
    other = documents.store_document(project, two, "specs/002-b/spec.md", by=by)
    assert (first.version, other.version) == (1, 2)
    assert documents.store_document(project, one, "specs/001-a/spec.md", "the plan", by=by) == first
    assert documents.store_document(project, one, "specs/001-a/spec.md", "another plan", by=by).version == 3
    assert reading.background_of(first) == "the plan"


TABLE = "| ID | Requirement |\n|---|---|\n| FR-01 | `GET /` answers 200. |\n\n## Team\n\nFour people work here.\n"
SECTIONS = "## History\n\nOnce it was a script.\n\n## Requirements\n\n- FR-01 It shall start.\n"


@each_row("rest", [TABLE, SECTIONS], ids=["before its requirements", "under its title"])
def test_the_planner_is_told_what_a_document_says_at_its_beginning_unless_it_is_a_requirement(rest: str) -> None:
    project = make_project()
    given = reading.read_bytes(f"# Links\n\nAn API in TypeScript.\n\n{rest}".encode(), "links.md")
    document = documents.extract_written(documents.store_document(project, given, by=owner_of(project)))
    assert reading.background_of(fresh(document)) == "An API in TypeScript."
    row = {"text": "An API in TypeScript.", "origin": "inferred", "status": "accepted", "line_start": 3}
    document.requirements.create(key="INF-01", ordinal=90, **row)
    assert reading.background_of(document) == ""
