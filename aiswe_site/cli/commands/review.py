"""aiswe review: few remarks on somebody's change, each on a changed line and with its evidence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse

HOW_SURE = {
    "proven": "proven by a test",
    "found": "found by a tool",
    "shown": "shown by a test of new code",
    "believed": "not proven",
}


@click.command()
@click.argument("change", required=False, default="", metavar="BASE..HEAD")
@click.option("--project", "slug", required=True, metavar="PROJECT", help="The project (its short name).")
@click.option("--request", type=click.IntRange(1), help="Review this pull request of the linked forge.")
@click.option("--send", is_flag=True, help="Then write the remarks to the request; asks for a yes.")
@click.option("--yes", is_flag=True, help="Confirm without being asked.")
@click.option("--no-tests", is_flag=True, help="Do not run the project's own tests before and after.")
@arguments.as_option
@output.json_option
def command(change: str, slug: str, request: int | None, send: bool, yes: bool, no_tests: bool, user: str) -> int:
    """Review what HEAD changes against BASE, two branches, tags or commits of PROJECT; BASE...HEAD: since both parted.

    The scanners and the tests run on both sides, the model is asked piece by piece, and what it says is asked about
    again and put to a test in the sandbox. At most five remarks are told, the surest first. Nothing is changed, and
    nothing leaves this installation without --send and a yes. Exit code 1 when there are remarks.
    """
    if bool(change) == bool(request) or (send and not request):
        raise WrongUse("Name BASE..HEAD or --request; --send needs --request.")
    if send and not yes and output.wants_json():
        raise WrongUse("Writing to the forge asks for a yes.", "Add --yes.")
    django.start()
    from projects.engine import reviewing
    from projects.errors import BadInput
    from projects.models import Run
    from projects.services.forges.reviewing import send_review

    by, project = acting_user(user), arguments.project(slug)
    try:
        if request:
            made = reviewing.review_request(project, request, by=by, run_suites=not no_tests)
        else:
            base, head = reviewing.commits_of(project, change)
            made = reviewing.review_on_request(project, base, head, by=by, run_suites=not no_tests)
    except BadInput as wrong:
        raise WrongUse(str(wrong)) from None
    document = {"project": project.slug, "run": made.run, "sent": "", **asdict(made.review)}
    if send:
        if not yes:
            _people(document)
            click.confirm(f"Write this to request {request}?", abort=True, err=True)
        document["sent"] = send_review(Run.objects.get(pk=made.run), by=by)
    return output.answer(document, lambda: _people(document), ok=not made.review.findings)


def _people(found: dict[str, Any]) -> None:
    for one in found["findings"]:
        place = f"{one['path']}:{one['line']}" if one["line"] else one["path"] or "the tests"
        output.say(f"{place}  {one['kind']}, {HOW_SURE[one['strength']]}")
        if one["quote"]:
            output.say(f"  {'-' if one['removed'] else '+'} {one['quote']}")
        output.say(f"  {one['text']}")
        for said in one["evidence"]:
            output.say(f"    · {said}")
        output.say()
    count, asked = len(found["findings"]), f"{_many(found['files'], 'file')}, {_many(found['pieces'], 'piece')} of code"
    output.say(f"{count or 'No'} remark{'s' * (count != 1)} on {asked}.")
    for said in found["notes"]:
        output.say(said)
    if found["unread"]:
        output.say(f"Not read: {', '.join(found['unread'][:10])}{' …' if len(found['unread']) > 10 else ''}.")
    if found["sent"]:
        output.say(f"Written to {found['sent']}.")
    output.say(f"Recorded as run {found['run']}: `aiswe audit export {found['run']}`.")


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
