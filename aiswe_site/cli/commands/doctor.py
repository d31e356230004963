"""aiswe doctor: what is there, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from aiswe_site.doctor.result import CheckResult


@click.command()
@click.option(
    "--bundle", type=click.Path(path_type=Path), metavar="FILE", help="Write a file for whoever helps, a zip."
)
@output.json_option
def command(bundle: Path | None) -> int:
    """Check what is needed and say how to get what is missing. Exit code 1 when something needed is missing."""
    django.start(migrate=False)  # a database that cannot be used is a finding, not the end
    from aiswe_site.doctor import checks

    found = checks()
    if bundle is not None:
        return _bundle(bundle, found)
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


def _bundle(place: Path, found: list[CheckResult]) -> int:
    from aiswe_site.doctor.bundle import write_bundle

    try:
        names = write_bundle(place, found)
    except FileExistsError:
        raise WrongUse(f"{place} is there already.", "Name another file; nothing is overwritten.") from None
    except OSError as error:
        raise WrongUse(f"{place} cannot be written: {error.strerror}.", "Name a file in a folder of yours.") from None
    words = (
        f"{place} holds {', '.join(names)}. Read it before you send it: logs may name projects, paths and addresses."
    )
    return output.answer({"file": str(place), "holds": names}, words)
