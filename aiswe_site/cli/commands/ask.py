"""aiswe ask: where a project's code answers a question; and aiswe project index, which makes its vectors anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import Missing, WrongUse

if TYPE_CHECKING:
    from projects.engine.questions import FoundAnswer
    from projects.models import Project

SECONDS = 120.0  # for the vectors of a project that no server has indexed


@click.command()
@click.argument("project", type=arguments.named_project)
@click.argument("question")
@click.option("--no-model", is_flag=True, help="List the places in the search's own order; ask no model.")
@arguments.as_option
@output.json_option
def command(project: Project, question: str, no_model: bool, user: str) -> int:
    """Ask where in the code, documents and library documentation of PROJECT (its short name) something is done.

    The places are found by words and vectors. A model, if one answers, puts the best of sixty finds first and writes
    a short answer from the five that are shown. Exit code 1 when no place fits.
    """
    from projects.engine import questions
    from projects.errors import BadInput, NotFound

    by = acting_user(user)
    try:
        found = questions.search(project, question, seconds=SECONDS)
    except (BadInput, NotFound) as refused:
        raise WrongUse(str(refused)) from None
    if not no_model:
        questions.order(project, question, found, by=by)
        questions.answer(project, question, found, by=by)

    def people() -> None:
        rows = [(f"{row['path']}:{row['lines']}", row["symbol"], row["kind"]) for row in document["places"]]
        output.table(("Place", "Symbol", "Kind"), rows, nothing="No place fits the question.")
        if found.places:
            output.say(found.order)
        if found.answer:
            output.say(f"The model answers:\n{found.answer}")
        for words in found.notes:
            output.note(words)

    document = _document(found)
    return output.answer(document, people, ok=bool(found.places))


def _document(found: FoundAnswer) -> dict[str, Any]:
    places = [
        {
            "path": place.path,
            "lines": f"{place.line}-{place.end}",
            "symbol": place.symbol,
            "kind": place.kind,
            "score": place.score,
        }
        for place in found.places
    ]
    return {
        "commit": found.commit,
        "places": places,
        "order": found.order,
        "answer": found.answer,
        "notes": found.notes,
    }


@click.command()
@click.argument("project", type=arguments.named_project)
@arguments.as_option
@output.json_option
def index(project: Project, user: str) -> None:
    """Make the vectors of PROJECT's newest code with the embedding that the settings name, and drop all others.

    A server does so by itself after each merge and import; after another AISWE_EMBEDDING somebody has to ask for it.
    """
    from projects.engine import questions
    from projects.services.accounts.rights import require

    require(acting_user(user), project, "project.edit")
    if why := questions.index_project(project, again=True):
        raise Missing(why, "While a server runs, use the button of the project's page Ask.")
    output.answer({"project": project.slug}, f"{project.slug} is indexed.")
