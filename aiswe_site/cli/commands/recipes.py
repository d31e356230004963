"""aiswe recipes: what projects can start from."""

from __future__ import annotations

from typing import Any

import click

from aiswe_site.cli import documents
from aiswe_site.terminal import output


@click.group()
def command() -> None:
    """List and show recipes: skeleton, rules and hints that a project starts from."""


@command.command(name="list")
@output.json_option
def index() -> None:
    """List the recipes that come with the product. A folder or a git address can be used as well."""
    from agents.recipes.recipe import recipes

    found = [{"name": one.name, "title": one.title, "team": one.team, "summary": one.summary} for one in recipes()]
    columns: dict[str, output.Column] = {"Recipe": "name", "What it makes": "summary"}
    output.answer(found, lambda: output.records(found, columns))


@command.command()
@click.argument("recipe")
@output.json_option
def show(recipe: str) -> None:
    """Show RECIPE, a name, a folder or a git address: its files, its rules and its origin. Nothing of it is run."""
    from aiswe_site.startup import django

    django.start(migrate=False)  # git addresses need the settings for hosts and credentials
    found = documents.recipe(recipe)
    assert found is not None  # noqa: S101  documents.recipe() refuses what it cannot find
    document: dict[str, Any] = {
        **found.to_json(),
        "summary": found.summary,
        "languages": list(found.languages),
        "house_rules": found.house_rules,
        "files": list(found.skeleton),
    }

    def people() -> None:
        output.say(f"{found.title} ({found.name}): {found.summary}")
        facts = {"from": found.source, "commit": found.commit, "hash": found.hash, "team": found.team}
        facts |= {"languages": ", ".join(found.languages), "packages": ", ".join(found.packages), "start": found.start}
        output.pairs({name: value for name, value in facts.items() if value})
        for title, text in (("Files", "\n".join(found.skeleton)), ("Rules", found.house_rules), ("Plan", found.plan)):
            output.say(f"\n{title}\n{text}" if text else "")
        for persona, text in found.prompts.items():
            output.say(f"\nFor the {persona}\n{text}")

    output.answer(document, people)
