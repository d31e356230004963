"""Write docs/reference/events.md from the vocabulary: `python -m agents.events.document` (`--check` compares)."""

from __future__ import annotations

import sys
from pathlib import Path

from agents.events.vocabulary import schema

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
BEGIN, END = "<!-- kinds: begin -->\n", "<!-- kinds: end -->\n"


def table() -> str:
    """The kinds as a Markdown table."""
    rows = ["| type | meaning | payload |", "|---|---|---|"]
    for kind in schema():
        payload = "<br>".join(f"`{name}` {type_}" for name, type_ in kind["payload"].items())
        rows.append(f"| `{kind['type']}` | {kind['meaning']} | {payload} |".replace("  ", " "))
    return "\n".join(rows) + "\n"


def written(page: str) -> str:
    """The page with its table as it should be."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def main(arguments: list[str]) -> int:
    """Write the page; with --check return 1 when it is not current."""
    now = PAGE.read_text("utf-8")
    if "--check" in arguments:
        return int(now != written(now))
    PAGE.write_text(written(now), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
