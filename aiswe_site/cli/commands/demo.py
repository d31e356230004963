"""aiswe demo: a recorded model builds a real program."""

from __future__ import annotations

import os
import secrets
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aiswe_site.startup import django
from aiswe_site.startup.home import Home, home_lock
from aiswe_site.startup.serving import served
from aiswe_site.startup.supervisor import Supervisor, address_of, listen
from aiswe_site.terminal import output

if TYPE_CHECKING:
    from projects.models import Run

LOOK_S = 0.5


@click.command()
@click.option("--headless", is_flag=True, help="Run to the end without the dashboard and print the result.")
@output.json_option
@click.option(
    "--home", "folder", type=click.Path(file_okay=False, path_type=Path), help="Data folder; a new one by default."
)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port of the page; a free one by default.")
@click.option(
    "--tokens-per-s", default=60.0, show_default=True, type=click.FloatRange(1), help="Speed of the recording."
)
@click.option("--timeout", default=1800.0, show_default=True, type=click.FloatRange(1), help="Seconds; headless only.")
def command(headless: bool, folder: Path | None, port: int, tokens_per_s: float, timeout: float) -> int:
    """Watch a recorded model build a real program: nine tasks, from requirements to merged code.

    The model's words are a recording. Sandbox, tests, gates, git and audit trail are real. With --headless the exit
    code is 0 only if every task was merged.
    """
    home = use_home(folder)
    os.environ["AISWE_DEMO_TOKENS_PER_S"] = str(tokens_per_s)
    with home_lock(home), listen("127.0.0.1", port) as listener:
        output.note(f"Preparing the demo in {home.path}")
        output.note("  Creating the database")
        supervisor = Supervisor(home, listener, output.note)
        django.start()
        return play(supervisor, timeout) if headless or output.wants_json() else show(supervisor)


def use_home(folder: Path | None) -> Home:
    """The demo's own data folder, so that it can be repeated and never touches your projects."""
    if folder is None:
        base = Home.from_environment().path
        number = 1
        while (folder := base / f"demo-{number}").exists():
            number += 1
    os.environ["AISWE_HOME"] = str(folder)
    return Home.from_environment()


def show(supervisor: Supervisor) -> int:
    """Serve the page of the demo until stopped."""
    output.note("  Creating the project and an account to watch it with")
    from aiswe_site.demo import story
    from projects.services.accounts import console_token
    from projects.services.accounts.users import DEMO_VIEWER, create_first_admin, needs_first_admin

    viewer = create_first_admin(DEMO_VIEWER, secrets.token_urlsafe(24)) if needs_first_admin() else None
    token = console_token.issue(console_token.DEMO)
    planning = next(iter(story.open_demos()), None) or story.begin(viewer)
    address = address_of(supervisor.listener)

    def ready(first: bool) -> None:
        if first:
            output.say(f"The demo is running: {address}runs/{planning.pk}")
            output.say(f"Sign in as {DEMO_VIEWER} with this link, once: {address}sign-in/demo?token={token}")
            output.say(f"Ctrl-C stops it; --home {supervisor.home.path} continues it.")
            output.note("The recorded model is writing the plan; the build starts by itself when the plan is approved.")
            threading.Thread(target=announce_build, args=(planning, address), daemon=True).start()

    supervisor.on_ready = ready
    output.note("  Starting the server, the worker and the recorded model")
    return supervisor.run()


def announce_build(planning: Run, address: str) -> None:
    """Print where the build can be watched, once it has begun."""
    from aiswe_site.demo import story

    while (build := story.build_of(planning)) is None:
        time.sleep(LOOK_S)
    output.say(f"The build is running: {address}runs/{build.pk}")


def play(supervisor: Supervisor, timeout: float) -> int:
    """Run a demo to its end and print its document."""
    from aiswe_site.demo import result, story
    from projects.models import Run

    started = time.monotonic()
    output.note("  Starting the server, the worker and the recorded model")
    # A demo that was interrupted in this folder goes on; else a new one begins.
    planning = Run.objects.filter(kind=Run.Kind.PLAN).order_by("pk").first() or story.begin()
    with served(supervisor) as failure:
        why = watch(planning, started + timeout, failure)
    run = result.newest_run(planning)
    document = result.summary(run, time.monotonic() - started)
    good = result.all_merged(run)

    def people() -> None:
        tasks, repairs, findings = document["tasks"], document["repairs"], document["findings"]
        output.say(f"Run {run.pk} {document['status']} in {document['seconds']} s")
        output.pairs(
            {
                "tasks": f"{tasks['merged']} merged, {tasks['escalated']} escalated",
                "repairs": f"{repairs['succeeded']} of {repairs['attempted']} succeeded",
                "findings": f"{findings['fixed']} of {findings['raised']} fixed",
                "tests": f"{document['tests']['adjudicated']} corrected after arguing from the requirement",
                "audit": f"{document['audit']['events']} events, "
                + ("verified" if document["audit"]["verified"] else "NOT verified"),
                "repository": document["repository"],
            }
        )

    code = output.answer(document, people, ok=good)
    if not good:
        output.complain(why or "Not every task was merged.", f"Logs are in {supervisor.home.logs}.")
    return code


def watch(planning: Run, until: float, failure: list[BaseException]) -> str:
    """Tell on stderr what happens until the demo is over; returns why it stopped short, or ""."""
    from aiswe_site.demo import result
    from projects.models import Run
    from projects.services.audit.events import events_after

    seen: dict[int, int] = {}
    while not failure:
        run = result.newest_run(planning)
        for event in events_after(run.pk, seen.get(run.pk, 0)):
            seen[run.pk] = event.seq
            output.note(f"{event.seq:>5} {event.role:<9} {event.type:<18} {event.summary}")
        why = result.standstill(run)
        if why or (run.kind == Run.Kind.BUILD and run.status == Run.Status.FINISHED):
            return why
        if time.monotonic() > until:
            return "The demo took longer than --timeout allows."
        time.sleep(LOOK_S)
    return ""
