"""Run a few mutants of a change against its tests, in the sandbox where they just passed."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from itertools import zip_longest

from agents.languages.base import Language
from agents.languages.registry import language_of
from agents.languages.suites import run_suites
from sandbox.base import Sandbox
from sandbox.test_setup import TestSetup

MAX_MUTANTS = 12
ENOUGH = 3  # of which one was noticed: the suite can fail, and the next task need not wait
FEWEST = 2  # to judge by: a single mutant may do just what the code does
SECONDS = 60.0  # for all of them together
ONE_SECONDS = 4.0  # a mutant may loop for ever, which counts as noticed
USUAL = 3.0  # times what the tests took without a mistake, where that is more: a slow runner notices nothing by it
DIFF_LINES = 24
MAX_LINES = 20_000  # a file longer than this was not written by hand; every line counts as changed


@dataclass(frozen=True)
class Mutant:
    """A file with one small mistake on a line of its source; `diff` shows it, without comments and layout."""

    path: str
    text: str
    diff: str
    line: int


@dataclass(frozen=True)
class Result:
    """How many mutants were run, how many of them a test noticed, and those that none did.

    `complete` is False when the time ran out first: a slow machine proves nothing about the tests.
    """

    ran: int
    noticed: int
    survivors: tuple[Mutant, ...]
    seconds: float
    complete: bool = True

    @property
    def blind(self) -> bool:
        """True when the tests noticed none of the mutants, and enough of them ran to say so."""
        return self.complete and self.ran >= FEWEST and self.noticed == 0

    @property
    def one_sided(self) -> str:
        """A sentence for the reviewer where all mutants had the same fate, which says as much of the check as of tests.

        "" otherwise.
        """
        if not self.ran or 0 < self.noticed < self.ran:
            return ""
        fate = "none of them was noticed" if not self.noticed else "every one of them was noticed"
        few = "" if self.ran >= FEWEST else ", too few to judge by"
        return f"Of {self.ran} small mistakes put into the change{few}, {fate}."


def mutants_of(
    files: Mapping[str, str], base: Mapping[str, str], *, seed: str, limit: int = MAX_MUTANTS
) -> list[Mutant]:
    """Up to `limit` mutants of the lines that differ from `base`, from each source file that runs in turn.

    The same for the same seed.
    """
    lists = []
    for path, text in sorted(files.items()):
        if (language := language_of(path)) and not path.endswith(language.never_run):
            lines = changed_lines(base.get(path), text)
            number = random.Random(f"{seed}/{path}").randrange(2**31)  # noqa: S311 - a draw that can be repeated, no secret
            plain, found = language.mutants(text, seed=number, limit=limit, lines=lines)
            lists.append([Mutant(path, wrong, _diff(path, plain, wrong, at), at) for at, wrong in found])
    return [mutant for row in zip_longest(*lists) for mutant in row if mutant is not None][:limit]


def check(
    language: Language,
    sandbox: Sandbox,
    found: Sequence[Mutant],
    files: Mapping[str, str],
    tests: Sequence[str],
    setup: TestSetup,
    took: float = 0.0,
) -> Result:
    """Run the test files against each mutant until ENOUGH are judged and one was noticed, or the time is used up.

    `took` are the seconds in which all tests passed before. /workspace holds what it held before when this returns.
    Raises SandboxUnavailable.
    """
    began, ran, noticed, one = time.monotonic(), 0, 0, max(ONE_SECONDS, USUAL * took)
    survivors: list[Mutant] = []
    for mutant in found:
        left = SECONDS - (time.monotonic() - began)
        if left <= 0 or (ran >= ENOUGH and noticed):
            break
        sandbox.put({mutant.path: mutant.text.encode()})
        try:
            limited = replace(setup, suite_seconds=min(one, left))
            report = run_suites(language, sandbox, [], sorted(tests), limited, first=True)
        finally:
            sandbox.put({mutant.path: files[mutant.path].encode()})
        if report.void or report.starved or (report.timed_out and left < one):
            break  # the run itself was unsound or our time was up, which says nothing about the mutant
        ran += 1
        noticed += not report.ok
        if report.ok:
            survivors.append(mutant)
    return Result(ran, noticed, tuple(survivors), time.monotonic() - began, complete=ran == len(found) or noticed > 0)


def changed_lines(before: str | None, after: str) -> frozenset[int]:
    """Which lines a change wrote: mistakes elsewhere are not this task's tests' to notice.

    Numbers, from 1, of the lines of `after` that are new or different; all of them for a new file.
    """
    new = after.splitlines()
    everything = frozenset(range(1, len(new) + 1))
    old = (before or "").splitlines()
    if not old or len(old) + len(new) > MAX_LINES:
        return everything
    found: set[int] = set()
    for what, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what != "equal":
            found.update(range(start + 1, end + 1))
    return frozenset(found)


def _diff(path: str, before: str, after: str, line: int) -> str:
    """What differs, under the number of its line in the source: those of text without comments are nobody's."""
    lines = unified_diff(before.splitlines(), after.splitlines(), path, path, n=2, lineterm="")
    shown = [f"@@ near line {line} @@" if one.startswith("@@ ") else one for one in lines]
    return "\n".join(shown[:DIFF_LINES])
