"""A question that waits for a person, as data and as people read it."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from aiswe_site.terminal import output
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Approval

FIELDS = (
    "approval=pk kind project=project.slug run=run_id task=task.key title subject status why on_yes on_no payload"
    " reason decided_by requested_at decided_at"
)
COLUMNS: dict[str, output.Column] = {
    "ID": "approval",
    "Kind": "kind",
    "Project": "project",
    "Task": lambda row: row["task"] or "–",
    "Question": "title",
}


def document_of(approval: Approval) -> dict[str, Any]:
    """An approval as data."""
    found = fields(approval, FIELDS)
    return {**found, "decided_by": approval.decided_by.get_username() if approval.decided_by else None}


def say(approval: Approval) -> None:
    """The question as a person reads it."""
    say_row(document_of(approval), approval.project.name, approval.get_kind_display().lower())


def say_row(row: dict[str, Any], project: str, kind: str) -> None:
    """The same from its data."""
    place = " · ".join(part for part in (project, f"run {row['run']}" if row["run"] else "", row["task"]) if part)
    output.say(f"{row['title']}\n{place} · {kind}")
    if row["why"]:
        output.say(f"\n{row['why']}\n")
    if row["on_yes"]:
        output.say(f"yes: {row['on_yes']}")
    if row["on_no"]:
        output.say(f"no:  {row['on_no']}")


def say_whole(row: dict[str, Any], project: str, kind: str, status: str) -> None:
    """A question with everything it is about, and its answer if there is one."""
    say_row(row, project, kind)
    for line in details(row):
        output.say(line)
    if row["status"] == "pending":
        output.say(f"\nAnswer: aiswe approvals answer {row['approval']} yes|no [--reason TEXT]")
    else:
        by = f" by {row['decided_by']}" if row["decided_by"] else ""
        output.say(f"\n{status}{by}" + (f": {row['reason']}" if row["reason"] else ""))


def details(row: dict[str, Any]) -> Iterator[str]:
    """What the question is about, beyond its words: changed tests as differences, lists by line."""
    for name, value in row["payload"].items():
        if name == "reasons" and all(str(reason) in row["why"] for reason in value):
            continue
        if name == "changes":
            for one in value:
                yield f"\n{one['path']}: {one['test']}"
                pair = (one["old"].splitlines(), one["new"].splitlines())
                yield from list(unified_diff(*pair, n=2, lineterm=""))[2:]
        elif isinstance(value, list):
            yield f"  {name}:"
            yield from (f"    {one}" for one in value)
        elif isinstance(value, dict):
            yield f"  {name}:"
            yield from (f"    {key}: {_in_words(one)}" for key, one in value.items())
        else:
            yield f"  {name}: {value}"


def _in_words(value: Any) -> str:
    """Nested data on one line, without what is empty."""
    if isinstance(value, dict):
        return ", ".join(
            f"{key.replace('_', ' ')} {_in_words(one)}" for key, one in value.items() if one not in ("", [])
        )
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def say_all(rows: list[dict[str, Any]], *, everything: bool) -> None:
    """Questions as a table; with `everything` also what became of them."""
    columns = COLUMNS | ({"Status": "status"} if everything else {})
    output.records(rows, columns, nothing="Nothing waits for an answer.")
