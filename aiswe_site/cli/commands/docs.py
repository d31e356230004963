"""aiswe docs: pages that name what is not there any more."""

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
@click.argument("since", metavar="COMMIT")
@arguments.as_option
@output.json_option
def command(project: Project, since: str, user: str) -> int:
    """Have pages of PROJECT rewritten that name functions, classes or options removed since COMMIT (a full hash)."""
    from projects.engine.other_starts import update_documentation

    run = update_documentation(project, since, by=acting_user(user))
    words = f"Run {run.pk} plans it: aiswe plan show {project.slug}"
    return output.answer({"project": project.slug, "run": run.pk}, words)
