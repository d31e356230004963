"""aiswe config: the settings in force."""

from __future__ import annotations

import os

import click

from aiswe_site.cli import django, output

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
