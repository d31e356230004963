"""The commands that work against a server: the words and answers of the local ones, by way of the API."""

from __future__ import annotations

import base64
import contextlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from aiswe_site.cli import questions
from aiswe_site.cli.commands import administration, backlog, history, plan, run
from aiswe_site.cli.overview import COMMANDS, module_of
from aiswe_site.cli.remote.server import RemoteServer, part
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse

PROJECT = click.argument("project")
NUMBER = click.IntRange(1)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
project_option = click.option("--project", default="", metavar="PROJECT", help="Only of this project.")
Command = Callable[..., Any]


class RemoteGroup(click.Group):
    """Commands against a server; one that only works on its own machine says so."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name. Raises WrongUse for one that is local."""
        if (found := super().get_command(ctx, cmd_name)) is not None:
            return found
        local = importlib.import_module(module_of(self.name or "")).command
        if isinstance(local, click.Group) and cmd_name in local.commands:
            raise only_here(f"{self.name} {cmd_name}")
        return None


def only_here(words: str) -> WrongUse:
    """The refusal of a command that a server does not offer."""
    return WrongUse(
        f"`aiswe {words}` works on the machine of the installation alone.",
        "Run it there, or leave out --server and AISWE_SERVER for the installation of this machine.",
    )


GROUPS = {name: RemoteGroup(name, help=COMMANDS[name][1]) for name in "project requirements plan run audit".split()}
GROUPS |= {name: RemoteGroup(name, help=COMMANDS[name][1]) for name in "approvals backlog report".split()}
REMOTE: dict[str, click.Command] = dict(GROUPS)


def _command(words: str, *options: Command) -> Callable[[Command], Command]:
    """Add a command by its words; the function gets the server and its options."""
    group, _, name = words.partition(" ")

    def add(function: Command) -> Command:
        for option in reversed((*options, output.json_option)):
            function = option(function)
        made = click.command(name or group)(click.pass_obj(function))
        if name:
            GROUPS[group].add_command(made)
        else:
            REMOTE[group] = made
        return function

    return add


@_command("project list")
def _projects(server: RemoteServer) -> int:
    """List the projects that you see, newest first."""
    rows = server.all("projects", "projects")
    return administration.say_all([{**row, "runs": len(row["runs"])} for row in rows])


@_command(
    "project new",
    click.argument("name"),
    click.option("--prd", "file", required=True, type=FILE, help="Its document."),
    click.option("--house-rules", type=FILE, help="Patterns every task must obey."),
    click.option("--autonomy", default="plan_gates", show_default=True),
    click.option("--model", default="", help="A model of the server; the configured one by default."),
)
def _new(server: RemoteServer, name: str, file: Path, house_rules: Path | None, autonomy: str, model: str) -> int:
    """Create project NAME from its document: requirements first, then a plan to approve."""
    rules = house_rules.read_text(encoding="utf-8") if house_rules else ""
    made = server.post("projects", name=name, autonomy=autonomy, model=model, house_rules=rules)
    found = _upload(server, made["project"], file, "")
    words = f"Project {made['project']} created; run {found['run']} reads {file.name} and plans."
    return output.answer(found, f"{words}\nNext: aiswe run watch {found['run']}")


def _upload(server: RemoteServer, project: str, file: Path, relation: str) -> dict[str, Any]:
    """Send a document and have it planned."""
    data = base64.b64encode(file.read_bytes()).decode()
    sent = {"text": data, "encoding": "base64", "filename": file.name, "relation": relation}
    read = server.post(f"projects/{part(project)}/documents", **sent)
    planning = server.post(f"projects/{part(project)}/plans", document=read["document"])
    return {"project": project, "slug": project, "document": read["document"], "run": planning["run"]}


