"""The report, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from __PACKAGE__.reading import Row


def report_of(rows: Iterable[tuple[int, Row]]) -> str:
    """What the rows tell."""
    count, columns = 0, dict[str, None]()
    for _, row in rows:
        count += 1
        columns |= dict.fromkeys(row)
    lines = ["# __NAME__", "", f"Rows: {count}", "", f"Columns: {', '.join(filter(None, columns)) or 'none'}"]
    return "\n".join(lines) + "\n"
