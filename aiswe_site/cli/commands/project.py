"""aiswe project: a project from a document."""

from __future__ import annotations

from pathlib import Path

import click

from aiswe_site.cli import django, options, output


@click.group()
def command() -> None:
    """Make a project from a requirements document."""


@command.command()
@click.argument("name")
@click.option("--prd", "file", required=True, type=click.Path(exists=True, dir_okay=False), help="Text or Markdown.")
@click.option("--house-rules", type=click.Path(exists=True, dir_okay=False), help="Patterns every task must obey.")
@click.option("--autonomy", default="plan_gates", show_default=True, help="plan_only, plan_gates, gates_only or none.")
@click.option("--model", default="", help="A model of the server; the configured one by default.")
@options.as_option
@output.json_option
def new(name: str, file: str, house_rules: str | None, autonomy: str, model: str, user: str, as_json: bool) -> None:
    """Make project NAME and have its document read: requirements first, then a plan to approve."""
    from agents.documents import read_path

    document = read_path(file)  # refused before anything is made
    rules = read_path(house_rules).text if house_rules else ""
    django.start()
    from django.db import transaction

    from projects.services import documents, projects, runs

    by = django.acting_user(user)
    with transaction.atomic():
        project = projects.create_project(name, by=by, autonomy=autonomy, house_rules=rules, model=model)
        stored = documents.upload_document(project, Path(file).read_bytes(), document.name, by=by)
        run = runs.start_planning(stored, by=by)
    result = {"project": project.pk, "slug": project.slug, "document": stored.pk, "run": run.pk}

    def people() -> None:
        output.say(f"Project {project.slug} made; run {run.pk} reads {document.name} and plans.")
        output.say(f"Next: aiswe run watch {run.pk}")

    output.answer(result, as_json=as_json, people=people)
    options.tell_worker()