@_command(
    "requirements upload",
    PROJECT,
    click.argument("file", type=FILE),
    click.option("--replaces", is_flag=True, help="It replaces the one of its name, else the newest."),
    click.option("--adds", is_flag=True, help="It adds to the earlier ones, whatever its name."),
)
def _next_document(server: RemoteServer, project: str, file: Path, replaces: bool, adds: bool) -> int:
    """Give PROJECT a document: its first, or the next one. It is read, then planned."""
    if replaces and adds:
        raise WrongUse("A document replaces earlier ones or adds to them.", "Give --replaces or --adds, not both.")
    found = _upload(server, project, file, "replaces" * replaces + "adds" * adds)
    words = f"Run {found['run']} reads {file.name} and plans."
    return output.answer(found, f"{words}\nNext: aiswe run watch {found['run']}")


@_command("requirements show", PROJECT)
def _requirements(server: RemoteServer, project: str) -> int:
    """Show what the newest document of PROJECT asks for, and what it leaves open."""
    found = server.get(f"projects/{part(project)}/requirements")

    def people() -> None:
        columns: dict[str, output.Column] = {
            "Key": "key",
            "In the document": "author_id",
            "Origin": "origin",
            "Status": "status",
            "Text and reason": lambda row: f"{row['text']} {row['reason']}".strip(),
        }
        output.records(found["requirements"], columns, nothing="No requirement was found.")
        for question in found["questions"]:
            output.say(f"Open: {question.get('text', '')}")
        if found["status"] != "confirmed":
            output.say(f"Next: aiswe requirements confirm {project}, with --accept KEY for each suggestion to take")

    return output.answer(found, people)


@_command(
    "requirements confirm",
    PROJECT,
    click.option("--accept", "keys", multiple=True, metavar="KEY", help="Accept this suggestion; may be repeated."),
)
def _confirm(server: RemoteServer, project: str, keys: tuple[str, ...]) -> int:
    """Confirm the requirements of PROJECT's newest document; suggestions are rejected unless --accept names them."""
    number = server.get(f"projects/{part(project)}/requirements")["document"]
    path = f"projects/{part(project)}/documents/{number}/confirm"
    found = server.post(path, accept=list(keys), reject_others=True)
    by_status: dict[str, list[str]] = {"accepted": [], "rejected": []}
    for row in found["requirements"]:
        by_status.setdefault(row["status"], []).append(row["key"])
    words = f"Confirmed: {len(by_status['accepted'])} requirements of {project}."
    if by_status["rejected"]:
        words += f"\nLeft out: {', '.join(by_status['rejected'])}"
    result = {"project": project, "document": number}
    return output.answer({**result, **{name: by_status[name] for name in ("accepted", "rejected")}}, words)


@_command("plan list", project_option)
def _plans(server: RemoteServer, project: str) -> int:
    """List the plans, newest first."""
    return plan.say_all(server.all("plans", "plans", project=project))


def _plan(found: dict[str, Any]) -> dict[str, Any]:
    """A plan as the local command has it."""
    return {**found, "content": {"tasks": found["tasks"], "notes": found["notes"]}}


@_command("plan show", click.argument("number", type=NUMBER, metavar="PLAN"))
def _show_plan(server: RemoteServer, number: int) -> int:
    """Show plan PLAN: its tasks, their dependencies, and the problems that validation found."""
    found = server.get(f"plans/{number}")
    return plan.say(_plan(found), found["project"], found["status"])


@_command(
    "plan approve",
    click.argument("number", type=NUMBER, metavar="PLAN"),
    click.option("--hash", "digest", default="", help="Approve only if the content still has this hash."),
)
def _approve(server: RemoteServer, number: int, digest: str) -> int:
    """Approve plan PLAN as it is shown now. Nothing is built before."""
    digest = digest or server.get(f"plans/{number}")["hash"]
    found = server.post(f"plans/{number}/approve", hash=digest)
    words = f"Plan v{found['version']} of {found['project']} is approved.\nNext: aiswe run start {number}"
    return output.answer(_plan(found), words)


RUN = click.argument("number", type=NUMBER, metavar="RUN")


