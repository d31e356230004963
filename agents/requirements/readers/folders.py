"""Folders of specifications: Spec Kit, OpenSpec and Kiro keep one for each, with its design and tasks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agents.requirements.documents import Document, DocumentRefused, open_path, read_document

MOST_FILES, MOST_SPECIFICATIONS, MOST_BACKGROUND = 50_000, 100, 200_000
_PLANS = ("plan.md", "research.md", "data-model.md", "tasks.md")
_CHANGES = ("proposal.md", "design.md", "tasks.md")
_LAYOUTS = tuple(
    (re.compile(rf"(?:^|/){pattern}$"), up, beside)
    for pattern, up, beside in (
        (r"specs/\d{3,}-[^/]+/spec\.md", 0, _PLANS),
        (r"openspec/specs/(?:[^/]+/)+spec\.md", 0, ("design.md",)),
        (r"openspec/changes/(?!archive/)[^/]+/specs/(?:[^/]+/)+spec\.md", -1, _CHANGES),
        (r"\.kiro/specs/[^/]+/requirements\.md", 0, ("design.md", "tasks.md")),
    )
)
_UNREAD = {".git", "node_modules", ".venv", "venv", "__pycache__"}


@dataclass(frozen=True)
class Specification:
    """A document in its own right, the file it was read from, and what stands beside it: no requirements."""

    place: str
    document: Document
    background: str


def specifications(
    paths: Iterable[str], read: Callable[[str], bytes], above: str = ""
) -> tuple[list[Specification], list[str]]:
    """Those among the files of a folder, in order of their paths, and why some could not be read.

    `above` is the path of that folder, when it may be the folder of one specification itself.
    """
    known = set(paths)
    found: list[Specification] = []
    problems: list[str] = []
    for path in sorted(known):
        layout = next((one for one in _LAYOUTS if one[0].search(f"{above}/{path}")), None)
        if layout is None or len(found) == MOST_SPECIFICATIONS:
            continue
        parents = PurePosixPath(path).parents
        top = next((one for one in parents if one.name == "specs"), parents[0]).parent if layout[1] else parents[0]
        beside = [name for file in layout[2] if (name := (top / file).as_posix()) in known]
        try:
            document = read_document(read(path), path)
            texts = [f"# {name}\n\n{read_document(read(name), name).text}" for name in beside]
        except DocumentRefused as refused:
            problems.append(str(refused))
            continue
        found.append(Specification(path, document, "\n\n".join(texts)[:MOST_BACKGROUND]))
    return found, problems


def read_folder(folder: str | os.PathLike[str]) -> list[Specification]:
    """The specifications in a folder of this machine. Raises DocumentRefused for none, and for an unreadable one."""
    top = Path(folder).resolve()
    paths: list[str] = []
    for place, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _UNREAD)
        paths += [(Path(place) / name).relative_to(top).as_posix() for name in files if name.endswith(".md")]
        if len(paths) > MOST_FILES:
            break
    found, problems = specifications(paths, lambda path: open_path(top / path)[0], top.as_posix())
    if problems:
        raise DocumentRefused(str(folder), problems[0], "Correct it, or give the documents one by one.")
    if not found:
        raise DocumentRefused(
            str(folder),
            "It holds no specification of Spec Kit (specs/NNN-name/spec.md), OpenSpec (openspec/specs, "
            "openspec/changes) or Kiro (.kiro/specs/name/requirements.md).",
            "Give one of these folders, or a document.",
        )
    return found
