"""aiswe project …: what was built goes out."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import CliError, WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Project

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("project", type=arguments.named_project)
@click.option("--commit", default="", help="A branch or commit; the base branch by default.")
@click.option("--output", "-o", "target", type=FILE, required=True, help="File to write: .zip, .tar.gz or .bundle.")
@output.json_option
def export(project: Project, commit: str, target: Path) -> None:
    """Write the code of PROJECT (its short name) to a file: the files of a commit, or with .bundle its history too."""
    from projects.services.delivery import downloads

    form = next((form for form in downloads.FORMATS if target.name.endswith(f".{form}")), None)
    if form is None:
        raise WrongUse(
            f"{target.name} says no format.", f"End the name with .{', .'.join(downloads.FORMATS[:-1])} or .bundle."
        )
    sha = downloads.commit_of(project, commit)
    draft = target.with_name(f".{target.name}.part")
    try:
        with draft.open("wb") as sink:
            for piece in downloads.download(project, form, commit).pieces:
                sink.write(piece)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    size = target.stat().st_size
    document = {"project": project.slug, "commit": sha, "file": str(target), "format": form, "bytes": size}
    output.answer(document, f"{target}: commit {sha[:10]}, {size:,} bytes")


@click.command()
@click.argument("project", type=arguments.named_project)
@click.option("--commit", default="", help="A branch or commit; the base branch by default.")
@click.option("--output", "-o", "target", type=FILE, help="File to write; printed by default.")
@output.json_option
def bill(project: Project, commit: str, target: Path | None) -> None:
    """Show what PROJECT (its short name) is made of: its packages with their licences, in CycloneDX 1.6."""
    from projects.services.delivery.bills import bill_of

    text = bill_of(project, commit)
    if target is None:
        output.answer(json.loads(text), text.rstrip())
    else:
        target.write_text(text)
        output.answer({"project": project.slug, "file": str(target)}, f"Wrote {target}.")


@click.command()
@click.argument("project", type=arguments.named_project)
@output.json_option
def state(project: Project) -> int:
    """Show what became of each requirement of PROJECT (its short name); exit code 1 when one is left out.

    Those of earlier documents are listed too, as far as they were planned.
    """
    from aiswe_site.startup.home import Home, read_text
    from projects.services.delivery.state import LEFT_OUT, project_state

    address = read_text(Home.from_environment().address_file)
    document = project_state(project, f"{address.rstrip('/')}/p/{project.pk}/" if address else f"/p/{project.pk}/")

    def people() -> None:
        columns: dict[str, output.Column] = {
            "Document": "document",
            "Requirement": "key",
            "State": lambda row: row["state"].replace("_", " "),
            "Tests": "tests",
            "Commits": lambda row: " ".join(sha[:10] for sha in row["commits"]),
        }
        output.records(document["requirements"], columns, nothing="No requirements yet.")
        output.say(f"Head {document['head'] or '(no code yet)'}")

    ok = all(row["state"] != LEFT_OUT for row in document["requirements"])
    return output.answer(document, people, ok=ok)


@click.command()
@click.argument("project", type=arguments.named_project)
@click.argument("folder", type=FOLDER)
@output.json_option
def clone(project: Project, folder: Path) -> None:
    """Clone PROJECT (its short name) into FOLDER, with the attestations of its merges."""
    from projects.services.delivery import downloads

    if folder.exists() and any(folder.iterdir()):
        raise WrongUse(f"{folder} is not empty.", "Name a new folder.")
    source = str(downloads.git_dir_of(project).resolve())
    # As a person's own command would be: their settings count, and what they may not read they do not get.
    _git("clone", "-q", "--no-hardlinks", "--", source, str(folder))
    _git("-C", str(folder), "fetch", "-q", "origin", "+refs/notes/aiswe:refs/notes/aiswe", check=False)
    head = _git("-C", str(folder), "rev-parse", "HEAD").strip()
    output.answer({"project": project.slug, "folder": str(folder), "head": head}, f"{folder}: commit {head[:10]}")


@click.command()
@click.argument("project", type=arguments.named_project)
@click.argument("task")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--run", type=int, help="The run it was built in; the newest that merged it by default.")
@output.json_option
def take(project: Project, task: str, folder: Path, run: int | None) -> int:
    """Apply the commit of one merged TASK of PROJECT to your own checkout in FOLDER, with `git am --3way`.

    On a conflict git says what to do, and the exit code is 1; `git am --abort` there takes it back.
    """
    from projects.models import Task
    from projects.services.delivery import downloads

    rows = Task.objects.filter(run__project=project, key=task).exclude(commit="").order_by("-run")
    row = rows.filter(run=run).first() if run is not None else rows.first()
    if row is None:
        raise WrongUse(
            f"{project.slug} has no merged task {task!r}.", f"`aiswe project state {project.slug}` lists them."
        )
    patch = b"".join(downloads.patch_of(row).pieces)
    done = subprocess.run(["git", "-C", str(folder), "am", "--3way"], input=patch, capture_output=True)
    document = fields(row, "project=run.project.slug task=key run=run_id commit") | {"folder": str(folder)}
    ok = done.returncode == 0
    words = (done.stdout if ok else done.stderr + done.stdout).decode("utf-8", "replace").strip()
    return output.answer({**document, "applied": ok, "git": words}, words or f"{row.key} is applied.", ok=ok)


@click.command()
@click.argument("project", type=arguments.named_project)
@click.option("--run", type=int, help="The build whose branch is pushed; the newest with one by default.")
@click.option("--yes", is_flag=True, help="Confirm without being asked.")
@arguments.as_option
@output.json_option
def push(project: Project, run: int | None, yes: bool, user: str) -> None:
    """Push the results of a build of PROJECT (its short name), branch aiswe/run-N, to the project's remote.

    Nothing else is pushed, and nothing is forced. The remote is a setting of the project; credentials come from
    AISWE_GIT_TOKENS or AISWE_GIT_SSH_KEY. The yes is kept in the audit trail.
    """
    from projects.services.delivery import pushes

    row = pushes.newest_result(project) if run is None else project.runs.filter(pk=run).first()
    if row is None:
        raise WrongUse(f"{project.slug} has no build{f' {run}' if run else ''} to push.", "`aiswe history` lists them.")
    target = pushes.target_of(row)
    if not yes:
        if output.wants_json():
            raise WrongUse("A push asks for a yes.", "Add --yes.")
        click.confirm(f"Push {target.branch} at {target.commit[:10]} to {target.address}?", abort=True, err=True)
    done = pushes.push_run(row, by=acting_user(user), address=target.address, commit=target.commit)
    document = {"project": project.slug, "run": row.pk, **asdict(done)}
    output.answer(document, f"{done.branch} was pushed to {done.address} at {done.commit[:10]}.")


@click.command("tell-ticket")
@click.argument("project", type=arguments.named_project)
@click.option("--run", type=int, help="The build that is told of; the newest with results by default.")
@click.option(
    "--move", default="", metavar="STATE", help="Also move the ticket: a step or state there; of a forge closed."
)
@click.option("--yes", is_flag=True, help="Confirm without being asked.")
@arguments.as_option
@output.json_option
def tell_ticket(project: Project, run: int | None, move: str, yes: bool, user: str) -> None:
    """Write on the ticket that a build of PROJECT (its short name) was for what came of it.

    The words are shown first; the yes is kept in the audit trail.
    """
    from projects.services.delivery import pushes
    from projects.services.forges import tickets

    row = pushes.newest_result(project) if run is None else project.runs.filter(pk=run).first()
    report = tickets.report_of(row) if row is not None else None
    if row is None or report is None:
        raise WrongUse(
            f"{project.slug} has no finished build of a ticket{f' in run {run}' if run else ''}.",
            "A project, document or backlog ticket that came from an address has one: see --ticket.",
        )
    if not yes:
        if output.wants_json():
            raise WrongUse("Writing on a ticket asks for a yes.", "Add --yes.")
        output.say(report.text)
        asked = f"Move {report.address}, where this is written" if report.written else f"Write this on {report.address}"
        click.confirm(f"{asked}?", abort=True, err=True)
    tickets.write_back(row, by=acting_user(user), digest=report.digest, move=move)
    document = {"project": project.slug, "run": row.pk, "address": report.address, "text": report.text, "move": move}
    did = report.address if report.written else f"Written on {report.address}"
    output.answer(document, f"{did}{f', moved: {move}' if move else ''}.")


def _git(*argv: str, check: bool = True) -> str:
    ended = subprocess.run(
        ["git", *argv], capture_output=True, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"}, stdin=subprocess.DEVNULL
    )
    if check and ended.returncode:
        raise CliError(f"git failed: {ended.stderr.decode('utf-8', 'replace').strip()[-500:]}")
    return ended.stdout.decode("utf-8", "replace")


COMMANDS = (state, bill, export, clone, take, push, tell_ticket)