def _say(found: dict[str, Any], more: str = "", *, ok: bool = True) -> int:
    words = run.words_of(found["run"], found["project"], found["status"].replace("_", " "), found["left_out"])
    return output.answer(_run(found), "\n".join(filter(None, [words, more])), ok=ok)


def _run(found: dict[str, Any]) -> dict[str, Any]:
    """A run as the local command has it."""
    return {**found, **found["totals"], "by_task": found["tasks"]}


def _waits(found: dict[str, Any]) -> str:
    ways = [f"Answer: aiswe approvals answer {one} yes|no [--reason TEXT]" for one in found["approvals"]]
    return "\n".join(filter(None, [found["why"], *ways]))


@_command("run start", click.argument("number", type=NUMBER, metavar="PLAN"))
def _start(server: RemoteServer, number: int) -> int:
    """Build the approved plan PLAN."""
    found = server.post(f"plans/{number}/build")
    return _say(found, f"Next: aiswe run watch {found['run']}")


@_command("run show", RUN)
def _show_run(server: RemoteServer, number: int) -> int:
    """Show run RUN: its tasks, what each waits for or ended with, and what its model calls took."""
    found = server.get(f"runs/{number}")
    words = run.words_of(number, found["project"], found["status"].replace("_", " "), found["left_out"])
    return run.say_whole(_run(found), words, _waits(found))


@_command(
    "run watch", RUN, click.option("--after", default=0, type=click.IntRange(0), help="Leave out earlier events.")
)
def _watch(server: RemoteServer, number: int, after: int) -> int:
    """Print what run RUN does, a line an event, until it ends or needs a person.

    Exit code 1 unless it finished with nothing left out.
    """
    tell = output.note if output.wants_json() else output.say
    found = server.get(f"runs/{number}")
    with contextlib.closing(server.events(number, after)) as events:
        while not (found["status"] == "needs_you" and after >= found["events"]):
            if (event := next(events, None)) is None:
                break
            after = event["seq"]
            row = [event["at"][11:19], event["task"] or "", event["role"], event["type"], event["summary"]]
            tell("{:>5} {} {:<6} {:<9} {:<18} {}".format(after, *row))
            if event["outcome"] == "needs_you":
                found = server.get(f"runs/{number}")
    found = server.get(f"runs/{number}")
    return _say(found, _waits(found), ok=found["status"] == "finished" and not found["left_out"])


def _steering(verb: str, path: str, about: str) -> None:
    def steer(server: RemoteServer, number: int) -> int:
        return _say(server.post(f"runs/{number}/{path}"))

    steer.__doc__ = about
    _command(f"run {verb}", RUN)(steer)


_steering("resume", "resume", "Continue a paused or failed run where it stopped.")
_steering("pause", "pause", "Pause run RUN after its current step; `resume` continues there.")
_steering("cancel", "stop", "End run RUN for good; what was merged stays.")


@_command(
    "approvals list", project_option, click.option("--all", "everything", is_flag=True, help="Answered ones too.")
)
def _approvals(server: RemoteServer, project: str, everything: bool) -> int:
    """List the questions that you may answer, oldest first."""
    rows = server.all("approvals", "approvals", project=project, which="all" if everything else "pending")
    return output.answer(rows, lambda: questions.say_all(rows, everything=everything))


APPROVAL = click.argument("number", type=NUMBER, metavar="ID")


@_command("approvals show", APPROVAL)
def _show_approval(server: RemoteServer, number: int) -> int:
    """Show the question ID with everything it is about, and its answer if there is one."""
    row = server.get(f"approvals/{number}")
    words = row["project"], row["kind"].replace("_", " "), row["status"].capitalize()
    return output.answer(row, lambda: questions.say_whole(row, *words))


