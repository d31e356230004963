"""How the tests of one repository are run: found at import, used for every run of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.services import Service


@dataclass(frozen=True)
class TestSetup:
    """The defaults are those of a repository that was started here.

    Paths are relative to the workspace. `known_failures` failed before anything was changed and do not count;
    `flickering` tests passed in one run and failed in another, and never decide. `passing` ones are missed when they
    do not run.
    """

    __test__ = False  # its name begins like a test class

    python_path: tuple[str, ...] = ()  # folders that the tests import from, beside the workspace
    runner: str = ""  # the test runner, where the language has several; "" for what the files say
    arguments: tuple[str, ...] = ()  # of the test runner: which folders, which options
    plugins: tuple[str, ...] = ()  # of the test runner, by module name
    configuration: str = ""  # the file that configures the runner; without one it is looked for at the root
    configuration_text: str = ""  # of it, as the base has it: what a task writes there decides nothing
    environment: Mapping[str, str] = field(default_factory=dict)
    services: tuple[Service, ...] = ()  # servers that run while the tests do
    metadata: Mapping[str, str] = field(default_factory=dict)  # versions of distributions that the repository builds
    modules: Mapping[str, str] = field(default_factory=dict)  # source of modules that its build would generate
    test_seconds: float = 60.0  # for one test
    suite_seconds: float = 120.0  # for all of them
    measured_seconds: float = 0.0  # that all of them took before anything was changed; 0 when nobody measured it
    known_failures: frozenset[str] = frozenset()
    known_messages: Mapping[str, str] = field(default_factory=dict)  # of the known failures, where there is one
    flickering: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    language: str = ""  # by its name; "" where every language's tests are run with this setup
    others: Mapping[str, TestSetup] = field(default_factory=dict)  # of further languages, by name

    def of(self, language: str) -> TestSetup | None:
        """The setup for the tests of a language; None when nobody knows how they are run here."""
        return self if self.language in ("", language) else self.others.get(language)
