"""A prompt of the protocol: a person's words, and files that they put beside them as material."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlparse

from acp import RequestError
from acp.schema import (
    EmbeddedResourceContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from agents.conversation.contracts import NotText
from agents.prompts.provenance import Material, Source, joined, label
from agents.repair.feedback import clip
from agents.replies.paths import BadPath, check_path
from agents.secrets.redaction import redact
from aiswe_site.acp.files import EditorFiles

GIVEN_CHARS = 16_000  # of one file
MOST_GIVEN = 10


def read_prompt(blocks: Sequence[Any], files: EditorFiles) -> tuple[str, Material]:
    """The words, in which each file stands by its name, and the files. Raises RequestError for pictures and sound."""
    words, given = [], list[Material]()
    for block in blocks:
        if isinstance(block, TextContentBlock):
            words.append(block.text)
        elif isinstance(block, ResourceContentBlock):
            name, text = _linked(block.uri, block.name, files)
            words.append(f"`{name}`")
            given.append(text)
        elif isinstance(block, EmbeddedResourceContentBlock):
            name = _path_of(block.resource.uri, files) or _tame(block.resource.uri)
            words.append(f"`{name}`")
            there = isinstance(block.resource, TextResourceContents)
            given.append(_material(name, block.resource.text if there else "[not text]"))
        else:
            raise RequestError(-32602, "Text, links and embedded files are understood, nothing else.")
    return "".join(words).strip(), joined(given[:MOST_GIVEN])


def _linked(uri: str, name: str, files: EditorFiles) -> tuple[str, Material]:
    path = _path_of(uri, files)
    if not path:
        return _tame(name), _material(_tame(uri), "[not read: it is not in this folder]")
    try:
        text = files.read(path)
    except NotText as what:
        text = f"[{what}]"
    return path, _material(path, "[not there]" if text is None else text)


def _material(name: str, text: str) -> Material:
    return label(clip(str(redact(text)), GIVEN_CHARS) or "[empty]", Source.REPOSITORY, f"path={name}")


def _path_of(uri: str, files: EditorFiles) -> str:
    """The path of a file in the session's folder; "" for anything else."""
    parts = urlparse(uri)
    place = unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else ""
    below = next((f"{one}/" for one in (files.given, files.root) if place.startswith(f"{one}/")), None)
    try:
        return check_path(place.removeprefix(below)) if below else ""
    except BadPath:
        return ""


def _tame(text: str) -> str:
    """A name that stays in its line and in its fence."""
    return re.sub(r"[^\w./:@#?=&+ -]", "_", text)[:200].strip() or "resource"
