"""aiswe tests: tests for a module that is there, until its branches are covered."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

import click

from aiswe_site.cli import django, output
from aiswe_site.cli.options import as_option
from aiswe_site.cli.problems import NO, CliError, WrongUse


@click.group()
def command() -> None:
    """Have tests written for a module."""


@command.command()
@click.argument("project")
@click.argument("module")
@click.option(
    "--target", type=click.FloatRange(1, 100), default=80.0, show_default=True, help="Percent of lines and of branches."
)
@click.option(
    "--rounds", type=click.IntRange(1, 12), default=5, show_default=True, help="Answers of the model, at most."
)
@click.option("--branch", default="", metavar="NAME", help="Commit them on this new branch, if the review gates pass.")
@as_option
@output.json_option
def write(project: str, module: str, target: float, rounds: int, branch: str, user: str, as_json: bool) -> int:
    """Write pytest files for MODULE (shop.cart, or shop/cart.py) of PROJECT (its short name) and show them as a diff.

    They pass in the sandbox, or are not shown. It stops when the target is met. Exit code 1 when it was not.
    """
    django.start()
    from agents.testing.write import NoModule, SuiteFails
    from projects.engine.testing import branch_with, tests_for
    from projects.models import Project

    by = django.acting_user(user)
    found = Project.objects.filter(slug=project).first()
    if found is None:
        raise WrongUse(f"There is no project {project!r}.", "Its short name is the one in `aiswe history`.")
    try:
        written = tests_for(found, module, target=target, rounds=rounds, by=by)
    except NoModule as unknown:
        raise WrongUse(str(unknown)) from None
    except SuiteFails as failing:
        raise CliError(str(failing)) from None
    document: dict[str, Any] = written.to_json() | {"project": found.slug, "branch": "", "gates": None}
    if branch and written.files:
        verdict = branch_with(found, written, branch, by=by)
        document |= {
            "branch": branch if verdict.verdict == "pass" else "", "gates": {"verdict": verdict.verdict, "reasons": list(verdict.reasons)},
        }  # fmt: skip
    output.answer(document, as_json=as_json, people=lambda: _people(document))
    return 0 if document["met"] and (document["branch"] or not branch or not written.files) else NO


def _people(found: dict[str, Any]) -> None:
    for path, text in sorted(found["files"].items()):
        for line in unified_diff([], text.splitlines(), "/dev/null", path, lineterm=""):
            output.say(line)
    now, before = found["covered"], found["before"]
    output.say(
        f"{found['module']}: branches {before['branches']:.0f} → {now['branches']:.0f} %, lines {before['lines']:.0f} → {now['lines']:.0f} %"
    )
    if not found["files"]:
        output.say("Nothing had to be written." if found["met"] else "No tests that pass were written.")
    else:
        output.say(f"{found['passed']} tests pass, after {found['rounds']} answers.")
    if found["mutants"]:
        output.say(f"They notice {found['noticed']} of {found['mutants']} small mistakes.")
    if found["gates"] and not found["branch"]:
        output.say(f"Not committed: {'; '.join(found['gates']['reasons'][:5]) or found['gates']['verdict']}")
    elif found["branch"]:
        output.say(f"On the branch {found['branch']}.")
    if not found["met"]:
        output.say(
            f"The target of {found['target']:g} % is not met{': ' + found['problem'] if found['problem'] else ''}."
        )
