"""Reading a requirements document: bytes in, checked text out, or a refusal that says what to do instead.

Everything here is defensive: the bytes come from a stranger. Size is checked before decoding, so memory stays flat
whatever is offered.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_MAGIC = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive or an Office file (.docx, .xlsx, .odt)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file (.doc, .xls)"),
    (b"{\\rtf", "a Rich Text file"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh91AY&SY", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "a program (ELF)"),
    (b"\x00asm", "a WebAssembly program"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_CONTROL_BYTES = bytes(b for b in range(32) if b not in (9, 10, 12, 13)) + b"\x7f"
_CONTROL_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"
_SPLIT_IT = "Split the document into parts, one project each."
_SAVE_AS_TEXT = "Save it as plain text or Markdown in UTF-8 and give that file."
# More control characters than this share cannot be a text someone typed.
_BINARY_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """How much a document may hold: bytes, lines, and characters in one line."""

    max_bytes: int = 5_000_000
    max_lines: int = 60_000
    max_line_chars: int = 20_000


@dataclass(frozen=True, slots=True)
class Document:
    """A text that was read whole: `lines` are without line ends, `notes` tell what a person should know about it.

    Of what another format was turned into, `original` are the bytes (`sha256` is theirs) and `encoding` is the name of
    the format; `pages` are the lines on which its pages begin, if it has any.
    """

    name: str
    text: str
    encoding: str
    sha256: str
    lines: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())
    pages: tuple[int, ...] = ()
    original: bytes = field(default=b"", repr=False)


class DocumentRefused(ValueError):
    """The document cannot be read: `name` says which, `reason` why, `hint` what to do. Safe to show."""

    def __init__(self, name: str, reason: str, hint: str) -> None:
        self.name = _printable(name)
        self.reason = reason
        self.hint = hint
        super().__init__(f"{self.name}: {reason} {hint}")


def read_path(path: str | os.PathLike[str], limits: DocumentLimits | None = None) -> Document:
    """Read the text file at `path`. Raises DocumentRefused."""
    return read_document(*open_path(path, limits), limits)


def open_path(path: str | os.PathLike[str], limits: DocumentLimits | None = None) -> tuple[bytes, str]:
    """The bytes and the name of the file at `path`. Raises DocumentRefused.

    Never reads beyond the limit, never opens a pipe or device.
    """
    limits = limits or DocumentLimits()
    name = Path(path).name or str(path)
    try:
        # Without O_NONBLOCK a named pipe would hold the caller until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise DocumentRefused(str(path), "There is no such file.", "Check the path and its spelling.") from None
    except (OSError, ValueError) as problem:
        said = (problem.strerror if isinstance(problem, OSError) else None) or "not a usable path"
        reason = f"The file cannot be opened ({said})."
        raise DocumentRefused(str(path), reason, "Check its path and its permissions.") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise DocumentRefused(name, "It is not a regular file.", "Give the path of a document.")
    with os.fdopen(descriptor, "rb") as handle:
        if status.st_size > limits.max_bytes:
            raise too_big(name, status.st_size, limits)
        # The size of a growing file or of one in /proc says nothing: read one byte more than allowed.
        return handle.read(limits.max_bytes + 1), name


def read_document(data: bytes, name: str, limits: DocumentLimits | None = None) -> Document:
    """Check and decode `data`; raises DocumentRefused for anything that is not a text within the limits."""
    limits = limits or DocumentLimits()
    if len(data) > limits.max_bytes:
        raise too_big(name, len(data), limits)
    if not data.strip():
        raise _empty(name)
    bom, codec = next(((mark, codec) for mark, codec in _BOMS if data.startswith(mark)), (b"", ""))
    wide = codec.startswith(("utf-16", "utf-32"))
    _refuse_foreign(name, data, bom)
    if not wide:
        _refuse_binary_bytes(name, data)
    text, encoding, notes = _decode(name, data, bom, codec)
    if not text.strip().strip(_INVISIBLE).strip():
        raise _empty(name)
    lines = tuple(_NEWLINE.split(text))
    if lines and not lines[-1]:
        lines = lines[:-1]
    _refuse_controls(name, text, lines)
    _refuse_oversize(name, lines, limits)
    digest = hashlib.sha256(data).hexdigest()
    return Document(_printable(name), "\n".join(lines), encoding, digest, lines, tuple(notes))


def _refuse_foreign(name: str, data: bytes, bom: bytes) -> None:
    head = data[len(bom) : len(bom) + 1100].lstrip()
    for magic, what in _MAGIC:
        if head.startswith(magic):
            raise DocumentRefused(name, f"It is {what}, not a text.", _SAVE_AS_TEXT)
    if head.startswith(b"RIFF") and head[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        raise DocumentRefused(name, "It is an image, sound or video file, not a text.", _SAVE_AS_TEXT)
    if data[257:262] == b"ustar":
        raise DocumentRefused(name, "It is a tar archive, not a text.", _SAVE_AS_TEXT)
    # A polyglot hides a second format behind readable text: viewers accept a PDF header in the first 1,024 bytes and
    # find a ZIP from its end.
    if b"%PDF-" in data[:1100] and b"endobj" in data and (b"startxref" in data or b"%%EOF" in data):
        raise DocumentRefused(name, "A PDF hides behind its first bytes.", _SAVE_AS_TEXT)
    if b"PK\x03\x04" in data or b"PK\x05\x06" in data[-66_000:]:
        raise DocumentRefused(name, "A ZIP archive hides inside it.", _SAVE_AS_TEXT)


def _refuse_binary_bytes(name: str, data: bytes) -> None:
    controls = len(data) - len(data.translate(None, _CONTROL_BYTES))
    hint = " (UTF-16 without its mark, perhaps)" if data.count(b"\x00") > len(data) / 4 else ""
    _refuse_binary(name, controls, len(data), "bytes", hint)


def _refuse_binary(name: str, controls: int, size: int, unit: str, hint: str = "") -> None:
    if _is_binary(controls, size):
        reason = f"It is binary data, not a text: {controls:,} of its {size:,} {unit} are control codes{hint}."
        raise DocumentRefused(name, reason, _SAVE_AS_TEXT)


def _is_binary(controls: int, size: int) -> bool:
    return controls > 8 and controls / size > _BINARY_SHARE


def _decode(name: str, data: bytes, bom: bytes, codec: str) -> tuple[str, str, list[str]]:
    body = data[len(bom) :]
    if codec:
        try:
            text = body.decode(codec)
        except UnicodeDecodeError as broken:
            line = 1 + len(_NEWLINE.findall(body[: broken.start].decode(codec, "ignore")))
            raise DocumentRefused(
                name, f"Line {line:,} is not valid {codec.upper()} ({_said(broken)}).", "Save it again as UTF-8."
            ) from None
        if codec == "utf-8":
            return text, "utf-8", []
        return text, codec, [f"Decoded from {codec.upper()}; save it as UTF-8 to be sure every tool reads it alike."]
    try:
        return body.decode("utf-8"), "utf-8", []
    except UnicodeDecodeError as broken:
        line = 1 + len(_NEWLINE.findall(body[: broken.start].decode("utf-8", "ignore")))
        if body[broken.start] == 0xED and body[broken.start + 1 : broken.start + 2] >= b"\xa0":
            raise DocumentRefused(
                name,
                f"Line {line:,} holds half of a character pair (a lone surrogate).",
                "Delete that character or save the text again as UTF-8.",
            ) from None
    for legacy, shown in (("cp1252", "Windows-1252"), ("latin-1", "Latin-1")):
        try:
            text = body.decode(legacy)
        except UnicodeDecodeError:
            continue
        if _is_binary(len(_CONTROL_TEXT.findall(text)), len(text)):
            break
        note = f"Not UTF-8 (first at line {line:,}): read as {shown}. Check accents, quotes and dashes."
        return text, legacy, [note]
    raise DocumentRefused(name, f"Line {line:,} is in no encoding known here.", "Save it again as UTF-8.")


def _refuse_controls(name: str, text: str, lines: tuple[str, ...]) -> None:
    _refuse_binary(name, len(_CONTROL_TEXT.findall(text)), len(text), "characters")
    if "\x00" in text:
        number = next(i for i, line in enumerate(lines, 1) if "\x00" in line)
        raise DocumentRefused(name, f"Line {number:,} holds a NUL character.", "Delete that character.")


def _refuse_oversize(name: str, lines: tuple[str, ...], limits: DocumentLimits) -> None:
    if len(lines) > limits.max_lines:
        raise DocumentRefused(name, f"It has {len(lines):,} lines; the limit is {limits.max_lines:,}.", _SPLIT_IT)
    for number, line in enumerate(lines, 1):
        if len(line) > limits.max_line_chars:
            reason = f"Line {number:,} has {len(line):,} characters; the limit is {limits.max_line_chars:,}."
            raise DocumentRefused(name, reason, "Break that line into paragraphs.")


def too_big(name: str, size: int, limits: DocumentLimits) -> DocumentRefused:
    """The refusal of a file of `size` bytes."""
    return DocumentRefused(name, f"It has {size:,} bytes; the limit is {limits.max_bytes:,}.", _SPLIT_IT)


def _empty(name: str) -> DocumentRefused:
    return DocumentRefused(name, "It is empty.", "Give a text or Markdown file that states what is wanted.")


def _said(broken: UnicodeDecodeError) -> str:
    return "half of a character pair" if "surrogate" in broken.reason else broken.reason


def _printable(name: str) -> str:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return shown if len(shown) <= 200 else f"{shown[:197]}..."
