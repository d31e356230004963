"""aiswe config: the settings in force."""

from __future__ import annotations

import os

import click

from aiswe_site.cli import django, output
from aiswe_site.cli.problems import CliError, WrongUse

# setting → (environment variable, what it is). Secrets are never listed.
SETTINGS: dict[str, tuple[str, str]] = {
    "AISWE_HOME": ("AISWE_HOME", "where everything is written"),
    "OLLAMA_URL": ("AISWE_OLLAMA_URL", "the model server"),
    "MODEL": ("AISWE_MODEL", "the model"),
    "MODEL_WINDOW": ("AISWE_MODEL_WINDOW", "its context window, in tokens"),
    "MODEL_PARALLEL": ("AISWE_MODEL_PARALLEL", "conversations a model server takes at a time"),
    "OPENAI_URL": ("AISWE_OPENAI_URL", "the server of openai: models"),
    "GEMINI_URL": ("AISWE_GEMINI_URL", "the server of gemini: models"),
    "MODELS_FILE": ("AISWE_MODELS_FILE", "which models do the work, by persona"),
    "GUARD_MODEL": ("AISWE_GUARD_MODEL", "a second model that may tighten the firewall"),
    "SANDBOX_BACKEND": ("AISWE_SANDBOX", "auto, docker or bubblewrap"),
    "WORKER_CONCURRENCY": ("AISWE_WORKERS", "jobs at a time"),
    "LEASE_SECONDS": ("AISWE_LEASE_SECONDS", "how long a dead worker's task waits"),
    "DEMO_TOKENS_PER_S": ("AISWE_DEMO_TOKENS_PER_S", "speed of recorded replies"),
    "DEBUG": ("AISWE_DEBUG", "for developers only"),
    "HTTPS": ("AISWE_HTTPS", "behind a TLS proxy"),
    "REQUIRE_SECOND_FACTOR": ("AISWE_REQUIRE_2FA", "everybody needs a second factor"),
    "API_PER_MINUTE": ("AISWE_API_PER_MINUTE", "requests of one API token"),
    "ALLOWED_HOSTS": ("AISWE_HOSTS", "host names that are served"),
    "CSRF_TRUSTED_ORIGINS": ("AISWE_ORIGINS", "origins allowed to post"),
}


@click.group()
def command() -> None:
    """Show the settings in force and where they come from."""


@command.command()
@output.json_option
def show(as_json: bool) -> None:
    """Every setting with its value and source. Secrets are not shown."""
    django.start(migrate=False)
    from django.conf import settings

    document = [
        {
            "setting": variable,
            "value": _plain(getattr(settings, name)),
            "source": "environment" if variable in os.environ else "default",
            "about": about,
        }
        for name, (variable, about) in SETTINGS.items()
    ]
    engine = settings.DATABASES["default"]["ENGINE"].rsplit(".", 1)[-1]
    services = {"database": engine, "queue": "redis" if settings.REDIS_URL else "in memory"}

    def people() -> None:
        output.table(
            ("Setting", "Value", "From", "What it is"),
            [(row["setting"], row["value"], row["source"], row["about"]) for row in document],
        )
        output.pairs(services)

    output.answer({"settings": document, **services}, as_json=as_json, people=people)


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | str | list) else str(value)


@command.command()
@click.argument("name")
@click.password_option(envvar="AISWE_ADMIN_PASSWORD", help="Asked for when it is neither here nor in the environment.")
@output.json_option
def admin(name: str, password: str, as_json: bool) -> None:
    """Make NAME an administrator with a new password: the first one, or one who lost theirs.

    Whoever may run this owns the database file already, so it opens no door that was closed.
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
    from projects.services.accounts import sign_out_everywhere
    from projects.services.sitelog import note

    note("command line", "administrator.made", name)
    sign_out_everywhere(user)
    output.answer({"user": name}, as_json=as_json, people=lambda: output.say(f"{name} may sign in now."))


def _person(name: str):  # type: ignore[no-untyped-def]
    from django.contrib.auth import get_user_model

    found = get_user_model().objects.filter(username=name).first()
    if found is None:
        raise WrongUse(f"There is no user {name!r}.", "Name a user of this installation.")
    return found


@command.command("second-factor-off")
@click.argument("name")
@output.json_option
def second_factor_off(name: str, as_json: bool) -> None:
    """Turn the second factor of NAME off: for somebody who lost the phone and the recovery codes."""
    django.start()
    from projects.services import second_factor

    user = _person(name)
    was_on = second_factor.turn_off(user, by="command line")
    words = f"{name} signs in with the password alone now." if was_on else f"{name} had no second factor."
    output.answer({"user": name, "was_on": was_on}, as_json=as_json, people=lambda: output.say(words))


@command.command()
@click.argument("name")
@click.option("--for", "label", required=True, metavar="WHAT", help="What will use it, e.g. CI.")
@click.option("--scope", "scopes", multiple=True, default=["read"], show_default=True, help="May be given many times.")
@click.option("--days", default=90, show_default=True, help="How long it lives.")
@output.json_option
def token(name: str, label: str, scopes: tuple[str, ...], days: int, as_json: bool) -> None:
    """Make an API token of user NAME and print it, this once."""
    django.start()
    from projects.errors import BadInput
    from projects.services import api_tokens

    try:
        made, text = api_tokens.make_token(_person(name), name=label, scopes=scopes, days=days)
    except BadInput as wrong:
        raise WrongUse(str(wrong), "`aiswe config token --help` says what there is.") from wrong
    document = {"user": name, "id": made.public, "token": text, "scopes": made.scopes, "expires_at": made.expires_at}
    output.answer(document, as_json=as_json, people=lambda: output.say(text))


@command.command()
@click.argument("name", default="")
@output.json_option
def tokens(name: str, as_json: bool) -> None:
    """List the API tokens of everybody, or of user NAME. Their texts are not kept."""
    django.start()
    from projects.models import ApiToken

    rows = ApiToken.objects.select_related("user")
    rows = rows.filter(user=_person(name)) if name else rows
    document = [
        {
            "id": row.public,
            "user": row.user.get_username(),
            "name": row.name,
            "scopes": row.scopes,
            "works": row.works,
            "expires_at": row.expires_at,
            "last_used_at": row.last_used_at,
        }
        for row in rows
    ]

    def people() -> None:
        output.table(
            ("Id", "User", "For", "May", "Works", "Last used"),
            [
                (
                    r["id"],
                    r["user"],
                    r["name"],
                    ", ".join(r["scopes"]),
                    "yes" if r["works"] else "no",
                    r["last_used_at"] or "never",
                )
                for r in document
            ],
            nothing="There is no API token.",
        )

    output.answer({"tokens": document}, as_json=as_json, people=people)


@command.command()
@click.argument("ident", metavar="ID")
@output.json_option
def revoke(ident: str, as_json: bool) -> None:
    """Revoke the API token with this ID (`aiswe config tokens` lists them)."""
    django.start()
    from projects.models import ApiToken
    from projects.services import api_tokens

    found = ApiToken.objects.select_related("user").filter(public=ident).first()
    if found is None:
        raise WrongUse(f"There is no token {ident!r}.", "`aiswe config tokens` lists them.")
    api_tokens.revoke(found, by="command line")
    output.answer({"id": ident}, as_json=as_json, people=lambda: output.say(f"{ident} is revoked."))
