"""The contract of a programming language: everything the engine asks that differs from one language to another.

A language is one folder with a class that inherits from `Language` and one line in `agents.languages.registry`. It must
define what has no default here; a default means "cannot be told", and the engine goes on without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agents.languages.definitions import CannotMerge, DefinitionSpan
from agents.languages.layouts import Reader, RepositoryLayout
from agents.languages.problems import WORKSPACE, Problem
from agents.languages.symbols import Grammar, read_symbols
from sandbox.base import Sandbox
from sandbox.test_report import Failure, TestReport
from sandbox.test_setup import TestSetup

Texts = Mapping[str, str]  # of files, by path
Question = tuple[Any, ...]  # about a name of a library, in the language's own form: hashable, and plain data for JSON
Call = tuple[str, str, tuple[object, ...]]  # module, function, arguments of plain data


class NoModule(ValueError):
    """There is no such module, or nothing in it to test; the text says what there is."""


@dataclass(frozen=True)
class PromptWords:
    """What prompts call things in this language; part of the product's own text."""

    fence: str  # the label after a fence's marks
    module: str  # an example of a path
    test_file: str
    tests: str  # what test files are called: "pytest files"
    test_rules: str = ""  # further lines of the tester's rules
    test_rules_need: str = ""  # a package without which these do not hold


@dataclass(frozen=True)
class BuildCheck:
    """How what failed in a build is repeated: by the tests, by a resolver of a `manifest`, or by a command.

    `packages` are the requirement lines of what the command runs with, `programs` those that the product brings.
    """

    argv: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    manifest: str = ""
    tests: bool = False

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        return " ".join(self.argv) or (f"a resolver on {self.manifest}" if self.manifest else "the tests")


@dataclass(frozen=True)
class PackageNeeds:
    """`wanted`: requirement lines by plain name; `unlisted`: names that the code imports and the manifest lacks.

    `idle` are plain names that were planned, and that neither the files nor the manifest use.
    """

    wanted: dict[str, str] = field(default_factory=dict)
    unlisted: list[str] = field(default_factory=list)
    idle: frozenset[str] = frozenset()


