"""aiswe tests: tests for a module that is there, until its branches are covered."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import CliError, WrongUse

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@click.group()
def command() -> None:
    """Have tests written for a module."""


@command.command()
@click.argument("project")
@click.argument("module")
@click.option(
    "--target",
    type=click.FloatRange(1, 100),
    default=80.0,
    show_default=True,
    help="More than this percent of lines and of branches.",
)
@click.option(
    "--rounds", type=click.IntRange(1, 12), default=5, show_default=True, help="Maximum number of model replies."
)
@click.option("--branch", default="", metavar="NAME", help="Commit them on this new branch, if the review gates pass.")
@arguments.as_option
@output.json_option
def write(project: str, module: str, target: float, rounds: int, branch: str, user: str) -> int:
    """Write tests for MODULE (shop.cart, or shop/cart.py) of PROJECT (its short name) and show them as a diff.

    They pass in the sandbox, or are not shown. It stops when the target is met. Exit code 1 when it was not.
    """
    django.start()
    from agents.engine.module_tests.write import SuiteFails
    from agents.languages.base import NoModule
    from projects.engine.testing import on_request
    from projects.errors import BadInput

    by = acting_user(user)
    found = arguments.project(project, _projects(by))
    try:
        made = on_request(found, module, target=target, rounds=rounds, by=by, branch=branch)
    except (NoModule, BadInput) as unknown:
        raise WrongUse(str(unknown)) from None
    except SuiteFails as failing:
        raise CliError(str(failing), "Repair them first: a run of the project's tests shows them.") from None
    written, verdict = made.written, made.gates
    document: dict[str, Any] = written.to_json() | {
        "project": found.slug,
        "run": made.run,
        "branch": branch if made.committed else "",
        "gates": {"verdict": verdict.verdict, "reasons": list(verdict.reasons)} if verdict else None,
    }
    done = document["met"] and (document["branch"] or not branch or not written.files)
    return output.answer(document, lambda: _people(document), ok=bool(done))


def _projects(by: User) -> str:
    """The short names to choose from."""
    from projects.models import Project

    names = list(Project.objects.visible_to(by).order_by("slug").values_list("slug", flat=True)[:20])
    return f"There are: {', '.join(names)}." if names else "There are no projects yet: `aiswe project new` creates one."


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _people(found: dict[str, Any]) -> None:
    for path, text in sorted(found["files"].items()):
        for line in unified_diff([], text.splitlines(), "/dev/null", path, lineterm=""):
            output.say(line)
    now, before = found["covered"], found["before"]
    output.say(
        f"{found['module']}: branches {before['branches']:.0f} → {now['branches']:.0f} %, lines "
        f"{before['lines']:.0f} → {now['lines']:.0f} %"
    )
    if not found["files"]:
        output.say("Nothing had to be written." if found["met"] else "No tests that pass were written.")
    else:
        left_out = f"; {found['dropped']} that failed are left out" if found["dropped"] else ""
        output.say(f"{_many(found['passed'], 'test')} pass, after {_many(found['rounds'], 'answer')}{left_out}.")
    for said in found["suspected"]:
        output.say(f"Suspected bug: {said}")
    if found["mutants"]:
        output.say(f"They catch {found['noticed']} of {found['mutants']} small mistakes.")
    if found["gates"] and not found["branch"]:
        output.say(f"Not committed: {'; '.join(found['gates']['reasons'][:5]) or found['gates']['verdict']}")
    elif found["branch"]:
        output.say(f"On the branch {found['branch']}.")
    output.say(f"Recorded as run {found['run']}: `aiswe audit export {found['run']}`.")
    if not found["met"]:
        output.say(
            f"The target of {found['target']:g} % is not met{': ' + found['problem'] if found['problem'] else ''}."
        )
