"""What commands share: options, arguments that are rows of the database, and the worker that is told of new work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.startup import django
from aiswe_site.startup.home import Home, wake_worker
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from projects.models import Project

as_option: Callable[..., Any] = click.option(
    "--as", "user", default="", metavar="USER", help="Act as this user; the first superuser, else operator, by default."
)
project_option: Callable[..., Any] = click.option(
    "--project", "slug", default="", metavar="PROJECT", help="Only of this project (its short name)."
)


def row(model: Any, key: int, word: str, hint: str = "`aiswe history` lists them.") -> Any:
    """A row by its number, or a refusal that names it."""
    found = model.objects.filter(pk=key).first()
    if found is None:
        raise WrongUse(f"There is no {word} {key}.", hint)
    return found


def project(slug: str, hint: str = "`aiswe project list` lists them.") -> Project:
    """A project by its short name, or a refusal that names it."""
    from projects.models import Project

    found = Project.objects.filter(slug=slug).first()
    if found is None:
        raise WrongUse(f"There is no project {slug!r}.", hint)
    return found


def named_project(slug: str) -> Project:
    """The type of an argument that is a project's short name: the command gets the project, and Django is started."""
    django.start()
    return project(slug)


def numbered(model: str, word: str, hint: str = "`aiswe history` lists them.") -> Callable[[str], Any]:
    """The type of an argument that is the number of a row: the command gets the row, and Django is started."""

    def find(text: str) -> Any:
        if not text.isdecimal():
            raise click.BadParameter(f"{text!r} is not a valid integer.")
        django.start()
        from django.apps import apps

        return row(apps.get_model("projects", model), int(text), word, hint)

    return find


numbered_run = numbered("Run", "run")
numbered_plan = numbered("Plan", "plan", "`aiswe plan list` lists them.")


def tell_worker() -> bool:
    """Wake the running server, or say that none is there to do the work; whether one is."""
    if wake_worker(Home.from_environment()):
        return True
    output.note("No worker is running yet: start `aiswe up`.")
    return False
