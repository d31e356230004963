"""What a pull request says of a run. What people, documents or models wrote is shown as it is, and does nothing."""

from __future__ import annotations

import re
import unicodedata

from agents.secrets.redaction import redact
from projects.models import Finding, Requirement, Run
from projects.services.delivery import state
from projects.services.delivery.fix_report import request_section

BEGIN, END = "<!-- aiswe: from here on renewed -->", "<!-- aiswe: to here -->"
MOST_REQUIREMENTS, MOST_FINDINGS = 60, 40
_GAP = "\N{ZERO WIDTH SPACE}"
# What forges make a link, a mention or a command of: @name, #1, !2, GH-3, owner/name#4, an address, a label.
_ACTIVE = re.compile(r"([@#!~%$&](?=\S))|(\bGH)(?=-\d)|(:)(?=//)|(\bwww)(?=\.)", re.IGNORECASE)


def quoted(text: str, limit: int = 300) -> str:
    """Somebody else's words as a span of code: one line that mentions nobody, closes nothing and is no markup.

    A space without width parts what a forge might act on even there.
    """
    line = apart(text, limit)
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if line else "(nothing)"


def apart(text: str, limit: int) -> str:
    """Somebody else's words on one line, in which no forge finds a mention or a reference."""
    line = " ".join("".join(_shown(one) for one in str(redact(text))).split())
    line = line if len(line) <= limit else f"{line[: limit - 1]}…"
    return _ACTIVE.sub(lambda found: found[0] + _GAP, line)


def _shown(character: str) -> str:
    """A character, unless it is one that cannot be seen or turns the writing around."""
    return character if unicodedata.category(character)[0] != "C" else " "


def title_of(run: Run) -> str:
    """The title of a run's pull request."""
    asked = [one.requirement for one in state.requirement_states(run.project, run)]
    own = [one for one in asked if one.document_id == run.document_id]
    if len(own) == 1:
        return apart(f"{own[0].key}: {own[0].text}", 100)
    name = run.document.filename if run.document else run.project.name
    return apart(f"{name}: {len(own)} requirements (run {run.pk})", 100)


def text_of(run: Run) -> str:
    """What was asked, what came of it, what tests and gates say, what it cost, and how to check that."""
    result = state.result(run)
    parts = [BEGIN, "## What was asked", *_asked(result)]
    if result.left_out:
        parts += ["Left out:", "\n".join(f"- {quoted(f'{one.key} {one.title}')}" for one in result.left_out)]
    if section := request_section(run, quoted):
        parts.append(section)
    parts += ["## Tests", tests_in_words(result), "## Findings of the gates", *_findings(run)]
    totals, minutes = result.totals, (result.took.total_seconds() / 60 if result.took else 0)
    took = f", {minutes:.0f} min from start to end" if result.took else ""
    spent = f"{totals['seconds'] / 60:.0f} min of model time"
    cost = f"{totals['tokens']:,} tokens in {totals['calls']:,} model calls, {spent}"
    parts += ["## Cost", f"{cost}{took}."]
    verify = f"aiswe audit verify {run.pk}" + (f" --head {run.head_hash}" if run.head_hash else "")
    parts += [
        "## How to check this",
        f"Written by AI SWE in run {run.pk}, commit `{result.commit}`. On that installation `{verify}` recomputes the"
        " trail of every step. Each merge has a signed attestation: `aiswe project clone` brings them,"
        " `aiswe audit verify-commit` checks one.",
        END,
    ]
    return "\n\n".join(parts)


def renewed(old: str, new: str) -> str:
    """A request's text with our part replaced; what people wrote around it stays, all of it when the part is gone."""
    before, begins, rest = old.partition(BEGIN)
    _, ends, after = rest.partition(END)
    return f"{before}{new}{after}" if begins and ends else old


def tests_in_words(result: state.RunResult) -> str:
    """What the tests said at the last merge."""
    if not result.tests:
        return "No tests ran."
    counts = {name: int(result.tests.get(name, 0) or 0) for name in ("passed", "failed", "errors", "skipped")}
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count or name in ("passed", "failed"))
    covered = f"; {result.coverage:.0f} % of branches are covered" if result.coverage is not None else ""
    return f"{said} at the last merge{covered}."


def _asked(result: state.RunResult) -> list[str]:
    rows = [f"- {_requirement(one.requirement)}: {one.state.replace('_', ' ')}" for one in result.asked]
    more = [f"- and {len(rows) - MOST_REQUIREMENTS} more"] if len(rows) > MOST_REQUIREMENTS else []
    return ["\n".join(rows[:MOST_REQUIREMENTS] + more)] if rows else ["This run has no requirements."]


def _requirement(one: Requirement) -> str:
    lines = f", lines {one.line_start}–{one.line_end}" if one.line_start else ""
    where = f"{quoted(one.document.filename, 80)} version {one.document.version}{lines}"
    return f"{quoted(one.author_key or one.key, 60)} ({where}): {quoted(one.text)}"


def _findings(run: Run) -> list[str]:
    every = list(Finding.objects.filter(task__run=run).select_related("decided_by"))
    there = [one for one in every if one.state != Finding.State.FIXED]
    rows = [
        f"- {one.severity} {quoted(f'{one.tool} {one.rule}', 200)} {_place(one)}: {_decision(one)}" for one in there
    ]
    more = [f"- and {len(rows) - MOST_FINDINGS} more"] if len(rows) > MOST_FINDINGS else []
    summary = f"{len(every)} found, {len(every) - len(there)} of them fixed."
    return [summary, *(["\n".join(rows[:MOST_FINDINGS] + more)] if rows else [])]


def _place(one: Finding) -> str:
    return quoted(f"{one.path}:{one.line}", 300)


def _decision(one: Finding) -> str:
    if one.blocks or not one.disposition:
        return "blocks, not decided" if one.blocks else "does not block"
    by = f" by {quoted(one.decided_by.get_username(), 80)}" if one.decided_by else ""
    why = f": {quoted(one.reason, 200)}" if one.reason else ""
    return f"{one.disposition.replace('_', ' ')}{by}{why}"
