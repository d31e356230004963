"""What is written in a requirements document, found by rules: shown before anything is stored, then stored."""

from __future__ import annotations

from typing import Any

from agents.documents import DocumentRefused, read_document
from agents.extraction import extract
from projects.errors import BadInput
from projects.models import RequirementDocument
from projects.services.documents import record_extraction


def preview(data: bytes, filename: str) -> dict[str, Any]:
    """What would be read from these bytes: {filename, lines, requirements, unmapped, mapped, paragraphs}; stores nothing.

    Raises BadInput (empty, binary, too large, unreadable) with the way out.
    """
    try:
        document = read_document(data, filename)
    except DocumentRefused as refusal:
        raise BadInput(f"{refusal.name}: {refusal.reason} {refusal.way_out}".strip()) from refusal
    found = extract(document)
    return {
        "filename": document.name,
        "lines": len(document.lines),
        "mapped": found.mapped_paragraphs,
        "paragraphs": found.paragraphs,
        **found.to_json(),
    }


def extract_written(document: RequirementDocument) -> RequirementDocument:
    """Store the requirements that are written in a fresh document; one that was read before stays as it is.

    No model is asked: what it may add comes with planning.
    """
    if document.status != RequirementDocument.Status.UPLOADED:
        return document
    found = extract(document.text).to_json()
    return record_extraction(document, found["requirements"], found["unmapped"])
