"""aiswe rehearse: past commits of a repository, done again and compared with what people did."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.startup import django
from aiswe_site.startup.home import data_folder
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import CliError, WrongUse

if TYPE_CHECKING:
    from projects.services.insight.rehearsals import RehearsalFolder


@click.command()
@click.argument("what", metavar="PROJECT|FOLDER")
@click.option("--commits", default=10, show_default=True, type=click.IntRange(1, 500), help="So many of them.")
@click.option("--commit", "named", multiple=True, metavar="SHA", help="This commit; can be repeated.")
@click.option("--since", default="", metavar="DATE", help="None before this date, as git reads it.")
@click.option("--model", default="", metavar="reference|MODEL", help="Who builds them; without it nobody does.")
@click.option("--minutes", default=25.0, show_default=True, type=click.FloatRange(1), help="The most for each commit.")
@click.option("--tokens", default=0, metavar="N", type=click.IntRange(0), help="Begin no commit after so many tokens.")
@click.option("--again", is_flag=True, help="Do commits again that have a result.")
@click.option("--export", "target", type=click.Path(path_type=Path), help="A folder for instances and predictions.")
@output.json_option
def command(
    what: str,
    commits: int,
    named: tuple[str, ...],
    since: str,
    model: str,
    minutes: float,
    tokens: int,
    again: bool,
    target: Path | None,
) -> int:
    """Do past commits of PROJECT (its short name) or of the git repository in FOLDER again, on the tree before each.

    Small commits of code and tests are chosen, spread over time and folders. Without --model it shows for how many the
    tests run here, what the gates would have stopped, and how much of what was changed stands in the prompts. With
    `reference` upstream's own change plays the model, so what is not merged is a fault of this program; with a model
    its work is judged by upstream's tests, which it does not see. Nothing of the project itself is touched. The same
    call goes on after a stop. --export writes both in SWE-bench's form: instances.jsonl and predictions.jsonl.
    """
    from agents.workspace.git import GitError
    from projects.services.insight.rehearsals import Order, RehearsalFolder

    git_dir = _git_dir(what)
    try:
        chosen = _chosen(git_dir, commits, named, since)
    except GitError as refused:
        raise WrongUse(str(refused), "Name a git repository with commits, and commits of it.") from None
    order = Order(str(git_dir), tuple(chosen), model, minutes, tokens)
    mark = hashlib.sha256(f"{git_dir}|{model}".encode()).hexdigest()[:12]
    folder = RehearsalFolder(data_folder() / "rehearsals" / mark)
    with folder.taken() as ours:
        if not ours:
            raise CliError("This rehearsal is at work already.", f"Its results so far are in {folder.path}.")
        folder.begin(order, again=again)
    ended = _run(folder) if chosen else 0
    if target is not None:
        _export(folder, git_dir, target)
    if ended:
        hint = f"The same command goes on; {folder.path / 'log.txt'} says more."
        output.complain("The rehearsal stopped before its end.", hint)
    document = folder.document()
    return output.answer(document, lambda: _people(document), ok=not ended)


def _run(folder: RehearsalFolder) -> int:
    """Have the process of the rehearsal work to its end; its progress is passed on. Returns its exit code."""
    argv = [sys.executable, "-m", "aiswe_site.rehearsal", str(folder.path)]
    with (folder.path / "log.txt").open("ab") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
    with process:
        try:
            for line in process.stdout or ():
                output.note(line.rstrip("\n"))
        except KeyboardInterrupt:  # it was sent to both: the process gives back what it took
            process.wait()
            raise
    return process.returncode


def _git_dir(what: str) -> Path:
    place = Path(what).expanduser()
    for each in (place / ".git", place):
        if (each / "HEAD").is_file() and (each / "objects").is_dir():
            return each.resolve()
    if place.is_dir():
        raise WrongUse(f"{what} is not a git repository.", "Name its top folder, or a project.")
    django.start()
    from aiswe_site.cli import arguments
    from projects.services.delivery.downloads import git_dir_of

    return git_dir_of(arguments.project(what, "`aiswe project list` lists them; a folder must be a git repository."))


def _chosen(git_dir: Path, most: int, named: tuple[str, ...], since: str) -> list[str]:
    from agents.rehearsal.upstream import spread, suitable

    if not named:
        return [change.sha for change in spread(suitable(git_dir, since=since), most)]
    found = {name: suitable(git_dir, name, newest=1) for name in named}
    if unfit := [name for name, changes in found.items() if not changes]:
        raise WrongUse(
            f"{unfit[0]} cannot be rehearsed.",
            "Name a commit with one parent that changes up to three code files, up to two test files, and pages alone.",
        )
    return [change.sha for changes in found.values() for change in changes]


def _export(folder: RehearsalFolder, git_dir: Path, target: Path) -> None:
    """Instances whose tests tell something, and what was built of them."""
    from agents.rehearsal.instances import instance, prediction, write_rows
    from agents.rehearsal.upstream import suitable

    order = folder.order()
    name = (git_dir.parent if git_dir.name == ".git" else git_dir).name
    rows, predictions = [], []
    for result in folder.results():
        for change in suitable(git_dir, result.sha, newest=1) if result.fail_to_pass else ():
            rows.append(instance(git_dir, name, change, result))
            if order is not None and order.model:
                predictions.append(prediction(rows[-1]["instance_id"], order.model, result))
    try:
        target.mkdir(parents=True, exist_ok=True)
        write_rows(target / "instances.jsonl", rows)
        write_rows(target / "predictions.jsonl", predictions)
    except OSError as error:
        raise WrongUse(f"{target} cannot be written: {error.strerror}.", "Name another folder.") from None


def _people(document: dict[str, Any]) -> None:
    columns: dict[str, output.Column] = {
        "Commit": lambda row: row["sha"][:10],
        "Subject": lambda row: row["subject"][:50],
        "Environment": lambda row: row["environment"][:60],
        "Gates": lambda row: {None: "–", 0: "pass"}.get(row["gates"]["blocked"], f"{row['gates']['blocked']} block"),
        "Outcome": lambda row: f"{row['outcome']}: {row['cause'][:80]}" if row["cause"] else row["outcome"],
        "Tries": "tries",
        "Questions": "questions",
    }
    output.records(document["commits"], columns, nothing="No commit was rehearsed.")
    seen = document["totals"]["sight"]
    if any(of for _, of in seen.values()):
        shown = ", ".join(f"{some} of {of} {name}" for name, (some, of) in seen.items())
        output.say(f"In the prompts stood {shown} that upstream changed or that call it.")
    output.say(document["sentence"])
    output.say(f"Autonomy that this speaks for: {document['autonomy']}")
