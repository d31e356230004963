"""Written requirements are shown before anything is stored, and stored once."""

from __future__ import annotations

import pytest

from projects.errors import BadInput
from projects.models import RequirementDocument
from projects.services.planning import documents
from tests.factories import make_project, owner_of

PRD = b"# Todo\n\nFR-01 The API shall add a to-do.\n\nThe weather is nice.\n"


def test_a_preview_names_what_would_be_read() -> None:
    found = documents.preview(PRD, "todo.md")
    assert [r["author_key"] for r in found["requirements"]] == ["FR-01"]
    assert [p["text"] for p in found["unmapped"]] == ["The weather is nice."]
    assert (found["mapped"], found["paragraphs"]) == (1, 2)


def test_what_the_written_implies_is_previewed_and_kept_with_its_reason() -> None:
    found = documents.preview(b"FR-01 Members shall log in with a password.", "a.md")
    assert found["implied"]
    assert {row["because_of"] for row in found["implied"]} == {"R1"}


@pytest.mark.django_db
def test_a_heading_without_requirements_is_no_gap_in_the_coverage() -> None:
    project = make_project()
    text = b"# Todo\n\nFR-01 The API shall add a to-do.\n\n## Weather\n\nThe weather is nice.\n"
    seen = documents.preview(text, "todo.md")
    document = documents.extract_written(documents.upload_document(project, text, "todo.md", by=owner_of(project)))
    assert documents.coverage(document) == {"mapped": seen["mapped"], "total": seen["paragraphs"]}
    assert [part["text"] for part in documents.left_over(document)] == ["The weather is nice."]
    assert any(part["kind"] == "heading" for part in document.unmapped)


@pytest.mark.django_db
def test_what_is_implied_names_the_requirement_that_calls_for_it() -> None:
    project = make_project()
    text = b"FR-01 Members shall log in with a password."
    document = documents.extract_written(documents.upload_document(project, text, "a.md", by=owner_of(project)))
    implied = document.requirements.filter(origin="implied")
    assert implied.exists()
    assert all("because of R1" in row.reason and row.line_start == 0 for row in implied)


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"PK\x03\x04"])
def test_what_cannot_be_read_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"todo\.md"):
        documents.preview(data, "todo.md")


@pytest.mark.django_db
def test_a_document_is_read_once_and_what_people_decided_stays() -> None:
    project = make_project()
    document = documents.upload_document(project, PRD, "todo.md", by=owner_of(project))
    documents.extract_written(document)
    requirement = document.requirements.get()
    documents.set_requirement(requirement, by=owner_of(project), status="rejected")
    documents.extract_written(RequirementDocument.objects.get(pk=document.pk))
    assert document.requirements.get().status == "rejected"
