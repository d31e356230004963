"""What is written in a requirements document, found by rules: shown before anything is stored, then stored."""

from __future__ import annotations

from typing import Any

from agents.requirements import extract
from agents.requirements.documents import DocumentRefused, read_document
from agents.requirements.implicit import imply
from projects.errors import BadInput
from projects.models import RequirementDocument
from projects.services.planning.documents import record_extraction


def preview(data: bytes, filename: str) -> dict[str, Any]:
    """What would be read from these bytes: {filename, lines, requirements, implied, unmapped, mapped, paragraphs}.

    Nothing is stored.

    Raises BadInput (empty, binary, too large, unreadable) with the way out.
    """
    try:
        document = read_document(data, filename)
    except DocumentRefused as refusal:
        raise BadInput(f"{refusal.name}: {refusal.reason} {refusal.hint}".strip()) from refusal
    found = extract(document)
    return {
        "filename": document.name,
        "lines": len(document.lines),
        "mapped": found.mapped_paragraphs,
        "paragraphs": found.paragraphs,
        "implied": [implied.to_json() for implied in imply(found.requirements)],
        **found.to_json(),
    }


def extract_written(document: RequirementDocument) -> RequirementDocument:
    """Store what is written in a fresh document and what that implies by rules; one that was read before stays as it
    is.

    No model is asked: a planning run that starts before the requirements are confirmed adds what a model reads between
    the lines.
    """
    if document.status != RequirementDocument.Status.UPLOADED:
        return document
    read = extract(document.text)
    found = read.to_json()
    rows = [*found["requirements"], *(implied.to_row() for implied in imply(read.requirements))]
    return record_extraction(document, rows, found["unmapped"])
