"""aiswe project import and measure: code that is there, and how its tests stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments, documents
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import Missing, WrongUse

if TYPE_CHECKING:
    from projects.models import Baseline, Project


@click.command(name="import")
@click.argument("source")
@click.option("--name", default="", help="What the project is called; the name of its source by default.")
@click.option("--branch", default="", help="The branch that work starts from; the one checked out by default.")
@click.option("--subfolder", default="", help="The folder of it that is the project.")
@click.option("--prd", "file", type=documents.GIVEN, help=f"Requirements to start with: {documents.WHAT}")
@click.option("--accept-untested", is_flag=True, help="Go on also when its tests cannot be run.")
@arguments.as_option
@output.json_option
def take_in(
    source: str, name: str, branch: str, subfolder: str, file: str | None, accept_untested: bool, user: str
) -> int:
    """Make a project of SOURCE: a folder, a zip or tar archive, or a git address (https or ssh).

    Each specification of Spec Kit, OpenSpec or Kiro in it becomes a document. Its tests are run twice in the sandbox;
    only failures that are new count from then on. Nothing of SOURCE is changed.
    Exit code 1 when a person has to answer first: about packages, or because its tests cannot be run.
    """
    given = documents.read_given(file) if file else []  # refused before anything is made
    django.start()
    from projects.engine.baseline import measure
    from projects.errors import BadInput
    from projects.models import Project
    from projects.services.repositories import importing

    by = acting_user(user)
    try:
        made = importing.import_project(
            importing.named_on_command_line(source), by=by, name=name, branch=branch, subfolder=subfolder
        )
    except BadInput as refused:
        raise WrongUse(str(refused)) from None
    notes, called = [*made.notes], made.project.name
    if Project.objects.filter(name=called).count() > 1:
        notes.append(f"There is a project called {called} already: the short name of this one is {made.project.slug}.")
    for words in notes:
        output.note(words)
    output.note(f"Project {made.project.slug} holds {made.head[:10]}; its tests are run twice …")
    found = measure(made.project)
    if given:
        documents.store_and_plan(made.project, given, by)
    return _answer(made.project, found, accept_untested, by, notes)


@click.command()
@click.argument("project")
@click.option("--accept-untested", is_flag=True, help="Go on also when its tests cannot be run.")
@arguments.as_option
@output.json_option
def measure(project: str, accept_untested: bool, user: str) -> int:
    """Run the tests of PROJECT (its short name) as it stands, and note which fail: its new baseline."""
    django.start()
    from projects.engine.baseline import measure as measured
    from projects.services.accounts.rights import require

    by, found = acting_user(user), arguments.project(project)
    require(by, found, "project.edit")
    return _answer(found, measured(found), accept_untested, by, [])


def _answer(project: Project, found: Baseline, accept: bool, by: Any, notes: list[str]) -> int:
    from projects.engine.baseline import accept_without_tests
    from projects.models import Approval, Baseline

    if found.status != Baseline.Status.READY and accept:
        found = accept_without_tests(project, by=by)
    questions = list(
        project.approvals.filter(status=Approval.Status.PENDING, run=None).values("id", "kind", "title", "payload")
    )
    counts = {name: found.tests.get(name, 0) for name in ("passed", "failed", "errors", "skipped")}
    document = {
        "project": project.pk,
        "slug": project.slug,
        "branch": project.base_branch,
        "head": found.commit,
        "layout": found.layout,
        "test_command": found.test_command,
        "tests": {**counts, "seconds": found.seconds},
        "failing": found.tests.get("failing", {}),
        "flickering": found.tests.get("flickering", []),
        "packages": found.packages,
        "questions": questions,
        "status": found.status,
        "problem": found.problem,
        "notes": notes,
    }
    done = found.status in (Baseline.Status.READY, Baseline.Status.ACCEPTED)
    output.answer(document, lambda: _people(document))
    if not done and not questions and "sandbox cannot" in found.problem:
        raise Missing(found.problem, "`aiswe doctor` shows what the sandbox needs.")
    return 0 if done else 1


def _people(found: dict[str, Any]) -> None:
    layout, tests = found["layout"], found["tests"]
    output.say(f"Project {found['slug']}, branch {found['branch']} at {found['head'][:10]}")
    if layout:
        places = f"tests in {', '.join(layout['test_paths'])}" if layout["test_paths"] else "no tests"
        output.say(f"{layout['language'].title()}, {layout['style']} layout; {places}")
    if found["packages"]:
        output.say(f"Packages: {', '.join(found['packages'])}")
    if any(tests.values()):
        counts = ", ".join(f"{tests[word]} {word}" for word in ("passed", "failed", "errors", "skipped"))
        output.say(f"Tests: {counts} in {tests['seconds']:g} s")
    if found["failing"] and found["status"] == "ready":
        output.say(f"Known failures, which do not count: {_some(found['failing'])}")
    if found["flickering"]:
        output.say(f"Tests that do not always pass: {_some(found['flickering'])}")
    if found["problem"]:
        output.say(found["problem"])
    for question in found["questions"]:
        output.say(f"Question {question['id']}: {question['title']}")
    if found["questions"]:
        answers = ", ".join(f"aiswe approvals answer {question['id']} yes|no" for question in found["questions"])
        output.say(f"Answer it: {answers}; then: aiswe project measure {found['slug']}")
    elif found["status"] == "unusable":
        output.say(f"To go on without tests: aiswe project measure {found['slug']} --accept-untested")


def _some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    shown = [*names]
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
