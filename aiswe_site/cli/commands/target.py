"""aiswe target: places that a project is deployed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Project, Target

_OPTIONS = (
    click.option("--command", "start", default=None, help="How it is started; found in its files by default."),
    click.option("--health", default=None, help="A path that must succeed, such as /health."),
    click.option("--variable", "variables", multiple=True, metavar="NAME=VALUE", help="May be repeated."),
    click.option("--image", default=None, help="For Docker and Kubernetes; {commit} stands for the commit."),
    click.option("--namespace", default=None, help="Of the Kubernetes cluster."),
    click.option("--kubeconfig", default=None, help="A file of this machine."),
    click.option("--context", default=None, help="In that file."),
)


def with_options(function: Any) -> Any:
    """The options of how a project is started on a target."""
    for each in reversed(_OPTIONS):
        function = each(function)
    return function


@click.group()
def command() -> None:
    """Places that a project is deployed to."""


def _row(target: Target) -> dict[str, Any]:
    live = target.live
    found = fields(target, "name kind production=is_production watched follows options")
    return found | {"live": live.commit if live else None, "number": live.number if live else None}


@command.command("list")
@click.argument("project", type=arguments.named_project)
@output.json_option
def list_(project: Project) -> int:
    """List the targets of PROJECT and what is live on each."""
    rows = [_row(target) for target in project.targets.select_related("live")]
    columns: dict[str, output.Column] = {"Name": "name", "Kind": "kind", "Live": "live"}
    hint = f"`aiswe deploy {project.slug}` makes one in a sandbox."
    return output.answer(rows, lambda: output.records(rows, columns, nothing=hint))


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("name")
@click.option("--kind", type=click.Choice(["sandbox", "compose", "kubernetes"]), default="sandbox", show_default=True)
@click.option("--production", is_flag=True, help="Each deployment takes a person's yes.")
@with_options
@arguments.as_option
@output.json_option
def add(project: Project, name: str, kind: str, production: bool, user: str, **told: Any) -> int:
    """Add a target called NAME to PROJECT."""
    from projects.services.operations import targets

    by = acting_user(user)
    made = targets.add_target(project, name=name, kind=kind, by=by, options=_options(told), production=production)
    return output.answer(_row(made), f"{made.name} was added. `aiswe deploy {project.slug} {name}` deploys to it.")


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("name")
@click.option("--watched/--not-watched", default=None, help="Whether the operations agent answers incidents.")
@click.option("--follows/--does-not-follow", default=None, help="Whether what a build merges is deployed.")
@with_options
@arguments.as_option
@output.json_option
def edit(project: Project, name: str, watched: bool | None, follows: bool | None, user: str, **told: Any) -> int:
    """Change how PROJECT is started and watched on NAME; what is not named stays."""
    from projects.services.operations import targets

    target = _named(project, name)
    changes: dict[str, Any] = {"watched": watched, "follows": follows}
    if options := _options(told):
        changes["options"] = {**target.options, **options}
    changed = {key: value for key, value in changes.items() if value is not None}
    if not changed:
        raise WrongUse("Nothing to change was named.", "`aiswe target edit --help` lists what can be.")
    row = targets.edit_target(target, by=acting_user(user), **changed)
    return output.answer(_row(row), "Kept. It holds from the next deployment on.")


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("name")
@arguments.as_option
@output.json_option
def remove(project: Project, name: str, user: str) -> int:
    """Forget the target NAME of PROJECT, on which nothing runs."""
    from projects.services.operations import targets

    targets.remove_target(_named(project, name), by=acting_user(user))
    return output.answer({"removed": name}, f"{name} is forgotten.")


def _named(project: Project, name: str) -> Target:
    found = project.targets.filter(name=name).first()
    if found is None:
        raise WrongUse(f"{project.slug} has no target {name!r}.", f"`aiswe target list {project.slug}` lists them.")
    return found


def _options(told: dict[str, Any]) -> dict[str, Any]:
    variables = [one.partition("=") for one in told.pop("variables")]
    if wrong := next((name for name, equals, _ in variables if not equals), None):
        raise WrongUse(f"{wrong!r} is not NAME=VALUE.", "For example: --variable MODE=plain")
    found = {("command" if name == "start" else name): value for name, value in told.items() if value is not None}
    return found | ({"environment": {name: value for name, _, value in variables}} if variables else {})
