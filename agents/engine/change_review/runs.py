"""What is run for a review: the scanners and the tests, before the change and after it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

from agents.checks.compose_services import with_services
from agents.engine.baseline import configured
from agents.engine.change_review.findings import ReviewFinding, Strength
from agents.engine.change_review.units import DiffRow
from agents.engine.contracts import TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.common import one_line
from agents.engine.nodes.verify import command_ran
from agents.engine.verdict import plain
from agents.events.effects import CommandRan, TestsRan
from agents.gates.base import GateFinding, GateReport, Severity, content_mark
from agents.gates.feedback import gate_judged
from agents.languages.base import Language
from agents.languages.registry import is_test, language_of
from agents.languages.suites import run_suites
from agents.repair.feedback import summary_text
from agents.repair.signature import signature_of
from agents.workspace.repository import Repository
from sandbox.package_index.names import base_packages, plain_name
from sandbox.paths import regular_files
from sandbox.test_report import Failure, TestReport

NAMED = 3  # failing tests that one remark names
LISTED = 5  # as evidence
TAKEN_BACK = 20  # files and parts of the change, to find which one breaks tests


@dataclass(frozen=True)
class Suites:
    """The project's tests on both sides; `broken` are those that the change breaks, with their failures."""

    before: TestReport
    after: TestReport
    broken: tuple[Failure, ...] = ()
    problem: str = ""


def scanned(ctx: TaskContext, commit: str, paths: Collection[str]) -> GateReport:
    """What the review gates find in these files of a commit; those that are not there are left out."""
    there = set(ctx.repository.files(commit))
    tree = ctx.repository.worktree(ctx.worktree_name, commit)
    return ctx.gates(tree.path, sorted(there.intersection(paths)), {})


def new_findings(
    ctx: TaskContext, base: str, head: str, changed: Mapping[str, Sequence[DiffRow]]
) -> tuple[list[ReviewFinding], str]:
    """What scanners find on changed lines and did not find before the change; and why that is not all, or ""."""
    before, after = scanned(ctx, base, changed), scanned(ctx, head, changed)
    known = {one.fingerprint for one in before.findings}
    ctx.event_log.emit(gate_judged(after.without(known)), key="review/gates")
    still = {one.fingerprint for one in after.findings}
    moved = {content_mark(one.fingerprint): one for one in before.findings if one.fingerprint not in still}
    made = []
    for one in after.findings:
        rows = {row.line: row for row in changed.get(one.path, ()) if row.mark == "+"}
        if one.fingerprint not in known and one.line in rows and one.severity >= Severity.MEDIUM:
            made.append(_of_scanner(one, rows[one.line], moved.get(content_mark(one.fingerprint))))
    problems = [f"{tool.name} {tool.problem}" for tool in after.tools.values() if tool.problem]
    return made, f"The scanners did not see all of it: {'; '.join(problems)[:300]}." if problems else ""


def _of_scanner(one: GateFinding, row: DiffRow, before: GateFinding | None) -> ReviewFinding:
    cwe = f", {one.cwe}" if one.cwe else ""
    since = "and not before" if before is None else f"moved here from {before.path}:{before.line}"
    evidence = f"{one.tool} {one.rule} ({one.severity.name}{cwe}) reports it after the change, {since}."
    text = one_line(f"{one.message} {one.remediation}")
    return ReviewFinding(one.path, one.line, row.text.strip(), "security", text, "found", (evidence,))


def new_errors(repository: Repository, base: str, path: str, text: str, rows: Sequence[DiffRow]) -> list[ReviewFinding]:
    """Changed lines that do not compile, or use a name that nothing defines, where the file was right before."""
    language = language_of(path)
    if language is None:
        return []
    before, by_line = repository.read(base, path) or "", {row.line: row for row in rows if row.mark == "+"}
    if error := language.syntax_error(path, text):
        row = by_line.get(_line_in(error), next(iter(by_line.values()), None))
        if row is None or language.syntax_error(path, before):
            return []
        said = ("It compiles before the change.",)
        return [ReviewFinding(path, row.line, row.text.strip(), "bug", one_line(error), "found", said)]
    known, said = {name for _, name in language.undefined_names(before)}, ("No name is missing before the change.",)
    return [
        ReviewFinding(path, line, by_line[line].text.strip(), "bug", f"Nothing defines {name}.", "found", said)
        for line, name in language.undefined_names(text)
        if line in by_line and name not in known
    ]


def _line_in(error: str) -> int:
    found = re.search(r":(\d+):", error)
    return int(found[1]) if found else 0


def packages_of(ctx: TaskContext, language: Language, base: str, head: str) -> list[str]:
    """What every run of this review has beside what every sandbox has: what the manifest of `head` lists.

    What a project needs whose tests were measured is known; then only what the change adds.
    """
    before, after = (_listed(ctx, language, one) for one in (base, head))
    known = {*base_packages(), *(map(plain_name, before) if ctx.test_setup.language else ())}
    return [line for line in after if plain_name(line) not in known]


def _listed(ctx: TaskContext, language: Language, commit: str) -> list[str]:
    return language.listed(ctx.repository.read(commit, language.manifest) or "") if language.manifest else []


