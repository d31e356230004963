"""A new project with what it starts from: its rows and its first commit, both or neither."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from agents.recipes.recipe import Recipe, RecipeError, load, recipes
from agents.workspace.repository import FirstCommit
from projects.errors import BadInput
from projects.models import Project
from projects.services.audit.sitelog import note
from projects.services.planning.projects import create_project
from projects.services.repositories.importing import remote_access
from projects.storage.paths import guide_of, repository_of, repository_path


def recipe_named(text: str) -> Recipe:
    """The recipe of a name, in a folder or at a git address; for people who may read files of this machine.

    Raises BadInput with the reason.
    """
    try:
        return load(text, remote_access())
    except RecipeError as refused:
        raise BadInput(str(refused)) from None


def built_in_recipes() -> list[Recipe]:
    """The recipes that come with the product: all that a page offers, which must not read this machine's folders."""
    return recipes()


@contextmanager
def started_project(name: str, *, by: User, recipe: Recipe | None = None, **settings: Any) -> Iterator[Project]:
    """A new project to put its first document into; nothing of it stays when that fails.

    `settings` are those of create_project(). The recipe's rules are put before the project's own, and its skeleton is
    the first commit. Raises NotAllowed and BadInput.
    """
    made: Project | None = None
    try:
        with transaction.atomic():
            recipe = recipe.named(name) if recipe else None
            rules = [recipe.house_rules if recipe else "", str(settings.pop("house_rules", ""))]
            rules = [text.strip() for text in rules if text.strip()]
            project = create_project(name, by=by, house_rules="\n\n".join(rules), **settings)
            if recipe is not None:
                _check_place(project)
                made = project
                _start_from(project, recipe, by)
            yield project
    except BaseException:
        if made is not None:  # the folder was not there before: _check_place()
            shutil.rmtree(repository_path(made), ignore_errors=True)
        raise


def _check_place(project: Project) -> None:
    place = repository_path(project)
    if place.exists():
        raise BadInput(f"There is a repository at {place} already: move it away, or choose another name.")


def _start_from(project: Project, recipe: Recipe, by: User) -> None:
    """Keep what the recipe says, and make its skeleton the first commit."""
    project.recipe = recipe.to_json()
    project.save(update_fields=["recipe"])
    told = {name: project.recipe[name] for name in ("name", "source", "commit", "hash")}
    note(by, "project.started", project.slug, told)
    about = f"{recipe.title}: {recipe.summary}"
    files = {**guide_of(project, recipe.skeleton), **recipe.skeleton}  # a recipe's own guide stays
    first = FirstCommit(files, about, recipe.trailers())
    repository_of(project).ensure(project.name, first=first)
