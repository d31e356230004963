"""aiswe upgrade: a package of a project in another version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user

if TYPE_CHECKING:
    from projects.models import Project


@click.command()
@click.argument("project", type=arguments.named_project)
@click.argument("package")
@click.argument("version", default="")
@arguments.as_option
@output.json_option
def command(project: Project, package: str, version: str, user: str) -> int:
    """Have PACKAGE of PROJECT upgraded to VERSION, the newest by default.

    A resolver has to find a choice that fits first; then the change is planned, with what the package's own notes say.
    The tests decide whether it is merged.
    """
    from projects.engine.other_starts import upgrade

    run = upgrade(project, package, version, by=acting_user(user))
    words = f"Run {run.pk} plans it: aiswe plan show {project.slug}"
    return output.answer({"project": project.slug, "run": run.pk}, words)
