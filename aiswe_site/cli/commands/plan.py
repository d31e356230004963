"""aiswe plan: list, show, check, edit, approve."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import CliError, WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from projects.models import Plan, Project

MOST_BYTES = 20_000_000


@click.group()
def command() -> None:
    """List, show, check, edit and approve plans."""


@command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--prd", type=click.Path(exists=True, dir_okay=False), help="Also require coverage of its requirements.")
@output.json_option
def validate(file: Path, prd: str | None) -> int:
    """Check the plan in FILE: cycles, unknown dependencies, duplicate ids, tasks over an hour. Exit code 1 if not."""
    from agents.planning.model import content_hash
    from agents.planning.parse import parse_plan
    from agents.planning.validate import limited, validate_plan
    from agents.planning.writers import order_writers

    problems: list[dict[str, Any]] = []
    parsed, digest = None, ""
    raw = _read(file)
    if isinstance(raw, str):
        problems.append({"code": "unreadable", "message": raw, "tasks": [], "severity": "error"})
    else:
        known, names = _known(prd) if prd is not None else (None, {})
        parsed, found = parse_plan(raw, names)
        if parsed is not None:
            if known is None:  # those that the plan itself names
                known = {key: "functional" for task in parsed.tasks for key in task.requirements}
            found = [*found, *validate_plan(parsed, known)]
            if all(problem.severity == "warning" for problem in found):
                parsed, added = order_writers(parsed)
                found = limited([*found, *added])
            digest = content_hash(parsed)
        problems = [problem.to_json() for problem in found]
    valid = parsed is not None and not any(problem["severity"] == "error" for problem in problems)

    def people() -> None:
        for problem in problems:
            output.say(f"{'✕' if problem['severity'] == 'error' else '!'} {problem['message']}")
        output.say(f"✓ valid, hash {digest}" if valid else "✕ not valid")

    return output.answer({"valid": valid, "problems": problems, "hash": digest}, people, ok=valid)


def _read(file: Path) -> Any:
    """The JSON or YAML in a file, or a sentence on why it is none."""
    import yaml

    if file.stat().st_size > MOST_BYTES:
        return f"{file.name} is larger than {MOST_BYTES // 1_000_000} MB: too large for a plan."
    try:
        text = file.read_text(encoding="utf-8-sig")
        read = yaml.safe_load(text) if file.suffix in (".yaml", ".yml") else json.loads(text)
    except UnicodeDecodeError:
        return f"{file.name} is not UTF-8 text."
    except RecursionError:
        return f"{file.name} is nested too deeply to be a plan."
    except (ValueError, yaml.YAMLError) as error:
        return f"{file.name} is not {'YAML' if file.suffix in ('.yaml', '.yml') else 'JSON'}: {error}"
    return read if isinstance(read, dict) else f"{file.name} holds a {type(read).__name__}; a plan is an object."


def _known(prd: str) -> tuple[dict[str, str], dict[str, str]]:
    """Key → kind of what a document asks for, and the author's id → key."""
    from agents.requirements.documents import read_path
    from agents.requirements.extract import extract

    found = extract(read_path(prd)).requirements
    return {one.key: one.kind for one in found}, {one.author_key: one.key for one in found if one.author_key}


