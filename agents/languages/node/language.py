"""Node behind the contract: package.json, the test runners on it, tree-sitter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agents.languages.base import Language, PackageNeeds, Question
from agents.languages.node import build_checks, build_output, look_up, modules, packages, serving, test_parts, text
from agents.languages.node.definitions import borrows, definitions_of, exported_names, imported_names
from agents.languages.node.forgery import forgeries
from agents.languages.node.grammars import grammar_of_script
from agents.languages.node.layout import layout_of
from agents.languages.node.manifest_rules import manifest_problems
from agents.languages.node.merging import merged
from agents.languages.node.mutants import mutants_of
from agents.languages.node.npm_output import read_npm
from agents.languages.node.page import page_failures
from agents.languages.node.test_config import steers_tests
from agents.languages.node.test_files import is_setup, is_test
from agents.languages.node.traces import read_failure, read_node, read_runner, read_tsc
from agents.languages.node.uses import js_uses_of, names_used
from agents.languages.node.words import WORDS, words_for
from agents.languages.problems import WORKSPACE, Problem
from sandbox.base import Sandbox
from sandbox.node_run import run_node_tests
from sandbox.package_index.names import BUILTIN, NPM
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup


class Node(Language):
    """JavaScript and TypeScript that Node runs."""

    words = WORDS
    foreign_marks = "#<%"

    # Source text
    definitions = staticmethod(definitions_of)
    imported_names = staticmethod(imported_names)
    exported_names = staticmethod(exported_names)
    borrows = staticmethod(borrows)
    merged = staticmethod(merged)
    compiles = staticmethod(text.compiles)
    syntax_error = staticmethod(text.syntax_error)
    normal = staticmethod(text.normal)
    without_talk = staticmethod(text.without_talk)
    changed_code = staticmethod(text.changed_code)
    mutants = staticmethod(mutants_of)

    # Tests
    is_test = staticmethod(is_test)
    holds_fixtures = staticmethod(is_setup)
    ids_of_tests = staticmethod(test_parts.ids_of_tests)
    without_tests = staticmethod(test_parts.without)
    new_part = staticmethod(test_parts.new_part)
    steers_tests = staticmethod(steers_tests)
    forgeries = staticmethod(forgeries)
    failures_of_build = staticmethod(page_failures)

    # Tests for a module that exists
    find_module = staticmethod(modules.path_of)
    need_code = staticmethod(modules.need_code)
    import_word = staticmethod(modules.import_word)
    import_name = staticmethod(modules.import_name)
    words_for = staticmethod(words_for)

    # Running
    name = "node"
    title = "JavaScript"
    suffixes = packages.SCRIPTS
    labels = ("javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs")
    test_command = ("npm", "test")  # as it is shown: which runner that is, package.json tells
    set_up = ("npm install",)
    runtime = "Node"
    manifest = "package.json"
    lock = "package-lock.json"
    ignored = ("node_modules/", "dist/", "coverage/", "*.tsbuildinfo")
    temporary = r"\btmp[a-z0-9_]{6,12}\b|[?&]t=\d+"

    build_kinds = build_output.KINDS

    read_build = staticmethod(build_output.read_build)
    build_kind = staticmethod(build_output.build_kind)
    build_words = staticmethod(build_output.build_words)
    build_check = staticmethod(build_checks.build_check)
    silenced = staticmethod(build_checks.silenced)
    bound = staticmethod(build_checks.bound)
    configures_checks = staticmethod(build_checks.configures_checks)
    pins = staticmethod(build_checks.pins)
    owns = staticmethod(packages.is_for_node)
    grammar = staticmethod(grammar_of_script)
    read_program = staticmethod(read_node)
    missing = staticmethod(look_up.missing_names)
    layout = staticmethod(layout_of)
    start_commands = staticmethod(serving.start_commands)
    serve_command = staticmethod(serving.serve_command)
    read_failure = staticmethod(read_failure)
    public_names = staticmethod(look_up.public_names_of)
    libraries = staticmethod(packages.libraries_of)
    names_used = staticmethod(names_used)

    def run_tests(
        self,
        sandbox: Sandbox,
        paths: Sequence[str],
        setup: TestSetup,
        *,
        measured: Sequence[str] = (),
        first: bool = False,
    ) -> TestReport:
        return run_node_tests(sandbox, paths, coverage_of=measured, setup=setup, first=first)

    def read_tools(self, text: str, root: str = WORKSPACE) -> list[Problem]:
        return read_runner(text, root) or read_tsc(text, root) or read_npm(text)

    def needs(
        self,
        files: Mapping[str, str],
        paths: Iterable[str],
        manifest: str,
        given: Mapping[str, str],
        before: Mapping[str, str],
    ) -> PackageNeeds:
        tested = any(self.owns(path) and self.is_test(path) for path in paths)
        return packages.needs_of(files, manifest, given, before, tested=tested)

    manifest_problems = staticmethod(manifest_problems)

    def requirement(self, name: str) -> str:
        if name.startswith("node:") or name in BUILTIN:
            return ""
        return name if name.startswith(NPM) else NPM + name

    def listed(self, manifest: str) -> list[str]:
        return [f"{NPM}{name}@{versions}" for name, versions in packages.manifest_packages(manifest).items()]

    def with_packages(
        self, manifest: str, names: Sequence[str], lock: str, files: Mapping[str, str]
    ) -> tuple[str, list[str]]:
        versions = packages.pinned(lock, names)
        added = [name.removeprefix(packages.DEVELOPMENT) for name in versions]
        return (packages.with_packages(manifest, versions, files), added) if versions else (manifest, [])

    def merged_lock(self, old: str, new: str, manifest: str) -> str:
        return packages.joined_lock(old, new, manifest)

    def uses(self, path: str, source: str, paths: Iterable[str]) -> list[tuple[int, Question]]:
        found = js_uses_of(source, grammar_of_script(path))
        return [(use.line, (use.module, use.esm, use.attributes)) for use in found]
