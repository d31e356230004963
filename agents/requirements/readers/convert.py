"""Reading any document people have: text as it is, other formats through a reader in the sandbox.

A stranger's PDF or Word file is never parsed in this process. The reader has no network, little memory and little time,
and what it answers is checked like an uploaded text.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from agents.requirements.documents import Document, DocumentLimits, DocumentRefused, open_path, read_document, too_big
from sandbox.base import Backend, ExecResult, SandboxError, SandboxLimits

READER = "agents.requirements.readers.inside"
LIMITS = SandboxLimits(memory_mb=512, processes=8, file_mb=32, disk_mb=64, output_bytes=4_000, seconds=90)
MOST_ANSWER = 12_000_000  # bytes of reading.json
AT_ONCE, WAIT_SECONDS = 2, 60.0  # so that uploads of many people do not add up to all memory
BY_HAND = "Save it as Markdown or plain text and give that file."


@dataclass(frozen=True)
class DocumentFormat:
    """A format that a reader turns into Markdown; one that is a text itself is checked as such first."""

    title: str
    endings: tuple[str, ...]
    types: tuple[str, ...]
    is_text: bool = False


FORMATS = {
    "pdf": DocumentFormat("PDF", (".pdf",), ("application/pdf",)),
    "docx": DocumentFormat(
        "DOCX", (".docx",), ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)
    ),
    "html": DocumentFormat("HTML", (".html", ".htm", ".xhtml"), ("text/html",), is_text=True),
    "rst": DocumentFormat("reStructuredText", (".rst", ".rest"), ("text/x-rst",), is_text=True),
}
TEXT_ENDINGS = (".md", ".markdown", ".txt")
ACCEPTED = "Markdown, plain text, reStructuredText, HTML, DOCX and PDF with text"
ENDINGS = (*TEXT_ENDINGS, *(ending for one in FORMATS.values() for ending in one.endings))
TYPES = ("text/plain", "text/markdown", *(kind for one in FORMATS.values() for kind in one.types))


def read_file(path: str | os.PathLike[str], backend: Callable[[], Backend]) -> Document:
    """Read the file at `path`, of any format. Raises DocumentRefused."""
    return read_any(*open_path(path), backend)


def read_any(data: bytes, name: str, backend: Callable[[], Backend]) -> Document:
    """Read `data` as what it is; `backend` is asked only when a reader is needed. Raises DocumentRefused."""
    kind = _kind(data, name)
    if not kind:
        return read_document(data, name)
    chosen = FORMATS[kind]
    text = read_document(data, name) if chosen.is_text else None
    if len(data) > (limits := DocumentLimits()).max_bytes:
        raise too_big(name, len(data), limits)
    try:
        answer = _in_sandbox(kind, text.text.encode() if text else data, name, backend)
    except SandboxError as error:
        if kind == "rst" and text is not None:
            note = f"Read as plain text, because no sandbox works here: {error}"
            return replace(text, notes=(*text.notes, note))
        reason = f"{chosen.title} is read in the sandbox only, and none works here: {error}."
        raise DocumentRefused(name, reason, f"`aiswe doctor` shows what it needs. Or: {BY_HAND}") from None
    return _checked(answer, data, name, chosen.title, text)


def _kind(data: bytes, name: str) -> str:
    """The key of its format in FORMATS; "" for what is read as text, or refused as no text."""
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return "docx"
    head = data[:400].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "html"
    return next((kind for kind in ("html", "rst") if name.lower().endswith(FORMATS[kind].endings)), "")


_seats = threading.BoundedSemaphore(AT_ONCE)


@cache
def _programs() -> dict[str, bytes]:
    """The readers, under the paths by which they import each other."""
    folder = Path(__file__).with_name("inside")
    place = READER.replace(".", "/")
    return {f"{place}/{path.name}": path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def _in_sandbox(kind: str, data: bytes, name: str, backend: Callable[[], Backend]) -> dict[str, Any]:
    if not _seats.acquire(timeout=WAIT_SECONDS):
        raise DocumentRefused(name, "Other documents are being read.", "Try again in a minute.")
    try:
        return _answer(kind, data, name, backend)
    finally:
        _seats.release()


def _answer(kind: str, data: bytes, name: str, backend: Callable[[], Backend]) -> dict[str, Any]:
    with backend().open(limits=LIMITS, label="document") as box:
        box.put({**_programs(), "document": data})
        result = box.exec(["python", "-m", f"{READER}.main", kind], env={"PYTHONPATH": "."})
        written = box.get(["reading.json"]).get("reading.json", b"") if result.ok else b""
    try:
        answer = json.loads(written) if 0 < len(written) <= MOST_ANSWER else None
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise DocumentRefused(name, *_why_not(result))
    return answer


def _why_not(result: ExecResult) -> tuple[str, str]:
    if result.starved:
        return "The machine had no time to read it.", "Try again when it is less busy."
    if result.timed_out:
        return f"Reading it takes more than {LIMITS.seconds:.0f} seconds.", f"Split it, or: {BY_HAND}"
    if result.out_of_memory or "MemoryError" in result.err:
        return f"Reading it needs more than {LIMITS.memory_mb} MB of memory.", f"Split it, or: {BY_HAND}"
    return "Its reader failed: it is damaged, or made to break readers.", BY_HAND


def _checked(answer: dict[str, Any], data: bytes, name: str, title: str, text: Document | None) -> Document:
    """The document in an answer that may come from a program the file took over. Raises DocumentRefused."""
    if "refused" in answer:
        hint = str(answer.get("hint", ""))[:300]
        raise DocumentRefused(name, str(answer["refused"])[:300], hint)
    found = read_document(str(answer.get("markdown", "")).encode("utf-8", "replace"), name)
    pages, notes = answer.get("pages"), answer.get("notes")
    most = len(found.lines)
    starts = [max(1, min(page, most)) for page in pages if isinstance(page, int)] if isinstance(pages, list) else []
    return replace(
        found,
        encoding=title,
        sha256=hashlib.sha256(data).hexdigest(),
        notes=(
            *(text.notes if text is not None else ()),
            *(str(note)[:300] for note in (notes[:20] if isinstance(notes, list) else [])),
        ),
        pages=tuple(sorted(starts)),
        original=data,
    )
