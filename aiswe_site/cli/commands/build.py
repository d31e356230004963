"""aiswe build: from a sentence to files, in one command."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments, documents, watching
from aiswe_site.startup import django, serving
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import CliError, Missing, WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from agents.recipes.recipe import Recipe
    from aiswe_site.startup.serving import Worker
    from projects.models import Plan, Project, RequirementDocument, Run

LOOK_S = 0.5
LONGEST_NAME = 60
_VERB = re.compile(r"(?:please\s+)?(?:build|make|create|write|develop|program)\s+(?:me\s+)?(?:an?\s+|the\s+)?", re.I)
FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("text")
@click.option("--recipe", "started_from", required=True, metavar="RECIPE", help=documents.RECIPE)
@click.option("--name", default="", help="What the project is called; from the text by default.")
@click.option("--model", default="", help="A model of the server; the configured one by default.")
@click.option("--yes", is_flag=True, help="Approve the plan without being asked.")
@click.option("--output", "-o", "target", type=FOLDER, help="A new or empty folder for the files.")
@arguments.as_option
@output.json_option
def command(text: str, started_from: str, name: str, model: str, yes: bool, target: Path | None, user: str) -> int:
    """Build what TEXT says, in a new project that starts from a recipe.

    The plan is shown and needs a yes. Then the workers of the running `aiswe up` build it, or else this command does,
    until all is merged. Only the plan is approved by --yes: every other question waits for a person, with exit code 1.
    """
    if not text.strip():
        raise WrongUse("Say what is to be built.", 'aiswe build "Build a CRM" --recipe streamlit')
    if not yes and output.wants_json():
        raise WrongUse("A plan asks for a yes.", "Add --yes.")
    if target is not None and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise WrongUse(f"{target} is not an empty folder.", "Name a new folder: nothing is written over.")
    django.start()
    by, recipe = acting_user(user), documents.recipe(started_from)
    planning = _begin(text.strip(), name.strip() or name_for(text), recipe, model, by)
    with serving.worker(output.note) as worker:
        plan = _planned(planning, by, yes, worker)
        run = approved(plan, by, yes)
        why = _watched(run, worker)
    return answer(run, plan, why, target)


def name_for(text: str) -> str:
    """A project's name from what is wished: "Build a CRM" is called CRM."""
    line = _VERB.sub("", text.strip().splitlines()[0].lstrip("# "), count=1)
    first = re.split(r"[.:;!?]\s|[.:;!?]$", line)[0].strip()
    cut = first[:LONGEST_NAME]
    words = first if cut == first else cut.rpartition(" ")[0] or cut
    return (words[:1].upper() + words[1:]) or "Project"


def _begin(text: str, name: str, recipe: Recipe | None, model: str, by: User) -> Run:
    """The new project with its document, and the run that plans it."""
    from agents.requirements.extract import extract
    from projects.services.planning import documents as papers
    from projects.services.planning import runs
    from projects.services.planning.small_work import plan_document, small_document
    from projects.services.repositories.recipes import started_project

    with started_project(name, by=by, recipe=recipe, model=model) as project:
        rows = extract(text).requirements
        if len(rows) > 1 or (rows and rows[0].text.split() == text.split()):
            planning = runs.start_planning(papers.upload_document(project, text.encode(), "wish.md", by=by), by=by)
        else:
            planning = plan_document(
                small_document(project, text, name="wish", by=by), by=by
            )  # the rules would read a part of it, or nothing
    output.note(f"Project {project.slug} starts from {recipe.title if recipe else 'nothing'}; run {planning.pk} plans.")
    return planning


def _planned(planning: Run, by: User, yes: bool, worker: Worker) -> Plan:
    """The proposed plan, once there is one. Raises CliError when there will be none without a person."""
    from agents.engine.waiting import UNCONFIRMED, WaitReason
    from projects.models import RequirementDocument
    from projects.services.planning import plans

    document = planning.document
    assert document is not None  # noqa: S101  start_planning() makes no run without one
    seen, confirmed = 0, False
    while not worker.failure:
        seen = _tell(planning, seen)
        planning.refresh_from_db()
        document.refresh_from_db()
        if (plan := plans.newest_plan(document)) is not None:
            return plan
        if planning.status in planning.OVER:
            raise CliError(f"There is no plan: {planning.why or planning.get_status_display()}", _again(planning))
        if planning.wait_reason == WaitReason.MODEL:
            raise Missing(f"No model answers: {planning.why}", f"`aiswe doctor` says more. {_again(planning)}")
        waits = planning.status == planning.Status.NEEDS_YOU and planning.wait_reason in UNCONFIRMED
        if waits and not confirmed and document.status == RequirementDocument.Status.EXTRACTED:
            confirm(document, by, yes)
            confirmed = True
            worker.wake()
        time.sleep(LOOK_S)
    raise CliError("The worker ended.", _again(planning))


def _again(planning: Run) -> str:
    return f"`aiswe up` goes on with run {planning.pk} of {planning.project.slug}."


