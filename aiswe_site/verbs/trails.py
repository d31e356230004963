"""Audit trails compared with what is stored outside the database: what was found, as data and in lines."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from projects.engine.commits import commit_anchors
from projects.models import Run
from projects.services.audit.chain import ChainReport, deleted_projects, missing_runs, verify_chain, verify_site
from projects.services.audit.checkpoints import Heads, trail_of
from projects.services.audit.decisions import Difference, differences, snapshot


@dataclass(frozen=True)
class TrailCheck:
    """What verifying found. The document says `ok` of the chain; `ok` here is of everything that was compared."""

    ok: bool
    document: dict[str, Any]
    lines: list[str]

    @property
    def problems(self) -> list[str]:
        """The lines that say what is wrong."""
        return [line.removeprefix("✕ ") for line in self.lines if line.startswith("✕")]


def check_run(run: int, heads: Heads, head: str | None = None) -> TrailCheck:
    """Verify the trail of one run; `head` is a hash that must be in its chain."""
    with snapshot():
        report, differ = _report(run, heads, head), differences(run)
    document = {"run": run, **asdict(report), "decisions": [asdict(each) for each in differ]}
    lines = [*_words(f"run {run}", report), *_differ(differ), *_problem(heads)]
    return TrailCheck(report.ok and heads.ok and not differ, document, lines)


def check_all(heads: Heads) -> TrailCheck:
    """Verify the trail of every run and of the site."""
    with snapshot():
        reports = {run: _report(run, heads) for run in Run.objects.order_by("pk").values_list("pk", flat=True)}
        site, gone, differ, deleted = verify_site(heads), missing_runs(heads), differences(), list(deleted_projects())
    ok = heads.ok and site.ok and not gone and not differ and all(report.ok for report in reports.values())
    document = {
        "ok": ok,
        "runs": [{"run": run, **asdict(report)} for run, report in reports.items()],
        "site": asdict(site),
        "missing": gone,
        "deleted": [{"project": row.subject, "by": row.actor, "at": row.at, **row.detail} for row in deleted],
        "decisions": [asdict(each) for each in differ],
        "heads": heads_document(heads),
    }
    lines = [line for run, report in reports.items() for line in _words(f"run {run}", report)]
    lines += _words("the site's trail", site)
    for row in deleted:
        runs = ", ".join(str(end["run"]) for end in row.detail["runs"]) or "none"
        lines.append(
            f"– project {row.subject} was deleted by {row.actor} on {row.at:%Y-%m-%d %H:%M} UTC; runs: {runs}."
        )
    lines += [
        f"✕ {trail.replace(':', ' ')} was recorded outside the database and is missing from it." for trail in gone
    ]
    return TrailCheck(ok, document, [*lines, *_differ(differ), *_problem(heads)])


def heads_document(heads: Heads) -> dict[str, Any]:
    """The file of heads as data."""
    return {"path": str(heads.path), "lines": heads.lines, "ok": heads.ok, "problem": heads.problem}


def _report(run: int, heads: Heads, head: str | None = None) -> ChainReport:
    anchors, problem = commit_anchors(Run.objects.select_related("project").get(pk=run))
    report = verify_chain(run, head=head, anchors=[*heads.anchors.get(trail_of(run), ()), *anchors])
    return replace(report, ok=False, problem=f"{report.problem} {problem}".strip()) if problem else report


def _words(name: str, report: ChainReport) -> list[str]:
    if report.ok:
        words = (
            f"✓ {name}: {report.events} events, nothing changed, {report.anchors} places noted elsewhere agree. "
            f"Head {report.head_hash or '(empty)'}"
        )
    else:
        words = f"✕ {name}: {report.problem} {report.events} events before it are verified."
    fates = ("no outcome is on record yet", "its outcome is unknown; it was started again later")
    left = report.intents[:20]
    return [words, *(f"  ! event {each.seq} announced “{each.summary}”: {fates[each.again]}." for each in left)]


def _differ(differ: list[Difference]) -> list[str]:
    return [f"✕ {each.row}: {each.problem}." for each in differ]


def _problem(heads: Heads) -> list[str]:
    return [f"✕ {heads.problem}"] if heads.problem else []