@dataclass(frozen=True)
class Runner:
    """Runs tests on the files of a commit, in a sandbox with the same packages each time."""

    ctx: TaskContext
    language: Language
    packages: Sequence[str]

    def run(
        self, commit: str, key: str, extra: Mapping[str, str], paths: Sequence[str], measured: Sequence[str] = ()
    ) -> TestReport:
        """The tests in `paths`, without any all, with `extra` files. Raises SandboxError."""
        ctx, language = self.ctx, self.language
        tree = ctx.repository.worktree(ctx.worktree_name, commit)
        tree.write(extra)
        sandbox = ctx.sandbox(self.packages)
        sandbox.mirror(tree.path)
        setup = with_services(configured(ctx.test_setup, ctx.repository, commit), tree.path)
        there, argv = [path for path, _, _ in regular_files(tree.path)], [*language.test_command, *paths]
        announcement = CommandRan(summary=f"{' '.join(argv)} at {commit[:10]} …", effect="command", argv=argv)
        with effect(ctx.event_log, announcement, key=f"{key}/cmd"):
            report = run_suites(language, sandbox, there, paths, setup, measured=measured)
        ctx.event_log.emit(command_ran(argv, report, sandbox.backend), key=f"{key}/cmd")
        said = asdict(report)
        tests = TestsRan(
            summary=f"{commit[:10]}: {summary_text(said)}",
            outcome="ok" if report.ok else "fail",
            error_signature="" if report.ok else signature_of(said),
            **{part: said[part] for part in ("passed", "failed", "errors", "skipped", "failures", "problem")},
        )
        ctx.event_log.emit(tests, key=f"{key}/tests")
        return report


def run_suites_at_both(runner: Runner, base: str, head: str) -> Suites:
    """The project's own tests before and after; a test that failed before, or is known to flicker, says nothing."""
    before = runner.run(base, "review/suite/before", {}, [])
    after = runner.run(head, "review/suite/after", {}, [])
    for when, one in (("before", before), ("after", after)):
        if one.void or not (one.passed or one.failed):
            return Suites(before, after, (), f"{when} the change: {one.void or one.problem}")
    setup = runner.ctx.test_setup
    excused = {plain(one) for one in before.failing} | setup.flickering | setup.known_failures
    broken = [one for one in after.failures if plain(one.nodeid) not in excused]
    return Suites(before, after, tuple(broken))


def of_suites(
    runner: Runner, head: str, suites: Suites, changed: Mapping[str, Sequence[DiffRow]]
) -> list[ReviewFinding]:
    """One remark on all tests that the change breaks, at the line that the first trace goes through last.

    Where no trace goes through a changed line, each part of the change is taken back in turn, until the tests pass.
    """
    if not suites.broken:
        return []
    names = [plain(one.nodeid) for one in suites.broken]
    place = next((place for one in suites.broken if (place := _place(one, changed))), None)
    said = [f"{plain(one.nodeid)}: {one_line(one.message)}" for one in suites.broken[:LISTED]]
    said.append(f"Before the change {suites.before.passed} tests pass; after it {suites.after.passed}.")
    if place is None and (place := _culprit(runner, head, names, changed)):
        said.append("They pass, or most of them, when this part of the change is taken back.")
    path, row = place or ("", None)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    text = f"With the change {', '.join(names[:NAMED])}{more} fail{'s' * (len(names) == 1)}."
    strength: Strength = "shown" if suites.before.outcomes.keys().isdisjoint(names) else "proven"
    quote = row.text.strip() if row else ""
    removed = row is not None and row.mark == "-"
    return [ReviewFinding(path, row.line if row else 0, quote, "bug", text, strength, tuple(said), removed)]


def _culprit(
    runner: Runner, head: str, names: Sequence[str], changed: Mapping[str, Sequence[DiffRow]]
) -> tuple[str, DiffRow] | None:
    """The first line of the part of the change without which most of these tests pass; None where none does.

    Whole files are taken back first, then the parts of the one that is to blame.
    """
    tries = iter(range(TAKEN_BACK))

    def mended(path: str, back: Sequence[DiffRow]) -> int:
        """How many of the tests pass without these lines of the change."""
        if (number := next(tries, None)) is None:
            return 0
        gone = set(map(id, back))
        kept = [row.text for row in changed[path] if row.mark != ("+" if id(row) in gone else "-")]
        report = runner.run(head, f"review/culprit/{number}", {path: "\n".join(kept) + "\n"}, names)
        return len(names) if report.ok else sum(report.outcomes.get(name) == "passed" for name in names)

    code = [path for path in changed if language_of(path) is not None and not is_test(path)]
    code.sort(key=lambda path: -sum(row.is_changed for row in changed[path]))
    path = next((path for path in code if len(code) == 1 or mended(path, changed[path]) == len(names)), None)
    most, best = 0, list[DiffRow]()
    for is_changed, part in groupby(changed.get(path or "", ()), key=lambda row: row.is_changed):
        lines = list(part)
        if is_changed and most < len(names) and any(row.text.strip() for row in lines):
            count = mended(path or "", lines)
            most, best = max((most, best), (count, lines), key=lambda one: one[0])
    if path is None or not most:
        return None
    return path, next((row for row in best if row.mark == "+" and row.text.strip()), best[0])


def _place(failure: Failure, changed: Mapping[str, Sequence[DiffRow]]) -> tuple[str, DiffRow] | None:
    """The changed line that is named last in the failure's trace."""
    for path, line in reversed(re.findall(r"([\w./-]+):(\d+)", f"{failure.traceback}\n{failure.message}")):
        for known, rows in changed.items():
            if is_test(known):
                continue
            if known == path or known.endswith(f"/{path}") or path.endswith(f"/{known}"):
                found = next((row for row in rows if row.mark == "+" and row.line == int(line)), None)
                if found is not None:
                    return known, found
    return None
