"""aiswe config: the settings in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import CliError, WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@click.group()
def command() -> None:
    """Show the effective settings and their sources."""


@command.command()
@output.json_option
def show() -> None:
    """Every setting with its value and source. Secrets are not shown."""
    from aiswe_site.startup import configuration

    values = configuration.load()
    document = [
        row.shown_value() | {"default": row.default, "allowed": row.allowed, "about": row.about}
        for row in configuration.rows()
    ]
    services = {
        "database": "postgresql" if values.DATABASE_URL.startswith("postgres") else "sqlite3",
        "queue": "redis" if values.REDIS_URL else "in memory",
    }

    def shown(row: dict[str, Any]) -> object:
        return row["default"] if row["value"] in ("", []) else row["value"]

    def people() -> None:
        output.records(document, {"Setting": "setting", "Value": shown, "From": "source", "What it is": "about"})
        output.pairs(services)

    output.answer({"settings": document, **services}, people)


@command.command()
@output.json_option
def agents() -> None:
    """The agents of other makers that projects and tasks may choose: what each may see and reach."""
    django.start()
    from agents.outside.table import AgentsFileError
    from projects.services.planning import outside

    try:
        known = outside.agents()
    except AgentsFileError as problem:
        raise CliError(str(problem), "docs/how-to/other-agents.md has an example.") from None
    found = [
        {
            "agent": agent.name,
            "command": " ".join(agent.command),
            "hosts": list(agent.hosts),
            "keys": list(agent.env),
            "folders": [str(folder) for folder in agent.folders],
            "note": agent.note,
        }
        for agent in known.values()
    ]
    columns: dict[str, output.Column] = {
        "Agent": "agent",
        "Command": "command",
        "Reaches": lambda row: ", ".join(row["hosts"]) or "nothing",
        "Sees keys": lambda row: ", ".join(row["keys"]) or "none",
        "Note": "note",
    }
    output.answer(found, lambda: output.records(found, columns, nothing="No other agents are named."))


@command.command()
@click.argument("name")
@click.password_option(envvar="AISWE_ADMIN_PASSWORD", help="Prompted for when neither given nor in the environment.")
@output.json_option
def admin(name: str, password: str) -> None:
    """Make NAME an administrator with a new password: the first one, or one who lost the password.

    Whoever may run this owns the database file already, so it grants nothing new.
    """
    django.start()
    from django.contrib.auth import get_user_model
    from django.contrib.auth.password_validation import validate_password
    from django.core.exceptions import ValidationError

    users = get_user_model()
    user = users.objects.filter(username=name).first() or users(username=name)
    try:
        user.set_password(password)
        user.is_staff = user.is_superuser = user.is_active = True
        user.clean_fields()
        validate_password(password, user)
    except ValidationError as problem:
        raise CliError(" ".join(problem.messages), "Choose another and try again.") from None
    user.save()
    from projects.services.accounts.users import sign_out_everywhere
    from projects.services.audit.sitelog import note

    note("command line", "administrator.made", name)
    sign_out_everywhere(user)
    output.answer({"user": name}, f"{name} may sign in now.")


def _person(name: str) -> User:
    from django.contrib.auth import get_user_model

    found = get_user_model().objects.filter(username=name).first()
    if found is None:
        raise WrongUse(f"There is no user {name!r}.", "Name a user of this installation.")
    return found


@command.command("second-factor-off")
@click.argument("name")
@output.json_option
def second_factor_off(name: str) -> None:
    """Turn off the second factor of NAME, who lost the phone and the recovery codes."""
    django.start()
    from projects.services.accounts import second_factor

    user = _person(name)
    was_on = second_factor.turn_off(user, by="command line")
    words = f"{name} now signs in with the password alone." if was_on else f"{name} had no second factor."
    output.answer({"user": name, "was_on": was_on}, words)


@command.command()
@click.argument("name")
@click.option("--for", "label", required=True, metavar="WHAT", help="What will use it, e.g. CI.")
@click.option("--scope", "scopes", multiple=True, default=["read"], show_default=True, help="Can be repeated.")
@click.option("--days", default=90, show_default=True, help="How long it is valid.")
@output.json_option
def token(name: str, label: str, scopes: tuple[str, ...], days: int) -> None:
    """Create an API token for user NAME and print it; it is shown only once."""
    django.start()
    from projects.errors import BadInput
    from projects.services.accounts import api_tokens

    try:
        made, text = api_tokens.make_token(_person(name), name=label, scopes=scopes, days=days)
    except BadInput as wrong:
        raise WrongUse(str(wrong), "See `aiswe config token --help`.") from wrong
    document = {"user": name, "id": made.public, "token": text, "scopes": made.scopes, "expires_at": made.expires_at}
    output.answer(document, text)


@command.command()
@click.argument("name", default="")
@output.json_option
def tokens(name: str) -> None:
    """List the API tokens of everybody, or of user NAME. Their values are not stored."""
    django.start()
    from projects.models import ApiToken

    rows = ApiToken.objects.select_related("user")
    rows = rows.filter(user=_person(name)) if name else rows
    names = "id=public user=user.username name scopes works expires_at last_used_at"
    document = [fields(row, names) for row in rows]
    columns: dict[str, output.Column] = {
        "Id": "id",
        "User": "user",
        "For": "name",
        "May": lambda row: ", ".join(row["scopes"]),
        "Works": lambda row: "yes" if row["works"] else "no",
        "Last used": lambda row: row["last_used_at"] or "never",
    }
    output.answer({"tokens": document}, lambda: output.records(document, columns, nothing="There is no API token."))


@command.command()
@click.argument("ident", metavar="ID")
@output.json_option
def revoke(ident: str) -> None:
    """Revoke the API token with this ID (`aiswe config tokens` lists them)."""
    django.start()
    from projects.models import ApiToken
    from projects.services.accounts import api_tokens

    found = ApiToken.objects.select_related("user").filter(public=ident).first()
    if found is None:
        raise WrongUse(f"There is no token {ident!r}.", "`aiswe config tokens` lists them.")
    api_tokens.revoke(found, by="command line")
    output.answer({"id": ident}, f"{ident} is revoked.")
