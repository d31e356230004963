"""What a test run says of the candidate: which failures are new, and whether the run says anything at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from agents.languages.base import Language
from agents.languages.suites import owner_of_test
from sandbox.test_report import Failure, Hang, TestReport
from sandbox.test_setup import TestSetup

_PHASE = re.compile(r" \((?:setup|teardown)\)$")
_MISSING = re.compile(r"No module named '([\w.]+)'")
SHOWN = 5
MOST_ALONE = 20  # failures that are tried alone: more are no chance
OWN_CPU = 0.5  # of its limit: a test that used so much computed, and did not wait for something


@dataclass(frozen=True)
class RunVerdict:
    """A report that holds new failures alone; `notes` are for people."""

    report: TestReport
    ok: bool
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()  # tests that passed before and gave no result, or were skipped
    fixed: tuple[str, ...] = ()  # tests that failed before anything was changed, and pass


def plain(nodeid: str) -> str:
    """The test's id without the phase in which it failed."""
    return _PHASE.sub("", nodeid)


def verdict_of(
    found: TestReport, setup: TestSetup, tests: Mapping[str, str], files: Mapping[str, str], language: Language
) -> RunVerdict:
    """Take what was known before from the failures, and add what the task's own tests did not do.

    `tests` and `files` are what the task wrote. Tests that failed before and tests that flicker decide nothing.
    """
    excused = setup.known_failures | setup.flickering
    failing = {plain(one) for one in found.failing or [failure.nodeid for failure in found.failures]}
    known = sorted(failing & excused)
    problem = found.problem or ("" if found.void else _not_run(found, tests, language))
    report = _without(found, excused, known, _skipped_by_code(found, files), problem)
    bad = (report.failed, report.errors, report.failures, problem, found.void)
    clean = not any(bad) and found.passed > 0
    fixed = sorted(one for one in setup.known_failures if found.outcomes.get(one) == "passed")
    left = sorted(one for one, outcome in found.outcomes.items() if outcome == "deselected")
    rows = ((known, "failed before as well"), (fixed, "failed before and pass now"), (left, "were deselected"))
    notes = [f"{len(ids)} {words}: {_few(ids)}" for ids, words in rows if ids]
    silent = ("skipped", "deselected")
    lost = sorted(one for one in setup.passing if found.outcomes and found.outcomes.get(one, "skipped") in silent)
    ok = clean and (found.exit_code == 0 or (found.exit_code == 1 and bool(known)))
    return RunVerdict(report, ok, tuple(notes), tuple(lost), tuple(fixed))


def _without(
    found: TestReport, excused: Set[str], known: Sequence[str], more: Sequence[Failure], problem: str
) -> TestReport:
    """The report without `excused` failures, of which it has `known`, and with some more."""
    errors = sum(found.outcomes.get(one) == "error" for one in known)
    return replace(
        found,
        failures=(*(one for one in found.failures if plain(one.nodeid) not in excused), *more),
        failing=tuple(one for one in found.failing if plain(one) not in excused),
        failed=found.failed - (len(known) - errors),
        errors=found.errors - errors,
        problem=problem,
    )


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _skipped_by_code(found: TestReport, files: Mapping[str, str]) -> list[Failure]:
    """Tests that the code under test skipped, where the task wrote that code."""
    return [
        Failure(nodeid, f"the code under test skipped this test: {reason}", reason)
        for nodeid, reason in found.skips.items()
        if any(f"/{path}'" in reason for path in files)
    ]


def _not_run(found: TestReport, tests: Mapping[str, str], language: Language) -> str:
    """Which of the task's own tests gave no result; "" where the runner does not tell one test from another."""
    if not found.outcomes:
        return ""
    ran: dict[str, set[str]] = {}
    for nodeid, outcome in found.outcomes.items():
        for name in {nodeid, nodeid.partition("[")[0]}:
            ran.setdefault(name, set()).add(outcome)
    for path, text in tests.items():
        if path in ran:  # it could not be collected, and says so
            if "skipped" in ran[path]:
                return f"{path} was skipped as a whole: {found.skips.get(path, '')}"
            continue
        wanted = owner_of_test(path, language).ids_of_tests(path, text)
        left = [name for name in wanted if not ran.get(name, set()) - {"deselected"}]
        if left:
            return f"{left[0]} was written and did not run"
        if wanted and all(ran[name] == {"skipped"} for name in wanted):
            return f"every test of {path} was skipped: {found.skips.get(wanted[0], '')}"
    return ""


def trouble(found: TestReport, written: Mapping[str, str], setup: TestSetup) -> str:
    """Why the run proves nothing of the code: the machine, the sandbox, or its own checks; "" for an honest result.

    `written` are the task's files: a module that one of them names is the task's own affair.
    """
    # A run that broke its own runner is void and never a pass, but its failures are the code's or the tests' own.
    if found.void and not (found.broken and found.failed + found.errors > found.passed):
        return found.void
    if found.starved:
        return f"the machine had no CPU for the tests: {found.cpu_seconds:.0f} s in {found.seconds:.0f} s"
    new = {plain(one) for one in found.failing} - setup.known_failures - setup.flickering
    if found.timed_out and found.collected and not (found.hangs or new):
        return f"all tests together took more than {found.seconds:.0f} s, though none hung and none failed"
    missing = {match[1].partition(".")[0] for one in found.failures if (match := _MISSING.search(one.message))}
    absent = len(found.failing or found.failures) == sum("No module named" in one.message for one in found.failures)
    if missing and absent and not found.passed:
        text = "\n".join([*written, *written.values()])
        if not any(re.search(rf"\b{re.escape(name)}\b", text) for name in missing):
            return f"packages are missing that the task's files do not name: {', '.join(sorted(missing))}"
    return ""


def waited(found: TestReport, setup: TestSetup) -> list[Hang]:
    """Tests that reached their limit with little CPU: a lock that never opens, or something outside of the code.

    None when another one computed up to its limit: the run is a failure of the code already.
    """
    hangs = [one for one in found.hangs if plain(one.nodeid) not in setup.known_failures | setup.flickering]
    idle = [one for one in hangs if one.cpu_seconds < OWN_CPU * setup.test_seconds]
    return idle if len(idle) == len(hangs) else []


def unexpected(found: TestReport, written: Mapping[str, str], setup: TestSetup) -> list[str]:
    """The new failures, when nothing hung and all are of tests that passed before and that the task did not write."""
    new = sorted({plain(one) for one in found.failing} - setup.known_failures - setup.flickering)
    stood = all(one in setup.passing and one.partition("::")[0] not in written for one in new)
    return new if stood and not found.hangs and len(new) <= MOST_ALONE else []


def hangs_again(hang: Hang, again: TestReport) -> bool:
    """True when the test, run alone, was stopped in one of the same functions, or did not end at all.

    In a loop that calls functions, which of them is the innermost is chance.
    """
    same = any(_functions(one) & _functions(hang) for one in again.hangs)
    return same or (again.timed_out and not again.starved)


def _functions(hang: Hang) -> set[tuple[str, str]]:
    return {(frame.partition(":")[0], frame.rpartition(" in ")[2]) for frame in hang.frames}
