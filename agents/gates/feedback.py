"""What the coder is told: what to do first, then where and why. Short, because it goes into a small model's window."""

from __future__ import annotations

from agents.events.effects import GateJudged
from agents.gates.base import GateFinding, GateReport, Severity

_MOST = 12


def feedback_text(report: GateReport, *, limit: int = 4_000) -> str:
    """Put the report into words for the coder, at most `limit` characters; empty when there is nothing to do."""
    serious = [finding for finding in report.findings if finding.severity >= Severity.MEDIUM]
    if report.passed and not serious:
        return ""
    lines = ["Change the code so that these findings disappear. Suppressing comments and configuration have no effect."]
    groups: dict[tuple[str, str], list[GateFinding]] = {}
    for finding in serious:
        groups.setdefault((finding.remediation, finding.message), []).append(finding)
    for number, ((remediation, message), group) in enumerate(list(groups.items())[:_MOST], 1):
        places = ", ".join(dict.fromkeys(f"{f.path}:{f.line}" for f in group[:5]))
        more = f" and {len(group) - 5} more" if len(group) > 5 else ""
        worst = max(f.severity for f in group).name
        lines.append(f"{number}. {remediation}\n   at {places}{more} ({worst}, {group[0].rule}: {message})")
    if len(groups) > _MOST:
        lines.append(f"… and {len(groups) - _MOST} more kinds of findings.")
    lines += [f"- {tool.name} {tool.problem}" for tool in report.tools.values() if tool.problem]
    text = "\n".join(lines)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def gate_judged(report: GateReport) -> GateJudged:
    """The verdict as an event."""
    reason = report.reasons[0] if report.reasons else "no verdict"
    return GateJudged(
        summary="The gates pass" if report.passed else f"Blocked: {reason}",
        outcome="ok" if report.passed else "fail",
        verdict=report.verdict,
        reasons=list(report.reasons)[:20],
        tools=report.to_json()["tools"],
    )
