"""Write the tables of docs/reference/configuration.md from the settings and limits in the code."""

from __future__ import annotations

from pathlib import Path

from aiswe_site.configuration import limits_table, settings_table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "configuration.md"


def main() -> None:
    """Replace what is between the marks of each table."""
    text = PAGE.read_text()
    for name, table in (("settings", settings_table()), ("limits", limits_table())):
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if not end:
            raise SystemExit(f"{PAGE} has no marks for the table of {name}.")
        text = before + start + table + end + after
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
