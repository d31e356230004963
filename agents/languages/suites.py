"""The suites of a project with several languages: each has its own runner, and one report says what came of all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, replace

from agents.languages.base import Language
from agents.languages.definitions import DefinitionSpan
from agents.languages.registry import language_of, languages
from sandbox.base import Sandbox
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup

_ADDED = frozenset("passed failed errors skipped collected seconds cpu_seconds failures failing hangs hooks".split())
_JOINED = frozenset({"covered", "outcomes", "skips"})


def run_suites(
    main: Language,
    sandbox: Sandbox,
    there: Collection[str],
    paths: Sequence[str],
    setup: TestSetup,
    *,
    measured: Sequence[str] = (),
    first: bool = False,
) -> TestReport:
    """Run the tests in `paths`, or without any the suites of all languages that have tests among the files `there`.

    The suite of `main` is run in any case, and first. `first` asks each to end at its first failure. Raises
    SandboxUnavailable when the sandbox broke.
    """
    reports = []
    for one in _run_here(main, there, paths):
        own = setup_for(one, setup) if paths or one is main else setup.of(one.name)
        if own is not None:
            report = one.run_tests(sandbox, _paths_of(one, main, paths), own, measured=measured, first=first)
            reports.append(report if paths or not report.ok else _with_build(one, sandbox, there, report))
    return combined(reports)


def _with_build(one: Language, sandbox: Sandbox, there: Collection[str], report: TestReport) -> TestReport:
    """The report of a suite that passed, failed by what is wrong with what is built."""
    failures = one.failures_of_build(sandbox, there)
    if not failures:
        return report
    names = tuple(failure.nodeid for failure in failures)
    return replace(report, failed=len(failures), failures=tuple(failures), failing=names, exit_code=1)


def setup_for(one: Language, setup: TestSetup) -> TestSetup:
    """How tests of this language are run; as in a project that began here where nobody knows."""
    return setup.of(one.name) or TestSetup(language=one.name, services=setup.services, environment=setup.environment)


def owner_of_test(path: str, main: Language) -> Language:
    """The language whose runner runs this test file; a file of no language belongs to `main`."""
    found = language_of(path.partition("::")[0])
    return found if found is not None and found.runs_tasks else main


def _paths_of(one: Language, main: Language, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if owner_of_test(path, main) is one]


def _run_here(main: Language, there: Collection[str], paths: Sequence[str]) -> list[Language]:
    """The main language and the others that have tests here; with `paths`, those whose tests are named."""
    if paths:
        named = {owner_of_test(path, main).name for path in paths}
        return [one for one in languages() if one.name in named]
    tested = [one for one in languages() if any(one.owns(path) and one.is_test(path) for path in there)]
    return [main, *(one for one in tested if one is not main and one.runs_tasks)]


def combined(reports: Sequence[TestReport]) -> TestReport:
    """One report of several runs: counts are summed, and the first that is not good says how they ended.

    Coverage is that of the first run that measured any: the shares of two languages do not add up.
    """
    if len(reports) == 1:
        return reports[0]
    told = next((one for one in reports if not one.ok), reports[0])
    found = {field.name: getattr(told, field.name) for field in fields(TestReport)}
    for name in _ADDED:
        values = [getattr(one, name) for one in reports]
        found[name] = sum(values[1:], values[0])
    for name in _JOINED:
        found[name] = {key: value for one in reports for key, value in getattr(one, name).items()}
    found["output"] = "\n".join(one.output for one in reports)
    found["services"] = tuple(dict.fromkeys(name for one in reports for name in one.services))
    found["branch_coverage"] = next((one.branch_coverage for one in reports if one.branch_coverage is not None), None)
    return TestReport(**found)


def test_changes(language: Language, path: str, old: str, new: str) -> dict[str, tuple[str, str]]:
    """Tests and helpers of an existing file that a new version alters or drops: by name the old text and the new."""
    there, given = language.definitions(path, old), language.definitions(path, new)
    before, after = old.splitlines(), new.splitlines()
    if there is None or given is None:
        lost = [line for line in before if line.strip() and line not in set(after)]
        return {path: ("\n".join(lost), "")} if lost else {}
    later: dict[str, list[DefinitionSpan]] = {}
    for one in given:
        later.setdefault(one.name, []).append(one)
    found = {}
    for one in there:
        if one.kind == "class":
            continue  # its members are compared
        new_texts = ["\n".join(after[each.first - 1 : each.last]) for each in later.get(one.name, [])]
        text = "\n".join(before[one.first - 1 : one.last])
        more = len(new_texts) > sum(each.name == one.name for each in there)
        if text not in new_texts or more:
            found[one.name] = (text, "\n\n".join(new_texts))
    known = {one.name for one in there}
    marks = [one for one in given if one.name.rpartition(".")[2] in language.test_marks and one.name not in known]
    return found | {one.name: ("", "\n".join(after[one.first - 1 : one.last])) for one in marks}