class Language(Protocol):
    """One language. Instances have no state and are shared among threads."""

    name: str  # in the registry
    title: str  # as people write it
    suffixes: tuple[str, ...]  # of source files
    labels: tuple[str, ...]  # what models write after a fence's marks
    words: PromptWords
    test_command: tuple[str, ...]  # as it is shown
    set_up: tuple[str, ...] = ()  # command lines after which it works, once the manifest is there
    runs_tasks: bool = True  # False: its files are read and checked in tasks of other languages only
    never_run: tuple[str, ...] = ()  # ends of the names of source files that tools read and no program runs
    runtime: str = ""  # the program that runs it, where that is not the title
    manifest: str = ""  # the file that lists packages
    lock: str = ""  # the file that pins them, which the product writes
    ignored: tuple[str, ...] = ()  # lines of .gitignore for what its tools leave behind
    foreign_marks: str = ""  # first characters of comments in other languages, which cannot stay in a file of this one
    test_marks: frozenset[str] = frozenset()  # names that change every test of the file that assigns them
    export_list: str = "its exports"  # what names the list of `exported_names` in a sentence
    import_variable: str = ""  # of the environment: names the folders that modules are imported from
    temporary: str = ""  # a pattern of names that its tools make up anew in every run

    def words_for(self, paths: Sequence[str]) -> PromptWords:
        """What prompts call things in a task about these files."""
        return self.words

    # Files

    def owns(self, path: str) -> bool:
        """True for source that this language's own interpreter runs."""
        return path.endswith(self.suffixes)

    def is_test(self, path: str, told: Sequence[str] = ()) -> bool:
        """True for files that belong to the tester and are read-only for the coder.

        `told` are the folders and files that the test runner is told to run; without any it finds them by itself.
        """
        return path.startswith("tests/")

    def new_part(self, old: str, new: str, *, helpers: bool) -> str:
        """`new` without the tests that `old` has too, and without its other definitions unless `helpers`; "" for none.

        "" also when that cannot be told.
        """
        return ""

    def steers_tests(self, path: str, text: str, old: str = "") -> str:
        """Why the coder may not write this file: it decides which tests run or what they report. "" if it may.

        `old` is the file as it stands, for files of which parts may change.
        """
        return ""

    def related_tests(self, files: Mapping[str, str], changed: Collection[str], roots: Sequence[str]) -> list[str]:
        """The test files among `files` that `changed` ones reach by imports; [] when all of them must run."""
        return []

    def forgeries(self, path: str, source: str) -> list[str]:
        """What in this file could make failing tests look green, in words for a person who is asked about it."""
        return []

    def changed_code(self, old: str, new: str) -> str:
        """`new` as code without what stands in functions that `old` has word for word; all of it when in doubt."""
        return new

    def holds_fixtures(self, path: str) -> bool:
        """True for a file that steers the tests and may come with them: only what `forgeries` finds in it counts."""
        return False

    def ids_of_tests(self, path: str, source: str) -> list[str]:
        """The ids of the tests in a file, as reports name them, without parameters; [] when that cannot be told."""
        return []

    def import_word(self, path: str) -> str:
        """The word by which other files name this one when they import it; "" where imports name paths."""
        return ""

    # Source text

    def syntax_error(self, path: str, source: str) -> str:
        """`path:line: Error: reason` for text that does not compile; "" when it does, or when it cannot be told."""
        return ""

    def undefined_names(self, source: str) -> list[tuple[int, str]]:
        """Lines and names that the file uses, and neither defines nor imports; [] when that cannot be told."""
        return []

    def compiles(self, source: str) -> bool | None:
        """Whether the text is valid; None when that cannot be told without running it."""
        return None

    def normal(self, source: str) -> str | None:
        """Equal for texts that differ in comments and layout alone; None when it cannot be told."""
        return None

    def without_talk(self, source: str) -> str | None:
        """Code without the prose that a model wrote after it; None when that is not what is wrong with it."""
        return None

    def grammar(self, path: str) -> Grammar | None:
        """How tree-sitter reads definitions and mentions in this file."""
        return None

    def definitions(self, path: str, source: str) -> list[DefinitionSpan] | None:
        """What the file defines at its top and in its classes, in order of line; None when that cannot be told.

        In a file of tests these are among it, and what runs around them.
        """
        grammar = self.grammar(path)
        if grammar is None:
            return None
        counts: Counter[str] = Counter()
        found = []
        for one in read_symbols(source.encode("utf-8", "replace"), grammar).definitions:
            found.append(DefinitionSpan(one.full_name, one.kind, "", counts[one.full_name], one.line, one.end))
            counts[one.full_name] += 1
        return found

    def imported_names(self, source: str) -> set[str]:
        """Names that the file takes from elsewhere and hands on to whoever imports it."""
        return set()

    def exported_names(self, source: str) -> set[str]:
        """Names that the file lists as its own for others to use."""
        return set()

    def borrows(self, old: str, part: str) -> bool:
        """True when `part` uses what only `old` defines, so that it is no file of its own."""
        return False

    def merged(self, path: str, old: str, part: str) -> str:
        """The file `old` with the definitions of `part`; all else stays byte for byte. Raises CannotMerge."""
        raise CannotMerge("a part of a file cannot stand for the file")

    def mutants(
        self, source: str, *, seed: int, limit: int, lines: frozenset[int]
    ) -> tuple[str, list[tuple[int, str]]]:
        """The text as mutants are written, and up to `limit` variants with one mistake on one of `lines`.

        Before each variant is the number of that line in `source`.
        """
        return source, []

    # Running

    def layout(self, paths: Sequence[str], read: Reader) -> RepositoryLayout | None:
        """How a repository with these files is laid out, read as data; None when that cannot be told."""
        return None

    def run_tests(
        self,
        sandbox: Sandbox,
        paths: Sequence[str],
        setup: TestSetup,
        *,
        measured: Sequence[str] = (),
        first: bool = False,
    ) -> TestReport:
        """Run the tests in /workspace as `setup` says, those in `paths` or without any all of the setup's.

        The coverage of the files and folders in `measured` is measured; `first` asks for an end at the first failure.

        Raises SandboxUnavailable when the sandbox broke; everything that the tests do wrong is in the report.
        """
        ...

    def failures_of_build(self, sandbox: Sandbox, paths: Collection[str]) -> list[Failure]:
        """What is wrong with what these files of /workspace are built into, looked at once all their tests pass.

        Raises SandboxUnavailable.
        """
        return []

    def behaviour(self, sandbox: Sandbox, calls: Sequence[Call]) -> str:
        """A hash of what these calls return in /workspace; "" when that is unknown. Raises SandboxUnavailable."""
        return ""

    def calls_of(self, tests: Mapping[str, str], files: Mapping[str, str]) -> list[Call]:
        """Calls with plain data for arguments that the tests make to the files' functions, and variations of them."""
        return []

    def test_plugins(self, packages: Path) -> list[str]:
        """Modules of plugins for the test runner among unpacked packages, by what their metadata says."""
        return []

    def start_commands(self, read: Reader, paths: Collection[str]) -> tuple[list[str], str]:
        """Commands that start what these files are, and the file that tells them; "" when all one can do is run tests.

        `read` gives the text of a path, "" when there is no such file. ([], "") when nothing here is this language's.
        """
        return [], ""

    def serve_command(self, read: Reader, paths: Collection[str], port: int) -> tuple[str, ...]:
        """The words that start a program of these files which answers requests on that port; () when none does."""
        return ()

    # Reading what failed

    def read_failure(self, test: str, text: str) -> Problem:
        """The problem in one failure of a test report; kind "Failure" when it names no error. Never raises."""
        return Problem(self.name, "Failure", "", test=test)

    def read_tools(self, text: str, root: str = WORKSPACE) -> list[Problem]:
        """Failures in the report of a test runner, compiler or package manager; [] for other text. Never raises."""
        return []

    def read_program(self, text: str, root: str = WORKSPACE) -> list[Problem]:
        """The error that ended a program; [] for other text. Never raises."""
        return []

    build_kinds: Mapping[str, str] = {}  # by tool whose failures it reads: what kind of failure of a build that is

    def read_build(self, text: str, root: str = "") -> list[Problem]:
        """Failures in the reports of linters, type checkers and resolvers; [] for other text. Never raises."""
        return []

    def build_kind(self, problem: Problem) -> str:
        """What kind of failure of a build this is."""
        return self.build_kinds[problem.tool]

    def build_words(self, tool: str) -> Sequence[str]:
        """Words by which a command that runs this tool is told."""
        return [tool]

    def build_check(self, tool: str, kind: str, command: str, file: str, read: Reader) -> BuildCheck | None:
        """How a failure of a build that one of its tools reported is repeated; None where that cannot be told.

        `command` is what the log says was run, foreign text of which only plain words are taken over.
        """
        return None

    def silenced(self, path: str, text: str) -> Counter[str]:
        """Marks in a file by which a test is skipped or a check kept quiet, and how often each stands there."""
        return Counter()

    def configures_checks(self, path: str, old: str, new: str) -> bool:
        """Whether a file's new version changes how strict linters, type checkers or test runners are."""
        return False

    # Packages

    def pins(self, path: str, text: str) -> dict[str, str]:
        """The requirement lines of any file that lists packages, by name, and under "" which versions run it."""
        return {}

    def bound(self, path: str, text: str) -> list[tuple[str, str]]:
        """Names and lines that decide what is installed: those of `pins`, each as often as it stands there.

        Names of what is no package, such as another index, begin with "-".
        """
        return [*self.pins(path, text).items()]

    def listed(self, manifest: str) -> list[str]:
        """The requirement lines of a manifest."""
        return []

    def requirement(self, name: str) -> str:
        """The requirement line for a package as people and models name it; "" for what the language brings itself."""
        return name

    def needs(self, files: Texts, paths: Iterable[str], manifest: str, given: Texts, before: Texts) -> PackageNeeds:
        """What `files` need beside the repository's `paths`; not what they imported `before` and no manifest names."""
        return PackageNeeds()

    def unknown_modules(self, files: Mapping[str, str], paths: Iterable[str], packages: Iterable[str]) -> list[str]:
        """Modules that the files need and that are neither in the repository's `paths` nor in these packages."""
        return []

    def manifest_problems(self, path: str, text: str) -> list[tuple[int, str]]:
        """Lines of a manifest that parses and what is wrong there; [] for other files."""
        return []

    def with_packages(
        self, manifest: str, names: Sequence[str], lock: str, files: Mapping[str, str]
    ) -> tuple[str, list[str]]:
        """The manifest with these packages, as `lock` pins them, and the names that were added, new for `files`."""
        return manifest, []

    def merged_lock(self, old: str, new: str, manifest: str) -> str:
        """The lock file of a repository after more packages were fetched."""
        return new

    # Libraries: names are looked up in the sandbox where they are installed

    def uses(self, path: str, source: str, paths: Iterable[str]) -> list[tuple[int, Question]]:
        """Lines and questions about names that the text takes from libraries, not from the repository's `paths`."""
        return []

    def missing(self, sandbox: Sandbox, questions: Sequence[Question]) -> list[str] | None:
        """For each question a sentence about what does not exist, "" if all is well; None: the runtime is not there.

        The sentences hold names alone, no other text of a package. Raises SandboxError.
        """
        return None

    def libraries(self, files: Mapping[str, str], names: Iterable[str], paths: Iterable[str]) -> list[str]:
        """Modules of libraries that the files import or that the packages of these names bring."""
        return []

    def public_names(self, sandbox: Sandbox, names: Sequence[str]) -> list[Any]:
        """Of each module its public names, [name, signature, first line of documentation]; None if that is unknown."""
        return [None] * len(names)

    def names_used(self, source: str) -> set[str]:
        """Full names that the text takes from libraries."""
        return set()

    # Tests for a module that exists

    def find_module(self, module: str, files: Sequence[str]) -> str:
        """The file of a module as people name it; raises NoModule."""
        raise NoModule(f"Tests for a module that exists are not written in {self.title}.")

    def need_code(self, path: str, source: str, files: Sequence[str]) -> None:
        """Raise NoModule for a file that does not compile, or that holds nothing to test."""

    def import_name(self, path: str, importer: str = "") -> str:
        """What other code writes to import the file; `importer` is the path of that code, where names depend on it."""
        return path

    def without_tests(self, tests: Mapping[str, str], failing: Iterable[str]) -> dict[str, str]:
        """The files without the failing tests, and without files that have none left."""
        names = {one.partition("::")[0] for one in failing}
        return {path: text for path, text in tests.items() if path not in names}
