"""aiswe project …: list, set up, archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Project

WORDS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
SWITCHES = ("updates_base", "sign_off")
COMMITS = ("author_name", "author_email", "sign_off", "signing_key")  # together they are `commit_settings`
PLAIN = ("name", "autonomy", "model", "sandbox_backend", "house_rules", "base_branch", "updates_base", "coder_agent")


@click.command("list")
@output.json_option
def list_() -> None:
    """List the projects, archived ones last."""
    django.start()
    from django.db.models import Count

    from projects.models import Project

    rows = sorted(
        Project.objects.annotate(runs_made=Count("runs")), key=lambda row: (row.archived_at is not None, -row.pk)
    )
    names = "project=slug name autonomy model=model_name source runs=runs_made created_at archived_at"
    found = [fields(row, names) for row in rows]
    say_all(found)


def say_all(rows: list[dict[str, Any]]) -> int:
    """Answer with these projects."""
    columns: dict[str, output.Column] = {
        "Project": "project",
        "Name": "name",
        "Autonomy": "autonomy",
        "Model": "model",
        "Runs": "runs",
        "Archived": lambda row: str(row["archived_at"] or "")[:10],
    }
    nothing = "No projects yet. `aiswe project new` makes one."
    return output.answer(rows, lambda: output.records(rows, columns, nothing=nothing))


def _settings_of(project: Project) -> dict[str, Any]:
    commits = {name: project.commit_settings.get(name, False if name in SWITCHES else "") for name in COMMITS}
    return {**{name: getattr(project, name) for name in PLAIN}, **commits}


@click.command()
@click.argument("project", type=arguments.named_project)
@click.argument("changes", nargs=-1, metavar="[NAME=VALUE]...")
@arguments.as_option
@output.json_option
def settings(project: Project, changes: tuple[str, ...], user: str) -> None:
    """Show the settings of PROJECT (its short name), or change them: `settings todo autonomy=plan_only sign_off=yes`.

    Budgets are changed by `aiswe project limits`.
    """
    known = (*PLAIN, *COMMITS)
    wanted: dict[str, Any] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or name not in known:
            raise WrongUse(f"{change!r} changes no setting.", f"NAME=VALUE, with one of {', '.join(known)}.")
        if name in SWITCHES and value.lower() not in WORDS:
            raise WrongUse(f"{name} is {value!r}; it must be yes or no.")
        wanted[name] = WORDS[value.lower()] if name in SWITCHES else value
    from projects.errors import BadInput
    from projects.services.planning import projects

    if wanted:
        commits = {name: wanted.pop(name) for name in COMMITS if name in wanted}
        if commits:
            wanted["commit_settings"] = {**project.commit_settings, **commits}
        try:
            projects.update_settings(project, by=acting_user(user), **wanted)
        except BadInput as wrong:
            raise WrongUse(str(wrong), f"`aiswe project settings {project.slug}` shows them.") from wrong
    now = _settings_of(project)
    people = {name: {True: "yes", False: "no"}.get(value, value) for name, value in now.items()}
    output.answer({"project": project.slug, "settings": now}, lambda: output.pairs(people))


def _archiving(verb: str, about: str) -> click.Command:
    @click.command(verb, help=about)
    @click.argument("project", type=arguments.named_project)
    @arguments.as_option
    @output.json_option
    def move(project: Project, user: str) -> None:
        from projects.services.planning import projects

        projects.set_archived(project, verb == "archive", by=acting_user(user))
        output.answer(fields(project, "project=slug archived_at"), f"{project.slug} is {verb}d.")

    return move


@click.command()
@click.argument("project", type=arguments.named_project)
@click.option("--name", "named", default="", metavar="PROJECT", help="The short name once more, instead of typing it.")
@click.option(
    "--backup", type=click.Path(dir_okay=False, path_type=Path), help="First back everything up to this file."
)
@arguments.as_option
@output.json_option
def delete(project: Project, named: str, backup: Path | None, user: str) -> None:
    """Delete PROJECT whole: its rows, repository and audit trails. Nothing brings it back but a backup.

    That it was deleted, by whom, and where its trails ended stays in the site's own trail. For administrators.
    """
    from projects.services.installation.backups import write_backup
    from projects.services.planning.deleting import delete_project

    slug, by = project.slug, acting_user(user)
    if not named and not output.wants_json():
        output.note(f"This deletes {project.name} with all its runs. `aiswe backup FILE` keeps a copy of everything.")
        named = click.prompt("Type its short name to delete it", default="", show_default=False, err=True)
    made = write_backup(backup) if backup and named == slug else {}
    kept = delete_project(project, by=by, named=named)
    runs = [end["run"] for end in kept.detail["runs"]]
    output.answer(
        {"project": slug, "runs": runs, "backup": made.get("file", "")},
        f"{slug} is deleted, with {len(runs)} runs; event {kept.seq} of the site's trail keeps that.",
    )


@click.command("set-aside")
@click.argument("project", type=arguments.named_project)
@click.option("--from", "backup", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A backup to use.")
@arguments.as_option
@output.json_option
def set_aside(project: Project, backup: Path | None, user: str) -> None:
    """Rename the damaged repository of PROJECT, and with --from put the one of a backup in its place.

    Nothing is deleted, and a repository that can be read is left alone. Merges that the backup lacks are named by
    `aiswe audit verify`; work that waited for the repository continues by itself.
    """
    from projects.services.delivery.replacing import replace_repository
    from projects.storage.paths import repository_path

    aside = replace_repository(project, by=acting_user(user), backup=backup)
    place = repository_path(project)
    words = f"The damaged repository is now {aside}." if aside else "There was no repository."
    words += f"\n{place} is the one of {backup}." if backup else f"\nNext: put a bare repository at {place}."
    output.answer({"project": project.slug, "aside": str(aside or ""), "repository": str(place)}, words)
    arguments.tell_worker()


COMMANDS = (
    list_,
    set_aside,
    delete,
    settings,
    _archiving("archive", "Set PROJECT aside: it stays as it is, starts no runs and is listed apart."),
    _archiving("unarchive", "Take PROJECT up again."),
)
