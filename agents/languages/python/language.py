"""Python behind the contract: pytest, requirements.txt, tree-sitter and the standard library's own parser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agents.languages.base import Language, PromptWords, Question
from agents.languages.problems import WORKSPACE, Problem
from agents.languages.python import build_checks, build_output, look_up, merging, modules, packages, text
from agents.languages.python.definitions import definitions_of, exported_names, imported_names
from agents.languages.python.forgery import forgeries
from agents.languages.python.layout import layout_of
from agents.languages.python.mutants import mutants_of
from agents.languages.python.pip_output import read_pip
from agents.languages.python.plugins import test_plugins
from agents.languages.python.probing import behaviour, calls_of
from agents.languages.python.pruning import ids_of_tests, without
from agents.languages.python.pytest_output import is_pytest, read_block, read_pytest
from agents.languages.python.related import related_tests
from agents.languages.python.serving import serve_command
from agents.languages.python.starting import start_commands
from agents.languages.python.test_config import is_test, steers_tests
from agents.languages.python.tracebacks import read_python, read_unittest
from agents.languages.python.undefined import undefined_names
from agents.languages.python.uses import uses_of
from agents.languages.symbols import Grammar
from sandbox.base import Sandbox
from sandbox.package_index.locks import joined
from sandbox.pytest_run import run_pytest
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup

_GRAMMAR = Grammar(
    "python",
    "tree_sitter_python",
    """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (expression_statement (assignment left: (identifier) @name) @value))
(identifier) @mention
""",
)
_RULES = """- Where a rule holds for every input (there and back again, order, bounds), add a hypothesis test with
  @settings(derandomize=True, deadline=None, max_examples=50) beside the examples;
  its docstring begins with the key of the requirement that states the rule."""


class Python(Language):
    """The default."""

    name = "python"
    title = "Python"
    suffixes = (".py", ".pyi")
    never_run = (".pyi",)
    labels = ("python", "py", "python3")
    words = PromptWords("python", "package/module.py", "tests/test_name.py", "pytest files", _RULES, "hypothesis")
    test_command = ("python", "-m", "pytest", "-q")
    set_up = (
        "python -m venv .venv && . .venv/bin/activate",
        "pip install pytest hypothesis",
        "pip install -r requirements.txt",
    )
    manifest = "requirements.txt"
    lock = "requirements.lock.txt"
    ignored = ("__pycache__/", "*.pyc", ".pytest_cache/", ".hypothesis/", ".coverage", ".venv/", "venv/")
    foreign_marks = "<-/;%"
    export_list = "__all__"
    test_marks = frozenset({"pytestmark"})
    import_variable = "PYTHONPATH"
    temporary = r"\btmp[a-z0-9_]{6,12}\b|\bpytest-\d+\b"

    build_kinds = build_output.KINDS

    read_build = staticmethod(build_output.read_build)
    build_kind = staticmethod(build_output.build_kind)
    build_words = staticmethod(build_output.build_words)
    build_check = staticmethod(build_checks.build_check)
    silenced = staticmethod(build_checks.silenced)
    bound = staticmethod(build_checks.bound)
    configures_checks = staticmethod(build_checks.configures_checks)
    pins = staticmethod(build_checks.pins)
    import_word = staticmethod(modules.import_word)
    import_name = staticmethod(modules.dotted_name)
    find_module = staticmethod(modules.path_of)
    need_code = staticmethod(modules.need_code)
    without_tests = staticmethod(without)
    ids_of_tests = staticmethod(ids_of_tests)
    forgeries = staticmethod(forgeries)
    is_test = staticmethod(is_test)
    new_part = staticmethod(merging.new_part)
    related_tests = staticmethod(related_tests)
    steers_tests = staticmethod(steers_tests)
    start_commands = staticmethod(start_commands)
    serve_command = staticmethod(serve_command)
    test_plugins = staticmethod(test_plugins)
    syntax_error = staticmethod(text.syntax_error)
    compiles = staticmethod(text.compiles)
    undefined_names = staticmethod(undefined_names)
    normal = staticmethod(text.normal)
    without_talk = staticmethod(text.without_talk)
    changed_code = staticmethod(text.changed_code)
    definitions = staticmethod(definitions_of)
    exported_names = staticmethod(exported_names)
    imported_names = staticmethod(imported_names)
    borrows = staticmethod(merging.borrows)
    merged = staticmethod(merging.merged)
    mutants = staticmethod(mutants_of)
    calls_of = staticmethod(calls_of)
    behaviour = staticmethod(behaviour)
    layout = staticmethod(layout_of)
    read_failure = staticmethod(read_block)
    listed = staticmethod(packages.listed)
    requirement = staticmethod(packages.requirement)
    needs = staticmethod(packages.needs_of)
    unknown_modules = staticmethod(packages.unknown_modules)
    libraries = staticmethod(packages.libraries_of)
    missing = staticmethod(look_up.missing_names)
    public_names = staticmethod(look_up.public_names_of)

    def holds_fixtures(self, path: str) -> bool:
        return path.rpartition("/")[2] == "conftest.py"

    def owns(self, path: str) -> bool:
        return path.endswith(".py")

    def grammar(self, path: str) -> Grammar:
        return _GRAMMAR

    def run_tests(
        self,
        sandbox: Sandbox,
        paths: Sequence[str],
        setup: TestSetup,
        *,
        measured: Sequence[str] = (),
        first: bool = False,
    ) -> TestReport:
        return run_pytest(sandbox, ["-x"] * first + [*paths], coverage_of=measured, setup=setup)

    def read_tools(self, text: str, root: str = WORKSPACE) -> list[Problem]:
        return read_pytest(text, root) or read_python(text, root) if is_pytest(text) else read_unittest(text, root)

    def read_program(self, text: str, root: str = WORKSPACE) -> list[Problem]:
        return read_python(text, root) or read_pip(text)

    def with_packages(
        self, manifest: str, names: Sequence[str], lock: str, files: Mapping[str, str]
    ) -> tuple[str, list[str]]:
        return "\n".join(sorted({*packages.listed(manifest), *names}, key=str.lower)) + "\n", list(names)

    def merged_lock(self, old: str, new: str, manifest: str) -> str:
        return joined(old, new)

    def uses(self, path: str, source: str, paths: Iterable[str]) -> list[tuple[int, Question]]:
        found = uses_of(source, packages.local_modules(paths))
        return [(use.line, (use.module, use.attributes, use.keywords)) for use in found]

    def names_used(self, source: str) -> set[str]:
        return {use.name for use in uses_of(source)}
