"""The toy behind the contract of agents.languages.base: everything that the engine needs to know of it."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from agents.languages.base import Language, PromptWords
from agents.languages.problems import Problem
from sandbox.base import Sandbox
from sandbox.test_report import NO_REPORT, Failure, TestReport
from sandbox.test_setup import TestSetup

INSIDE = Path(__file__).with_name("inside.py")
LINE = re.compile(r"\w+( \w+)* = \w+ [-+*] \w+|\w+( \d+)* is -?\d+")


class Toy(Language):
    """A third language."""

    name = "toy"
    title = "Toy"
    suffixes = (".toy",)
    labels = ("toy",)
    words = PromptWords("toy", "sums.toy", "tests/sums.toy", "toy expectations")
    test_command = ("toy", "tests")

    def syntax_error(self, path: str, source: str) -> str:
        """The first line that is neither a definition nor an expectation."""
        wrong = (number for number, line in enumerate(source.splitlines(), 1) if line and not LINE.fullmatch(line))
        found = next(wrong, 0)
        return f"{path}:{found}: SyntaxError: not a definition" if found else ""

    def run_tests(
        self,
        sandbox: Sandbox,
        paths: Sequence[str],
        setup: TestSetup,
        *,
        measured: Sequence[str] = (),
        first: bool = False,
    ) -> TestReport:
        """Run the interpreter on all expectations."""
        done = sandbox.exec(["python3", "-c", INSIDE.read_text()], seconds=setup.suite_seconds)
        if not done.ok:
            return TestReport(problem=NO_REPORT, output=done.err, exit_code=done.exit_code)
        passed, rows = json.loads(done.out)
        failures = tuple(Failure(test, words, f"{words} at {place}") for test, words, place in rows)
        counts = {"passed": passed, "failed": len(failures), "collected": passed + len(failures)}
        return TestReport(**counts, failures=failures, exit_code=int(bool(failures)), seconds=done.seconds)

    def read_failure(self, test: str, text: str) -> Problem:
        """Kind and place from the interpreter's words."""
        found = re.match(r"(?P<kind>\w+): (?P<message>.*?)(?: at (?P<file>[^:]+):(?P<line>\d+))?$", text)
        if found is None:
            return super().read_failure(test, text)
        return Problem("toy", found["kind"], found["message"], found["file"] or "", int(found["line"] or 0), test)
