"""Django for commands that need the database."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import output
from aiswe_site.cli.problems import WrongUse
from aiswe_site.startup.home import Home, wake_worker

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from projects.models import Project

OPERATOR = "operator"
as_option: Callable[..., Any] = click.option(
    "--as", "user", default="", metavar="USER", help="Act as this user; the first superuser, else operator, by default."
)
project_option: Callable[..., Any] = click.option(
    "--project", "slug", default="", metavar="PROJECT", help="Only of this project (its short name)."
)


def start(*, migrate: bool = True) -> None:
    """Load Django and bring the database up to date."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aiswe_site.settings")
    import django

    django.setup()
    if migrate:
        from aiswe_site.startup.migrating import migrate_in_turn

        migrate_in_turn()


def acting_user(name: str) -> User:
    """The user a command acts as: the named one, else the first superuser, else a new "operator".

    Whoever may run the command owns the database file already, so this gives nobody a right they lacked. The operator
    has no password: nobody can sign in as it.
    """
    from django.contrib.auth import get_user_model

    users = get_user_model().objects
    if name:
        found = users.filter(username=name).first()
        if found is None:
            raise WrongUse(f"There is no user {name!r}.", "Leave out --as, or name a user of this installation.")
        return found
    first = users.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if first is not None:
        return first
    user, made = users.get_or_create(username=OPERATOR)
    if made:
        user.set_unusable_password()
        user.save()
    return user


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
    start()
    return project(slug)


def numbered(model: str, word: str, hint: str = "`aiswe history` lists them.") -> Callable[[str], Any]:
    """The type of an argument that is the number of a row: the command gets the row, and Django is started."""

    def find(text: str) -> Any:
        if not text.isdecimal():
            raise click.BadParameter(f"{text!r} is not a valid integer.")
        start()
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
