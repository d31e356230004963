"""aiswe chat: talk with the model about a project, in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from rich.console import Console

    from projects.models import Project, Run

WORKSPACE = "Workspace"
TOOLS = ("write", "exec", "search", "plan")


@click.command()
@click.argument("project", required=False, default="")
@click.option("--resume", type=int, metavar="N", help="Go on with chat N instead of the newest one.")
@click.option("--new", is_flag=True, help="Begin a new chat instead of going on with the newest one.")
@click.option("--list", "listed", is_flag=True, help="List the chats that can be gone on with.")
@click.option(
    "--persona", type=click.Path(path_type=Path, dir_okay=False), help="Who the model is to be, as a text file."
)
@click.option(
    "--log", type=click.Path(path_type=Path, dir_okay=False), help="Where exchanges are logged as JSON lines."
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(TOOLS),
    help="Allow without asking, for this session; without a terminal only that is done.",
)
@arguments.as_option
@output.json_option
def command(
    project: str,
    resume: int | None,
    new: bool,
    listed: bool,
    persona: Path | None,
    log: Path | None,
    allow: tuple[str, ...],
    user: str,
) -> int:
    """Talk with the model about PROJECT (its short name), or without one in a workspace of your own.

    The model reads, writes, runs and searches with your leave, on a branch of its own; /help lists what you can say.
    """
    django.start()
    by = acting_user(user)
    if listed:
        return _list(project)
    from rich.console import Console

    from aiswe_site.chat.exchange_log import FILE
    from aiswe_site.chat.loop import ChatLoop
    from aiswe_site.chat.terminal import Terminal
    from projects.engine.chat import open_chat
    from projects.storage.paths import home

    words = _persona(persona)
    run, fresh = _run(project, resume, new, by)
    console = Console(highlight=False, emoji=False)
    terminal = Terminal(console, attended=sys.stdin.isatty(), allowed=allow)
    with open_chat(run, by=by, surface=terminal, persona=words) as chat:
        chat.grant(*allow)  # leave of an earlier session is over
        loop = ChatLoop(chat, terminal, log or home() / FILE)
        _greet(console, run, fresh)
        if chat.conversation.turn is not None:
            prompt = " ".join(chat.conversation.turn.prompt.split())
            shown = prompt if len(prompt) <= 80 else f"{prompt[:79]}…"
            terminal.line(f"Your last prompt broke off: {shown}", "yellow")
            terminal.line("  → /retry goes on with it, /drop gives it up.", "dim")
        elif (plan := chat.conversation.plan) is not None and not plan.over:
            terminal.line(
                f"A plan {'is under way' if plan.approved else 'waits for your answer'}: /plan goes on.", "yellow"
            )
        loop.run(_lines(sys.stdin.isatty()))
    terminal.line(f"Chat {run.pk} is kept: aiswe chat --resume {run.pk}, or /runs/{run.pk} in the dashboard.", "dim")
    return 0


def _persona(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise WrongUse(
            f"The persona {file} cannot be read: {why}.", "Name a text file, or leave out --persona."
        ) from None
    if not text:
        raise WrongUse(f"The persona {file} is empty.", "Write into it who the model is to be.")
    return text


def _run(slug: str, resume: int | None, new: bool, by: User) -> tuple[Run, bool]:
    """The chat to open, and whether it is a new one."""
    from projects.engine.chat import chats, new_chat
    from projects.models import Run

    if resume is not None:
        found = Run.objects.filter(pk=resume, kind=Run.Kind.CHAT).first()
        if found is None:
            raise WrongUse(f"There is no chat {resume}.", "`aiswe chat --list` lists them.")
        return found, False
    where = _project(slug, by)
    newest = None if new else chats(where).filter(folder="", run__started_by=by).first()
    return (newest.run, False) if newest is not None else (new_chat(where, by=by), True)


def _project(slug: str, by: User) -> Project:
    if slug:
        return arguments.project(slug)
    from projects.models import Project
    from projects.services.planning.projects import create_project

    mine = Project.objects.filter(name=WORKSPACE, created_by=by, archived_at=None).order_by("pk").first()
    return mine or create_project(WORKSPACE, by=by)


def _list(slug: str) -> int:
    from projects.engine.chat import chats

    rows = [
        {"chat": one.run_id, "project": one.run.project.slug, "title": one.title, "status": one.run.status}
        for one in chats(arguments.project(slug) if slug else None)[:50]
    ]
    columns: dict[str, output.Column] = {
        "Chat": "chat",
        "Project": "project",
        "Status": "status",
        "First words": "title",
    }
    return output.answer({"chats": rows}, lambda: output.records(rows, columns, nothing="No chat is open."))


def _greet(console: Console, run: Run, fresh: bool) -> None:
    from projects.engine.model_clients import provider_for

    model = "no model"
    with suppress(Exception):  # whatever is wrong with it is said when it is asked
        model = provider_for(run.project).model
    word = "Chat" if fresh else "Going on with chat"
    console.print(f"{word} {run.pk} in {run.project.slug} · {model} · /help", style="dim", markup=False)


def _lines(attended: bool) -> Iterator[str]:
    """What the person writes: a line, all that is pasted at once, or lines that end with a backslash and the next."""
    with suppress(ImportError):
        import readline  # history and editing for input()

        readline.parse_and_bind("set enable-bracketed-paste on")  # Python turns it off
    while True:
        try:
            line = input("you> " if attended else "")
            while line.endswith("\\"):
                line = line[:-1] + "\n" + input("...> " if attended else "")
        except EOFError:
            return
        except KeyboardInterrupt:
            click.echo("\n/exit leaves.")
            continue
        yield line
