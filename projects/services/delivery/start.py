"""How to start what was built: as its own files say, else by its tests. Nothing of it is run here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt

from agents.languages.registry import languages
from agents.workspace.repository import Repository

_HEADING = re.compile(r"\b(run|start|started|usage|use|quick\s?start)\b", re.IGNORECASE)
_STARTER = re.compile(r"(\$ )?(docker|podman|python3?|uvicorn|flask|streamlit|npm|npx|node|make|\./)\b")
_NAMED = re.compile(r"""^\s*"?name"?\s*[=:]\s*["']?([\w.@/-]+)""", re.MULTILINE)
_MANIFESTS = ("pyproject.toml", "setup.cfg", "package.json")
MOST_LINES = 12


@dataclass(frozen=True)
class StartWords:
    """Command lines, and the file that tells them."""

    lines: list[str]
    source: str

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


def how_to_start(repository: Repository, commit: str) -> StartWords | None:
    """The commands, from the README, the manifest, or what runs the tests; None when no file tells. Raises GitError."""
    paths = set(repository.files(commit))

    def text(path: str) -> str:
        return (repository.read(commit, path) or "") if path in paths else ""

    names = {found[1] for path in _MANIFESTS if (found := _NAMED.search(text(path)))}
    if lines := _from_readme(text("README.md"), names):
        return StartWords(lines, "README.md")
    told = [one.start_commands(text, paths) for one in languages()]
    # A file that says how to start it, in whatever language, before tests.
    best = next((each for each in told if each[1]), next((each for each in told if each[0]), None))
    return StartWords(best[0], best[1] or "its tests") if best else None


def _from_readme(text: str, names: Collection[str]) -> list[str]:
    """The first block of code below a heading about running or using it, else the first that starts a program.

    What only installs a published version of the product, by one of its `names`, does not start what was built.
    """
    published = re.compile(rf"\binstall\b.*(?<![\w./-])({'|'.join(map(re.escape, names)) or '(?!)'})(?![\w/-])")
    found = [(heading, lines) for heading, lines in _code_blocks(text) if not any(map(published.search, lines))]
    told = [lines for heading, lines in found if _HEADING.search(heading)]
    told += [lines for _, lines in found if _STARTER.match(lines[0])]
    return told[0][:MOST_LINES] if told else []


def _code_blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Fenced and indented code, each with the heading above it; without empty lines, and never empty."""
    heading, before = "", ""
    for token in MarkdownIt().parse(text):
        if before == "heading_open":
            heading = token.content
        lines = [line.rstrip() for line in token.content.splitlines() if line.strip()]
        if token.type in ("fence", "code_block") and lines:
            yield heading, lines
        before = token.type