def confirm(document: RequirementDocument, by: User, yes: bool) -> None:
    """Show what was read, and have it confirmed: what the text says; suggestions stay suggestions."""
    from projects.services.planning import documents as papers

    for row in document.requirements.wanted().order_by("ordinal"):
        output.note(f"{row.key}: {row.text}")
    suggested = document.requirements.exclude(pk__in=document.requirements.wanted().values("pk"))
    for row in suggested.order_by("ordinal"):
        output.note(f"{row.key}, suggested and not planned: {row.text}")
    if not yes and not click.confirm("Are these the requirements?", err=True):
        hint = f"`aiswe requirements show {document.project.slug}`, then `{documents.to_confirm(document)}`."
        raise CliError("Nothing is planned before the requirements are confirmed.", hint)
    papers.confirm_requirements(document, by=by)


def approved(plan: Plan, by: User, yes: bool) -> Run:
    """The build of a plan that a person said yes to. Raises CliError after a no."""
    from projects.services.planning import plans, runs

    for line in lines_of(plan):
        output.note(line)
    if plan.status == plan.Status.INVALID:
        raise CliError(f"The plan is not valid. {plan.problems[0]['message']}", f"`aiswe plan edit {plan.pk}`")
    if plan.status == plan.Status.PROPOSED:
        if not yes and not click.confirm("Build this?", err=True):
            hint = f"Change it with `aiswe plan edit {plan.pk}`; `aiswe plan approve {plan.pk}` says yes."
            raise CliError("Nothing is built.", hint)
        plans.approve_plan(plan, content_hash=plan.content_hash, by=by)
        plan.refresh_from_db()
    return runs.start_build(plan, by=by)


def lines_of(plan: Plan) -> list[str]:
    """A plan as lines to read: each task with what it does, writes and needs."""
    found = [f"Plan v{plan.version} of {plan.project.name}"]
    for task in plan.content.get("tasks", []):
        after = f", after {', '.join(task['needs'])}" if task.get("needs") else ""
        found.append(f"{task.get('key', '')}: {task.get('title', '')} ({task.get('minutes', 0)} min{after})")
        found += [f"  {line}" for line in str(task.get("description", "")).splitlines() if line.strip()]
        if task.get("files"):
            found.append(f"  files: {', '.join(task['files'])}")
        if task.get("packages"):
            found.append(f"  packages: {', '.join(task['packages'])}")
    return [*found, *(f"! {problem.get('message', '')}" for problem in plan.problems)]


def _watched(run: Run, worker: Worker) -> str:
    """Tell what happens until the build is over or waits for a person; why it stopped short, or ""."""
    from aiswe_site.demo.result import standstill

    worker.wake()
    seen = 0
    while not worker.failure:
        seen = _tell(run, seen)
        run.refresh_from_db()
        if run.status in run.OVER or standstill(run):
            _tell(run, seen)
            return standstill(run)
        time.sleep(LOOK_S)
    return "the worker ended"


def _tell(run: Run, seen: int) -> int:
    """Print the events after the `seen` one; the number of the newest."""
    from projects.services.audit.events import events_after

    for event in events_after(run.pk, seen):
        output.note(watching.line_of(event))
        seen = event.seq
    return seen


def answer(run: Run, plan: Plan, why: str, target: Path | None) -> int:
    """What came of it, its files included."""
    from aiswe_site.cli.commands.run import waits
    from projects.models import Task
    from projects.services.delivery.downloads import commit_of
    from projects.services.delivery.start import how_to_start
    from projects.storage.paths import repository_of

    project = run.project
    merged = run.tasks.filter(status=Task.Status.MERGED).count()
    good = run.status == run.Status.FINISHED and not run.left_out and merged > 0
    head = commit_of(project)
    if good and target is not None:
        write_files(project, head, target)
    told = how_to_start(repository_of(project), head)
    start = told.lines if told else [str(project.recipe.get("start", ""))]
    document: dict[str, Any] = {
        **fields(run, "project=project.slug run=pk status left_out why"),
        "plan": plan.pk,
        "tasks": {"merged": merged, "of": run.tasks.count()},
        "head": head,
        "folder": str(target) if good and target else "",
        "start": start,
        "recipe": project.recipe.get("name", ""),
    }

    def people() -> None:
        output.say(f"{merged} of {run.tasks.count()} tasks are merged in project {project.slug}.")
        if not good:
            if not why or why != run.why:  # what the run says itself is in what it waits for
                output.say(why or f"Run {run.pk} is {run.get_status_display().lower()}.")
            output.say(waits(run))
            output.say(f"To go on: aiswe up, then aiswe run watch {run.pk}")
            return
        place = str(target) if target else f"aiswe project clone {project.slug} FOLDER"
        output.say(f"Files: {place}")
        output.say("\n".join(["Start:", *(f"  {line}" for line in start)]))

    return output.answer(document, people, ok=good)


def write_files(project: Project, commit: str, target: Path) -> None:
    """The files of a commit as a new folder, which appears when it is complete. Raises WrongUse for one with files."""
    from projects.services.delivery.downloads import download

    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.parent / f".{target.name}.{secrets.token_hex(6)}"
    draft.mkdir()
    try:
        with tempfile.TemporaryFile() as packed:
            packed.writelines(download(project, "tar.gz", commit).pieces)
            packed.seek(0)
            with tarfile.open(fileobj=packed, mode="r:gz") as archive:
                archive.extractall(draft, filter="data")
        with contextlib.suppress(FileNotFoundError):
            target.rmdir()  # an empty folder; one with files raises OSError
        draft.rename(target)
    except OSError as error:
        raise WrongUse(f"{target} cannot be written: {error.strerror}.", "Name a new folder.") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
