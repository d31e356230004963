"""aiswe doctor: what is there, what is missing."""

from __future__ import annotations

import click

from aiswe_site.cli import django, output


@click.command()
@output.json_option
def command() -> int:
    """Check what is needed and say how to get what is missing. Exit code 1 when something needed is missing."""
    django.start(migrate=False)  # a database that cannot be used is a finding, not the end
    from aiswe_site.doctor import checks

    found = checks()
    bad = [row for row in found if row["needed"] and row["ok"] is False]

    def people() -> None:
        for row in found:
            sign = {True: "✓", False: "✕" if row["needed"] else "!", None: "?"}[row["ok"]]
            output.say(f"{sign} {row['name']:<15} {row['detail']}")
            if row["hint"]:
                output.say(f"  {'':<15} → {row['hint']}")
            if row["blocks"]:
                output.say(f"  {'':<15}   until then blocked: {row['blocks']}")

    return output.answer({"ok": not bad, "checks": found}, people, ok=not bad)
