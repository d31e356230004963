"""aiswe config: the settings in force."""

from __future__ import annotations

import os

import click

from aiswe_site.cli import django, output
from aiswe_site.cli.problems import CliError

# setting → (environment variable, what it is). Secrets are never listed.
SETTINGS: dict[str, tuple[str, str]] = {
    "AISWE_HOME": ("AISWE_HOME", "where everything is written"),
    "OLLAMA_URL": ("AISWE_OLLAMA_URL", "the model server"),
    "MODEL": ("AISWE_MODEL", "the model"),
    "MODEL_WINDOW": ("AISWE_MODEL_WINDOW", "its context window, in tokens"),
    "SANDBOX_BACKEND": ("AISWE_SANDBOX", "auto, docker or bubblewrap"),
    "WORKER_CONCURRENCY": ("AISWE_WORKERS", "jobs at a time"),
    "LEASE_SECONDS": ("AISWE_LEASE_SECONDS", "how long a dead worker's task waits"),
    "DEMO_TOKENS_PER_S": ("AISWE_DEMO_TOKENS_PER_S", "speed of recorded replies"),
    "DEBUG": ("AISWE_DEBUG", "for developers only"),
    "HTTPS": ("AISWE_HTTPS", "behind a TLS proxy"),
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
    output.answer({"user": name}, as_json=as_json, people=lambda: output.say(f"{name} may sign in now."))
