"""aiswe forge: where a project is on a forge, and what it hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Project

EVENTS = "pull requests, their reviews and comments, and workflow jobs (on GitLab: merge requests, comments, jobs)"


@click.group()
def command() -> None:
    """Link a project to the forge that its pull requests are on, and say what it hears of it."""


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("address", default="")
@click.option("--kind", type=click.Choice(["github", "forgejo", "gitlab"]), help="Of a forge that does not say it.")
@arguments.as_option
@output.json_option
def link(project: Project, address: str, kind: Any, user: str) -> int:
    """Link PROJECT to its repository on a forge at ADDRESS; by default the address that it was imported from.

    The forge is asked with the credential that AISWE_GIT_TOKENS has for its host.
    """
    from projects.services.forges import links

    made = links.link_project(project, by=acting_user(user), address=address, kind=kind)
    told = fields(made, "kind host path")
    return output.answer(told, f"{project.slug} is linked to {made} ({made.get_kind_display()}).")


@command.command()
@click.argument("project", type=arguments.named_project)
@output.json_option
def show(project: Project) -> int:
    """Show where PROJECT is on a forge, its pull requests there, and which accounts are whom here."""
    from projects.services.forges import links

    made = links.needed_link(project)
    rows = [
        fields(one, "number run=run_id state branch base commit web_address")
        for one in made.requests.order_by("-pk")[:50]
    ]
    people_there = [fields(one, "login ident user=user.username") for one in links.people_of(made)]

    def people() -> None:
        output.say(f"{made} ({made.get_kind_display()})")
        columns: dict[str, output.Column] = {
            "Number": "number",
            "Run": "run",
            "State": "state",
            "Address": "web_address",
        }
        output.records(rows, columns, nothing="No pull requests yet.")
        output.records(people_there, {"Account": "login", "User": "user"}, nothing="No account is mapped to a user.")

    return output.answer({**fields(made, "kind host path"), "requests": rows, "people": people_there}, people)


@command.command()
@click.argument("project", type=arguments.named_project)
@arguments.as_option
@output.json_option
def unlink(project: Project, user: str) -> int:
    """Forget the forge of PROJECT, and what was known of its pull requests; nothing changes on the forge."""
    from projects.services.forges import links

    links.unlink_project(project, by=acting_user(user))
    return output.answer({"project": project.slug}, f"{project.slug} is linked to no forge any more.")


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("login")
@click.argument("username", default="")
@arguments.as_option
@output.json_option
def person(project: Project, login: str, username: str, user: str) -> int:
    """Say that the account LOGIN of the forge of PROJECT is USERNAME here; without USERNAME it is nobody again.

    For administrators. The account counts by its number, since names change hands, and in every project of that forge.
    """
    from projects.services.forges import links

    made, by = links.needed_link(project), acting_user(user)
    if not username:
        links.forget_person(made, login, by=by)
        return output.answer({"login": login}, f"{login} on {made.host} is nobody here.")
    row = links.map_person(made, login, acting_user(username), by=by)
    return output.answer(fields(row, "login ident user=user.username"), f"{row} is {username}.")


@command.command()
@click.argument("project", type=arguments.named_project)
@arguments.as_option
@output.json_option
def webhook(project: Project, user: str) -> int:
    """Make the secret of PROJECT's webhook and show it, this once, with the webhook's address."""
    from django.conf import settings
    from django.urls import reverse

    from projects.services.forges import links, listening, receiving

    link = links.needed_link(project)
    secret = listening.new_secret(link, by=acting_user(user))
    origin = next(iter(settings.CSRF_TRUSTED_ORIGINS), "https://HOST")
    address = origin + reverse("forge-webhook", args=[receiving.key_of(link)])
    told = {"address": address, "secret": secret, "content_type": "application/json", "events": EVENTS}
    return output.answer(told, "\n".join(f"{name}: {text}" for name, text in told.items()))


@command.command()
@click.argument("project", type=arguments.named_project)
@click.option("--requests/--no-requests", default=None, help="Whether comments of mapped people are work.")
@click.option("--poll/--no-poll", default=None, help="Whether the forge is asked every two minutes.")
@arguments.as_option
@output.json_option
def listen(project: Project, requests: bool | None, poll: bool | None, user: str) -> int:
    """Say what PROJECT makes of what is written on its pull requests, and how it hears of it."""
    from projects.services.forges import links, listening

    link = links.needed_link(project)
    listening.listen(link, by=acting_user(user), takes_requests=requests, polls=poll)
    told = fields(link, "host path takes_requests polls problem") | {"webhook": bool(link.secret)}
    words = [
        f"Comments of mapped people on {link} are {'work' if link.takes_requests else 'kept, and nothing else'}.",
        "Its webhook has a secret." if link.secret else "No webhook is read: it has no secret.",
        "It is asked every two minutes." if link.polls else "It is not polled.",
    ]
    return output.answer(told, " ".join(words))


@command.command()
@click.argument("project", type=arguments.named_project)
@output.json_option
def poll(project: Project) -> int:
    """Ask the forge of PROJECT now what is new on its pull requests, and do what follows from it."""
    from django.utils import timezone

    from projects.models import ForgeComment, PullRequest
    from projects.services.forges import links, polling

    link = links.needed_link(project)
    for request in link.requests.filter(state=PullRequest.State.OPEN)[: polling.MOST_REQUESTS]:
        polling.bring_up_to_date(request, timezone.now(), always=True)
    link.refresh_from_db()
    comments = ForgeComment.objects.filter(request__link=link).select_related("request", "user").order_by("-pk")[:50]
    rows: list[dict[str, Any]] = [
        fields(one, "number=request.number user=user.username login=author_login path line text outcome why")
        for one in comments
    ]

    def people() -> None:
        if link.problem:
            output.note(link.problem)
        columns: dict[str, output.Column] = {"Request": "number", "Who": "login", "Outcome": "outcome", "Why": "why"}
        output.records(rows, columns, nothing="Nobody has written anything.")

    return output.answer({"problem": link.problem, "comments": rows}, people, ok=not link.problem)