def _cell(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


@command.command("list")
@arguments.project_option
@output.json_option
def list_(slug: str) -> None:
    """List the plans, newest first."""
    django.start()
    from projects.models import Plan

    rows = Plan.objects.select_related("project", "document").order_by("-pk")
    rows = rows.filter(project=arguments.project(slug)) if slug else rows
    names = "plan=pk project=project.slug version status document=document.filename hash=content_hash comment"
    found = [fields(row, names) | {"tasks": len(row.content.get("tasks", []))} for row in rows]
    say_all(found)


def say_all(rows: list[dict[str, Any]]) -> int:
    """Answer with these plans."""
    names = ("plan", "project", "version", "status", "tasks", "document", "comment")
    columns: dict[str, output.Column] = {name.capitalize(): name for name in names}
    nothing = "No plans yet. A run makes one of a document."
    return output.answer(rows, lambda: output.records(rows, columns, nothing=nothing))


@command.command()
@click.argument("plan", type=arguments.numbered_plan)
@output.json_option
def show(plan: Plan) -> None:
    """Show plan PLAN: its tasks, their dependencies, and the problems that validation found."""
    say(_document(plan), plan.project.name, plan.get_status_display())


def say(plan: dict[str, Any], project: str, status: str) -> int:
    """Answer with a plan."""

    def people() -> None:
        tasks = plan["content"].get("tasks", [])
        output.say(f"{project}, plan v{plan['version']}: {status.lower()}")
        keys = ("key", "title", "needs", "requirements", "minutes")
        cells = [[_cell(task.get(key, "")) for key in keys] for task in tasks]
        output.table(("Task", "Title", "Needs", "Requirements", "Minutes"), cells, nothing="It has no tasks.")
        for task in tasks:
            output.say(f"{task.get('key', '')}: {task.get('description', '')}")
            for part in ("files", "packages", "expects"):
                if told := _cell(task.get(part, "")):
                    output.say(f"  {part}: {told}")
        for problem in plan["problems"]:
            output.say(f"! {problem.get('message', problem)}")
        output.say(f"hash {plan['hash']}")

    return output.answer(plan, people)


@command.command()
@click.argument("plan", type=arguments.numbered_plan)
@click.option("--hash", "digest", help="Approve only if the content still has this hash.")
@arguments.as_option
@output.json_option
def approve(plan: Plan, digest: str | None, user: str) -> None:
    """Approve plan PLAN as it is shown now. Nothing is built before."""
    from projects.services.planning import plans

    by = acting_user(user)
    approved = plans.approve_plan(plan, content_hash=digest or plan.content_hash, by=by)

    words = f"Plan v{approved.version} of {approved.project.name} is approved by {by}."
    output.answer(_document(approved), f"{words}\nNext: aiswe run start {approved.pk}")


@command.command()
@click.argument("plan", type=arguments.numbered_plan)
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--comment", default="", metavar="TEXT", help="Why this version exists.")
@arguments.as_option
@output.json_option
def edit(plan: Plan, file: Path | None, comment: str, user: str) -> None:
    """Make a new version of plan PLAN from FILE (JSON or YAML, as `plan show --json` prints it), or in $EDITOR.

    The version waits for approval. A plan that is not valid is refused, with exit code 1. Only the newest is edited.
    """
    if file is None and (output.wants_json() or not sys.stdin.isatty()):
        raise WrongUse("Without a terminal the plan comes from a file.", f"`aiswe plan edit {plan.pk} FILE`.")
    from projects.errors import BadInput
    from projects.services.planning import plans

    by = acting_user(user)
    content = _read(file) if file else _typed(plan)
    if isinstance(content, str):
        raise WrongUse(content, f"`aiswe plan show {plan.pk} --json` prints the shape.")
    content = content.get("content", content)  # what `plan show --json` printed is taken too
    if not isinstance(content, dict) or not isinstance(content.get("tasks"), list):
        raise WrongUse(f"{file} has no list of tasks.", f"`aiswe plan show {plan.pk} --json` prints the shape.")
    try:
        newer = plans.edit_plan(plan, content=content, by=by, comment=comment, base_hash=plan.content_hash)
    except BadInput as refusal:
        raise CliError(str(refusal), f"`aiswe plan edit {plan.pk} {file or _kept(json.dumps(content))}`.") from None
    made = f"Plan {newer.pk} (v{newer.version}) of {newer.project.name} was made from v{plan.version}."
    words = "\n".join(
        [*(f"! {one['message']}" for one in newer.problems), made, f"Next: aiswe plan approve {newer.pk}"]
    )
    if newer.pk == plan.pk:
        words = f"Nothing was changed: plan {plan.pk} (v{plan.version}) stays as it is."
    output.answer(_document(newer), words)


@command.command()
@click.argument("project", type=arguments.named_project)
@click.option(
    "--samples", default=0, type=click.IntRange(0, 20), help="First have the planner make so many more plans."
)
@click.option("--count", default=10, show_default=True, type=click.IntRange(1, 100), help="Show at most so many plans.")
@click.option("--take", default="", metavar="NAME", help="Make this variant a new version, which waits for approval.")
@arguments.as_option
@output.json_option
def variants(project: Project, samples: int, count: int, take: str, user: str) -> None:
    """Compare the newest valid plan of PROJECT with variants of it, simulated with as many tasks at a time as allowed.

    The current plan comes first, then its variants, the shortest first. Samples are model calls in a run of their own
    and stay for later comparisons. Nothing changes without --take.
    """
    from agents.planning.compare import COLUMNS
    from projects.services.planning import variants

    newest = project.plans.select_related("document", "project").first()
    if newest is None:
        raise WrongUse(f"{project.name} has no plan yet.", "Variants are made from a plan.")
    if samples:
        _sample(newest, samples, acting_user(user))
    compared = variants.compare(newest.document, count=count)
    if take:
        found = next((one for one in compared.variants if one.name == take), None)
        if found is None:
            raise WrongUse(
                f"There is no variant {take!r}.", f"There are {', '.join(one.name for one in compared.variants[1:])}."
            )
        made = variants.take_variant(newest, digest=found.digest, by=acting_user(user))
        output.answer(_document(made), f"{made.comment} It is plan {made.pk} now.\nNext: aiswe plan approve {made.pk}")
        return
    document = {
        "project": project.slug,
        "plan": compared.base.pk,
        "version": compared.base.version,
        "workers": compared.workers,
        "wanted": compared.wanted,
        "recommended": compared.recommended.name,
        "why": compared.why,
        "variants": [one.to_json() for one in compared.variants],
    }

    def people() -> None:
        cells = [[one.name + "*" * one.loosens, *(value for _, value in one.cells)] for one in compared.variants]
        output.table(("Variant", *COLUMNS), [row if len(row) > 1 else [*row, "not valid"] for row in cells])
        output.say(f"* drops needs\n{compared.why}")

    output.answer(document, people)


def _sample(plan: Plan, samples: int, by: User) -> None:
    """Have the planner make plans to compare, here and now."""
    from projects.jobs.runs import plan_run
    from projects.services.planning import runs

    run = runs.start_planning(plan.document, by=by, samples=samples)
    plan_run(run.pk)
    run.refresh_from_db()
    if run.status != run.Status.FINISHED:
        hint = f"`aiswe run watch {run.pk}` shows what it does; then compare again."
        raise CliError(f"Run {run.pk} is {run.get_status_display().lower()}: {run.why or 'not done'}", hint)


def _typed(plan: Plan) -> Any:
    """The plan as a person leaves it in their editor."""
    text = click.edit(json.dumps(plan.content, indent=2, ensure_ascii=False), extension=".json")
    if text is None:
        return plan.content  # closed without saving
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        kept = _kept(text)
        return f"What you wrote is not JSON: {error}. It is kept in {kept}: `aiswe plan edit {plan.pk} {kept}`."
    return read if isinstance(read, dict) else "A plan is an object with a list of tasks."


def _kept(text: str) -> Path:
    """A file with what a person wrote."""
    kept = Path(tempfile.mkstemp(prefix="aiswe-plan-", suffix=".json")[1])
    kept.write_text(text, encoding="utf-8")
    return kept


def _document(plan: Plan) -> dict[str, Any]:
    return fields(plan, "plan=pk project=project.slug version status hash=content_hash problems content")
