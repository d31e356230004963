"""Turning a reply into new file contents. Strict: what is not exactly clear is refused with a reason.

Nothing is written here: the nodes keep `Applied.files` in the state of the task, as its candidate, and apply() of
agents/engine/nodes/verify.py writes the candidate into the worktree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from functools import partial

from agents.replies.edit import EditRefused, apply_edit
from agents.replies.keeping import DropsDefinitions, Keeping
from agents.replies.licence import with_licence
from agents.replies.paths import BadPath, check_path
from agents.replies.placeholders import find_placeholder
from agents.replies.types import EditBlock, FileBlock, Reply

MAX_FILES = 100
MAX_FILE_BYTES = 1_000_000


@dataclass
class Applied:
    """`files` holds new contents by path (only what changed); `refused` the rest, with reasons meant for the model.

    `removed` are definitions, by path, that go though nothing asked for it: a person decides. `moved` gives the path in
    the reply of files that got another name.
    """

    files: dict[str, str] = field(default_factory=dict)
    removed: dict[str, list[str]] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)


class _Refused(Exception):
    """A file of a reply is not taken."""


def apply_reply(
    reply: Reply, current: Mapping[str, str], *, read_only: Container[str] = (), keeping: Keeping | None = None
) -> Applied:
    """Work out what the files would be after this reply; nothing is written.

    `current` maps paths to contents. A file is taken with all its parts or not at all. `keeping` says which definitions
    of `current` must not get lost.
    """
    out = Applied()
    by_path: dict[str, list[FileBlock | EditBlock]] = {}
    everything: list[FileBlock | EditBlock] = [*reply.files, *reply.edits]
    for part in everything:
        try:
            by_path.setdefault(check_path(part.path), []).append(part)
        except BadPath as error:
            out.refused.append((part.path[:200], str(error)))
    taken = set(current)
    for path, parts in by_path.items():
        try:
            if len(out.files) >= MAX_FILES:
                raise _Refused(f"A reply may change {MAX_FILES} files at most.")
            if path in read_only:
                raise _Refused("This file is read-only in this step; change other files instead.")
            _check_place(path, taken)
            keep = None if keeping is None else partial(keeping.settled, path, others=reply.files)
            content = _content(path, parts, current.get(path), keep)
        except (_Refused, EditRefused, DropsDefinitions) as error:
            out.refused.append((path, str(error)))
            continue
        taken.add(path)
        if content != current.get(path):
            out.files[path] = content
    return out


def _content(
    path: str, parts: list[FileBlock | EditBlock], before: str | None, keep: Callable[[str, str], str] | None
) -> str:
    content = before
    for part in parts:
        if isinstance(part, FileBlock):
            if before and before.strip() and not part.content.strip():
                raise _Refused("The block is empty and would wipe the file: send the whole file.")
            content = keep(before, part.content) if keep and before else part.content
            content = _in_style_of(before or "", with_licence(before or "", content))
        else:
            content = apply_edit(content, part)
    content = content or ""
    if "\x00" in content or any("\ud800" <= char <= "\udfff" for char in content):
        raise _Refused("The content holds NUL or broken characters.")
    if len(content.encode()) > MAX_FILE_BYTES:
        raise _Refused(f"The file would be larger than {MAX_FILE_BYTES} bytes.")
    if found := find_placeholder(path, content, before or ""):
        row, line = found
        raise _Refused(f"Line {row} is a placeholder ({line!r}): write the code out, nothing may be left out.")
    return content


def _in_style_of(before: str, content: str) -> str:
    """With the line ends and the byte order mark of the file that it replaces; models write neither."""
    if "\r\n" in before:
        content = re.sub(r"\r?\n", "\r\n", content)
    return f"\ufeff{content}" if before.startswith("\ufeff") and not content.startswith("\ufeff") else content


def _check_place(path: str, taken: set[str]) -> None:
    """A file cannot stand where a folder is, nor below a file."""
    if any(other.startswith(f"{path}/") for other in taken):
        raise _Refused("There is a folder of this name.")
    parts = path.split("/")
    for depth in range(1, len(parts)):
        if "/".join(parts[:depth]) in taken:
            raise _Refused(f"{'/'.join(parts[:depth])} is a file, so nothing can be below it.")
