"""aiswe packages: may this be used, and what is known about it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output

if TYPE_CHECKING:
    from sandbox.packages import PackageSupply


@click.group()
def command() -> None:
    """Ask whether packages may be used, and what their index knows about them."""


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--offline", is_flag=True, help="Check the names only; do not query an index.")
@click.option("--project", metavar="SLUG", help="Include packages added and approved for this project.")
@output.json_option
def check(names: tuple[str, ...], offline: bool, project: str | None) -> int:
    """Judge NAME, with versions or without (`requests>=2`, `npm:express@^4`).

    Exit code 1 when one of them may not be used without asking a person.
    """
    supply = _supply(project)
    rows = [_judged(supply, name, offline) for name in names]

    def people() -> None:
        table = [
            (row["package"], row["verdict"].replace("_", " "), row["reason"], _words(row["facts"])) for row in rows
        ]
        output.table(("Package", "Verdict", "Why", "What the index knows"), table)

    return output.answer(rows, people, ok=all(row["verdict"] == "allowed" for row in rows))


def _supply(project: str | None) -> PackageSupply:
    django.start(migrate=project is not None)
    from django.conf import settings

    from projects.storage.packages import allowlist_files, supply_of
    from sandbox.packages import PackageSupply

    if project is None:
        return PackageSupply(Path(settings.AISWE_HOME) / "packages", more=allowlist_files())
    return supply_of(arguments.project(project))


def _judged(supply: PackageSupply, name: str, offline: bool) -> dict[str, Any]:
    from sandbox.base import PackageRefused
    from sandbox.package_index.errors import IndexUnavailable, NoSuchPackage
    from sandbox.package_index.names import Judgement

    verdict = supply.check(name)
    row: dict[str, Any] = {
        "package": name,
        "ecosystem": verdict.ecosystem,
        "verdict": verdict.judgement.value,
        "reason": verdict.reason,
        "look_alikes": list(verdict.look_alikes),
        "facts": None,
    }
    if offline or verdict.judgement is Judgement.REFUSED:
        return row
    try:
        row["facts"] = supply.look_up(name).to_json()
    except NoSuchPackage as gone:
        row |= {"verdict": "no_such_package", "reason": gone.reason}
    except IndexUnavailable as away:
        row["facts"] = {"problem": str(away)}
    except PackageRefused as refused:
        row |= {"verdict": "refused", "reason": refused.reason}
    return row


def _words(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "not asked"
    if "problem" in facts:
        return str(facts["problem"])
    since = f"since {facts['first']}" if facts["first"] else "of unknown age"
    return " ".join([f"{facts['releases']} releases {since}.", *facts["warnings"]])
