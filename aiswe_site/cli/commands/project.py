"""aiswe project: a project from a document or from code, and what was built of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments, documents
from aiswe_site.cli.commands import administration, ask, delivery, importing
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from projects.models import Project


@click.group()
def command() -> None:
    """Create projects from documents or from code, set them up, archive them, and take out what was built."""


for _one in (importing.take_in, importing.measure, ask.index, *administration.COMMANDS, *delivery.COMMANDS):
    command.add_command(_one)


@command.command()
@click.argument("name")
@click.option("--prd", "file", type=documents.GIVEN, help=documents.WHAT)
@click.option("--ticket", default="", metavar="URL", help=documents.TICKET)
@click.option("--house-rules", type=click.Path(exists=True, dir_okay=False), help="Patterns every task must obey.")
@click.option("--recipe", "started_from", default="", metavar="RECIPE", help=documents.RECIPE)
@click.option("--scaffold", is_flag=True, help="Start from the architecture diagram in the document.")
@click.option("--autonomy", default="plan_gates", show_default=True, help="plan_only, plan_gates, gates_only or none.")
@click.option("--model", default="", help="A model of the server; the configured one by default.")
@arguments.as_option
@output.json_option
def new(
    name: str,
    file: str | None,
    ticket: str,
    house_rules: str | None,
    started_from: str,
    scaffold: bool,
    autonomy: str,
    model: str,
    user: str,
) -> None:
    """Create project NAME from its document or a ticket: requirements first, then a plan to approve."""
    from agents.requirements.documents import read_path

    documents.check_one_given(file, ticket)
    if scaffold and started_from:
        raise WrongUse("A project starts from a recipe or from a diagram.", "Leave out --recipe or --scaffold.")
    if scaffold and not file:
        raise WrongUse("A diagram is read from a document.", "Give --prd, or leave out --scaffold.")
    read = documents.read_given(file) if file else []  # refused before anything is made
    drawn = documents.read_architecture(file, 0) if scaffold and file else None
    rules = read_path(house_rules).text if house_rules else ""
    django.start()
    from projects.services.repositories.recipes import started_project

    by = acting_user(user)
    found = read or documents.read_ticket_or_file(file, ticket, by)
    recipe = documents.recipe(started_from)
    if drawn is not None:
        from agents.recipes.names import Names
        from agents.scaffold.start import recipe_of

        recipe = recipe_of(drawn[1], Names.of(name).slug, drawn[0])
    settings = {"autonomy": autonomy, "house_rules": rules, "model": model}
    with started_project(name, by=by, recipe=recipe, **settings) as project:
        result, words = documents.store_and_plan(project, found, by)
    result["recipe"] = project.recipe.get("name", "")
    if drawn is not None:
        result["questions"] = list(drawn[1].questions)
        words = " ".join([words, *(f"\nOpen: {one}" for one in drawn[1].questions)])
    output.answer(result, f"Project {project.slug} created; {words}\nNext: aiswe run watch {result['run']}")
    arguments.tell_worker()


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("changes", nargs=-1, metavar="[LIMIT=NUMBER]...")
@arguments.as_option
@output.json_option
def limits(project: Project, changes: tuple[str, ...], user: str) -> None:
    """Show the budgets of PROJECT (its short name), or change them: `limits todo task_tokens=800000 max_retries=8`.

    Work that stopped at a limit continues when its task is retried or its run is resumed.
    """
    wanted: dict[str, int] = {}
    for change in changes:
        name, _, number = change.partition("=")
        if not number.isdecimal():
            raise WrongUse(f"{change!r} changes no limit.", "Give the limit and an integer: task_tokens=800000")
        wanted[name] = int(number)
    from projects.errors import BadInput
    from projects.services.planning import projects

    if wanted:
        try:
            projects.update_settings(project, by=acting_user(user), limits=wanted)
        except BadInput as wrong:
            raise WrongUse(str(wrong), f"`aiswe project limits {project.slug}` shows them.") from wrong

    def people() -> None:
        output.table(
            ("Limit", "Value", "Possible", "What it is"),
            [
                (name, f"{project.limits[name]:,}", f"{spec.low:,} to {spec.high:,}", spec.label)
                for name, spec in projects.LIMITS.items()
            ],
        )

    output.answer({"project": project.pk, "slug": project.slug, "limits": project.limits}, people)
