"""From the bytes of a document to what is stored of it: its text, how it was read, and the file itself."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from agents.requirements.documents import Document, DocumentRefused
from agents.requirements.readers import convert
from agents.requirements.readers.diagrams import image_note, in_words, read_diagrams
from agents.secrets.redaction import redact
from projects.errors import BadInput
from projects.models import OriginalFile, Requirement, RequirementDocument
from projects.services.audit.canonical import clean_json, clean_line, clean_text
from projects.services.audit.sealing import seal, unseal
from sandbox.base import Backend
from sandbox.registry import open_backend

ACCEPTED, ENDINGS, TYPES = convert.ACCEPTED, convert.ENDINGS, convert.TYPES
MOST_BACKGROUND = 12_000  # characters shown to the planner, about 4,000 tokens
MOST_OPENING = 1_500  # characters of them


def configured_sandbox() -> Backend:
    """The sandbox that documents are read in. Raises SandboxError."""
    return open_backend(settings.SANDBOX_BACKEND)


def read_bytes(data: bytes, filename: str) -> Document:
    """A document of any accepted format. Raises BadInput with what to do about it."""
    try:
        return convert.read_any(data, filename, configured_sandbox)
    except DocumentRefused as refusal:
        raise BadInput(f"{refusal.name}: {refusal.reason} {refusal.hint}".strip()) from refusal


def fields_of(document: Document) -> dict[str, Any]:
    """The columns of RequirementDocument that a read document fills; its original is stored.

    Of a file in which a secret is found only the text is kept, without it.
    """
    text = str(redact(document.text))
    notes = [*document.notes, image_note(document.lines)]
    original = None
    if document.original and text == document.text:
        original, _ = OriginalFile.objects.get_or_create(
            sha256=document.sha256, defaults={"sealed": seal(document.original)}
        )
    elif document.original:
        notes.append("It holds a secret: the file itself is not kept, and the text without the secret.")
    return {
        "filename": clean_line(str(redact(document.name)), 255),
        "text": clean_text(text),
        "encoding": clean_line(document.encoding, 40),
        "sha256": document.sha256,
        "original": original,
        "pages": list(document.pages),
        "notes": clean_json(redact([clean_line(note, 300) for note in notes if note])),
        "diagrams": clean_json(redact(read_diagrams(document.lines))),
    }


def file_of(document: RequirementDocument) -> tuple[str, bytes]:
    """The file as it was given, and its name; of a text what is stored of it. Raises Unsealable."""
    if document.original is not None:
        return document.filename, unseal(bytes(document.original.sealed))
    return document.filename, document.text.encode()


def opening_of(document: RequirementDocument) -> str:
    """What it says under its title, before its first requirement or section: what is built, and in which language.

    No requirement says that again, and a model that is not told plans in the language it knows best.
    """
    rows = list(document.requirements.values_list("origin", "status", "text", "line_start"))
    starts = [start for origin, _, _, start in rows if start and origin == Requirement.Origin.EXPLICIT]
    accepted = {text for _, status, text, _ in rows if status == Requirement.Status.ACCEPTED}
    told: list[str] = []
    for part in document.unmapped:
        text, kind = str(part.get("text", "")), part.get("kind")
        if (starts and part["lines"][0] > min(starts)) or (kind == "heading" and told):
            break
        if kind == "text":
            told.append(text)
    return "\n".join(text for text in told if text not in accepted)[:MOST_OPENING]


def background_of(document: RequirementDocument) -> str:
    """What the planner is told beside the requirements: the opening, diagrams in words, and a specification's plans."""
    parts = (opening_of(document), in_words(document.diagrams), document.background)
    return "\n\n".join(filter(None, parts))[:MOST_BACKGROUND]