@_command(
    "approvals answer",
    APPROVAL,
    click.argument("word", metavar="yes|no", type=click.Choice(["yes", "no", "y", "n"], case_sensitive=False)),
    click.option("--reason", default="", metavar="TEXT", help="Why; a no needs it. The agents and the trail get it."),
)
def _answer(server: RemoteServer, number: int, word: str, reason: str) -> int:
    """Answer the question ID. Exit code 1 when it was answered before or what it was about has changed."""
    answer = "yes" if word.lower().startswith("y") else "no"
    subject = server.get(f"approvals/{number}")["subject"]
    found = server.post(f"approvals/{number}", answer=answer, subject=subject, reason=reason)
    return output.answer(found, f"{found['status'].capitalize()}: {found['title']}")


@_command("backlog list", PROJECT)
def _backlog(server: RemoteServer, project: str) -> int:
    """List the tickets of PROJECT in order, and say what the agents get done next."""
    return backlog.say_all(server.get(f"projects/{part(project)}/backlog"))


@_command("backlog add", PROJECT, click.argument("file", type=click.File("r", encoding="utf-8")))
def _add(server: RemoteServer, project: str, file: Any) -> int:
    """Add the tickets in FILE to PROJECT: one per line, blocks with an empty line between them, or a .csv."""
    is_csv = str(file.name).lower().endswith(".csv")
    rows = server.post(f"projects/{part(project)}/backlog", text=file.read(), csv=is_csv)["items"]
    return output.answer(rows, f"{len(rows)} tickets added or changed: {', '.join(row['key'] for row in rows[:20])}")


@_command(
    "backlog assign",
    PROJECT,
    click.argument("keys", nargs=-1, required=True),
    click.option("--minutes", default="", metavar="ESTIMATE", help="Also estimate them: minutes, or like 1h30."),
)
def _assign(server: RemoteServer, project: str, keys: tuple[str, ...], minutes: str) -> int:
    """Assign the tickets KEYS of PROJECT to the agents."""
    path = f"projects/{part(project)}/backlog/assign"
    rows = server.post(path, keys=list(keys), minutes=minutes)["items"]
    return output.answer(rows, f"Assigned: {', '.join(row['key'] for row in rows)}")


@_command(
    "report weekly",
    click.option("--week", default="", metavar="WEEK", help="A week like 2026-W48; this one by default."),
    project_option,
)
def _weekly(server: RemoteServer, week: str, project: str) -> int:
    """Show the weekly report. Exit code 1 when its rows do not add up to the ledger."""
    found = server.get("reports/weekly", week=week, project=project)
    return output.answer(found["report"], found["text"], ok=found["adds_up"])


@_command("audit verify", RUN)
def _verify(server: RemoteServer, number: int) -> int:
    """Have the server recompute every hash of run RUN; exit code 1 when anything is wrong."""
    found = server.get(f"runs/{number}/audit")
    return output.answer(found, "\n".join(found["lines"]), ok=found["ok"])


@_command("audit export", RUN)
def _export(server: RemoteServer, number: int) -> int:
    """Print every event of run RUN with its hash, oldest first, a line of JSON each."""
    if output.wants_json():
        raise WrongUse("The export is lines of JSON already.", "Leave out --json.")
    for line in server.lines(f"runs/{number}/audit/export"):
        sys.stdout.write(line + "\n")
    return 0


@_command("history", click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000)))
def _history(server: RemoteServer, limit: int) -> int:
    """List runs, newest first."""
    return history.say(server.all("runs", "runs", limit))


@_command("ask", PROJECT, click.argument("question"))
def _ask(server: RemoteServer, project: str, question: str) -> int:
    """List the places of PROJECT's code and documents that answer a question. Exit code 1 when there is none."""
    found = server.get(f"projects/{part(project)}/ask", question=question)

    def people() -> None:
        rows = [(f"{row['path']}:{row['line']}-{row['end']}", row["symbol"], row["kind"]) for row in found["places"]]
        output.table(("Place", "Symbol", "Kind"), rows, nothing="No place fits the question.")

    return output.answer(found, people, ok=bool(found["places"]))
