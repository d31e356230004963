"""What a task is shown of the repository: the files it will change and those it builds on, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents.provenance import Material, Source, joined, label
from agents.workspace.repository import Repository

FILES_CHARS = 24_000  # about 8,000 tokens of a 32k window; small exact context beats a large one for a 7B model
_SHOWN = (
    ".py",
    ".toml",
    ".txt",
    ".md",
    ".js",
    ".ts",
    ".jsx",
    ".tsx",
    ".json",
    ".html",
    ".css",
    ".yaml",
    ".yml",
    ".cfg",
    ".ini",
)
_NAMES = ("Dockerfile", "Makefile")


def requirements_text(requirements: Iterable[Mapping[str, Any]]) -> str:
    """One line a requirement, its acceptance criteria indented below."""
    lines = []
    for requirement in requirements:
        lines.append(f"- {requirement['key']}: {requirement['text']}")
        lines.extend(f"  - {entry}" for entry in requirement.get("acceptance") or [])
    return "\n".join(lines) or "- (none)"


def files_text(files: Mapping[str, str], source: Source = Source.MODEL) -> Material:
    """Files whole, each in a fence that names it and says whose it is."""
    return joined(label(content or " \n", source, f"path={path}") for path, content in sorted(files.items()))


def existing_files(repository: Repository, sha: str, own: Sequence[str]) -> Material:
    """The repository's text files in order of interest, until the budget is used; the rest by name."""
    paths = [path for path in repository.files(sha) if path.endswith(_SHOWN) or path.rsplit("/", 1)[-1] in _NAMES]
    order = sorted(paths, key=lambda path: (path not in own, path.startswith("tests/"), path.count("/"), path))
    shown: dict[str, str] = {}
    left_out, used = [], 0
    for path in order:
        if path.startswith("tests/") or path in (".gitignore", "README.md"):
            left_out.append(path)
            continue
        text = repository.read(sha, path) or ""
        if used + len(text) > FILES_CHARS:
            left_out.append(path)
            continue
        shown[path] = text
        used += len(text)
    blocks: list[str] = [files_text(shown, Source.REPOSITORY)] if shown else []
    if left_out:
        blocks.append(label("Also there: " + ", ".join(left_out[:80]), Source.REPOSITORY))
    return joined(blocks)
