"""How a repository that was not started here is laid out, and what its tests need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sandbox.test_setup import TestSetup

Reader = Callable[[str], str]  # the text of a file by its path; "" when there is none


@dataclass(frozen=True)
class RepositoryLayout:
    """Read from a repository's files as data; nothing of it was run. Paths are relative to the workspace."""

    language: str
    style: str  # "src" or "flat"
    source_roots: tuple[str, ...] = ()
    test_paths: tuple[str, ...] = ()
    conftests: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()  # modules beside the tests that are no tests
    runtime: str = ""  # the versions of the language that it supports, as it says
    needed: tuple[str, ...] = ()  # requirement lines that the tests cannot do without
    useful: tuple[str, ...] = ()  # declared too, but every import of them is guarded, or nothing imports them
    setup: TestSetup = field(default_factory=TestSetup)
    problem: str = ""  # why its tests cannot be run here

    def to_json(self) -> dict[str, Any]:
        """What the baseline keeps and shows of it."""
        names = "language style source_roots test_paths conftests helpers runtime".split()
        shown = {name: getattr(self, name) for name in names}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in shown.items()}
