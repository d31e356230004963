"""Node behind the contract, as far as it goes: scripts in tasks of other languages are read, checked and supplied."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from agents.languages.base import Language, PackageNeeds, PromptWords, Question
from agents.languages.layouts import Reader
from agents.languages.node import look_up, packages
from agents.languages.node.grammars import grammar_of_script
from agents.languages.node.npm_output import read_npm
from agents.languages.node.traces import read_node, read_runner, read_tsc
from agents.languages.node.uses import js_uses_of
from agents.languages.problems import WORKSPACE, Problem
from sandbox.base import Sandbox
from sandbox.node_run import run_node_tests
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup


class Node(Language):
    """JavaScript and TypeScript that Node runs."""

    name = "node"
    title = "JavaScript"
    suffixes = packages.SCRIPTS
    labels = ("javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs")
    words = PromptWords("javascript", "src/module.js", "tests/name.test.js", "node:test files")
    test_command = ("node", "--test")
    runs_tasks = False
    runtime = "Node"
    manifest = "package.json"
    lock = "package-lock.json"
    ignored = ("node_modules/",)

    owns = staticmethod(packages.is_for_node)
    grammar = staticmethod(grammar_of_script)
    read_program = staticmethod(read_node)
    missing = staticmethod(look_up.missing_names)

    def run_tests(
        self,
        sandbox: Sandbox,
        paths: Sequence[str],
        setup: TestSetup,
        *,
        measured: Sequence[str] = (),
        first: bool = False,
    ) -> TestReport:
        return run_node_tests(sandbox, paths, seconds=setup.suite_seconds)

    def start_commands(self, read: Reader, paths: Collection[str]) -> tuple[list[str], str]:
        return (["npm install", "npm start"], self.manifest) if packages.has_start(read(self.manifest)) else ([], "")

    def read_tools(self, text: str, root: str = WORKSPACE) -> list[Problem]:
        return read_runner(text, root) or read_tsc(text, root) or read_npm(text)

    def needs(
        self, files: Mapping[str, str], paths: Iterable[str], manifest: str, given: Mapping[str, str]
    ) -> PackageNeeds:
        return packages.needs_of(files, manifest, given)

    def with_packages(self, manifest: str, names: Sequence[str], lock: str) -> tuple[str, list[str]]:
        versions = packages.pinned(lock, names)
        return (packages.with_packages(manifest, versions), list(versions)) if versions else (manifest, [])

    def merged_lock(self, old: str, new: str, manifest: str) -> str:
        return packages.rooted(new, manifest)

    def uses(self, path: str, source: str, paths: Iterable[str]) -> list[tuple[int, Question]]:
        found = js_uses_of(source, grammar_of_script(path))
        return [(use.line, (use.module, use.esm, use.attributes)) for use in found]
