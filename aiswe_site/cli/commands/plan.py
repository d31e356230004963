"""aiswe plan: show, check, approve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import django, output

if TYPE_CHECKING:
    from projects.models import Plan

MOST_BYTES = 20_000_000


@click.group()
def command() -> None:
    """Show, check and approve plans."""


@command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--prd", type=click.Path(exists=True, dir_okay=False), help="Also require coverage of its requirements.")
@output.json_option
def validate(file: Path, prd: str | None) -> int:
    """Check the plan in FILE: cycles, unknown dependencies, duplicate ids, tasks over an hour. Exit code 1 if not."""
    from agents.planning.model import content_hash
    from agents.planning.parse import parse_plan
    from agents.planning.validate import validate_plan

    problems: list[dict[str, Any]] = []
    parsed, digest = None, ""
    raw = _read(file)
    if isinstance(raw, str):
        problems.append({"code": "unreadable", "message": raw, "tasks": [], "severity": "error"})
    else:
        parsed, found = parse_plan(raw)
        if parsed is not None:
            digest = content_hash(parsed)
            found = [*found, *validate_plan(parsed, _requirements(prd, raw))]
        problems = [problem.to_json() for problem in found]
    valid = parsed is not None and not any(problem["severity"] == "error" for problem in problems)

    def people() -> None:
        for problem in problems:
            output.say(f"{'✕' if problem['severity'] == 'error' else '!'} {problem['message']}")
        output.say(f"✓ valid, hash {digest}" if valid else "✕ not valid")

    return output.answer({"valid": valid, "problems": problems, "hash": digest}, people, ok=valid)


def _read(file: Path) -> Any:
    """The JSON in a file, or a sentence on why it is none."""
    if file.stat().st_size > MOST_BYTES:
        return f"{file.name} is larger than {MOST_BYTES // 1_000_000} MB: too large for a plan."
    try:
        read = json.loads(file.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        return f"{file.name} is not UTF-8 text."
    except RecursionError:
        return f"{file.name} is nested too deeply to be a plan."
    except ValueError as error:
        return f"{file.name} is not JSON: {error}"
    return read if isinstance(read, dict) else f"{file.name} holds a {type(read).__name__}; a plan is an object."


def _requirements(prd: str | None, plan: dict[str, Any]) -> dict[str, str]:
    """Key → kind: of the document when one is given, else those that the plan itself names."""
    if prd is not None:
        from agents.requirements.documents import read_path
        from agents.requirements.extract import extract

        return {found.key: found.kind for found in extract(read_path(prd)).requirements}
    tasks = plan.get("tasks")
    named = [task.get("requirements") for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    return {key: "functional" for keys in named if isinstance(keys, list) for key in keys if isinstance(key, str)}


def _cell(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


@command.command()
@click.argument("plan", type=int)
@output.json_option
def show(plan: int) -> None:
    """Show plan PLAN: its tasks, their dependencies, and the problems that validation found."""
    django.start()
    from projects.models import Plan

    found = django.row(Plan, plan, "plan")

    def people() -> None:
        tasks = found.content.get("tasks", [])
        output.say(f"{found.project.name}, plan v{found.version}: {found.get_status_display().lower()}")
        keys = ("key", "title", "needs", "requirements", "minutes")
        cells = [[_cell(task.get(key, "")) for key in keys] for task in tasks]
        output.table(("Task", "Title", "Needs", "Requirements", "Minutes"), cells, nothing="It has no tasks.")
        for problem in found.problems:
            output.say(f"! {problem.get('message', problem)}")
        output.say(f"hash {found.content_hash}")

    output.answer(_document(found), people)


@command.command()
@click.argument("plan", type=int)
@click.option("--hash", "digest", help="Approve only if the content still has this hash.")
@django.as_option
@output.json_option
def approve(plan: int, digest: str | None, user: str) -> None:
    """Approve plan PLAN as it is shown now. Nothing is built before."""
    django.start()
    from projects.models import Plan
    from projects.services.planning import plans

    by = django.acting_user(user)
    found = django.row(Plan, plan, "plan")
    approved = plans.approve_plan(found, content_hash=digest or found.content_hash, by=by)

    words = f"Plan v{approved.version} of {approved.project.name} is approved by {by}."
    output.answer(_document(approved), f"{words}\nNext: aiswe run start {approved.pk}")


def _document(plan: Plan) -> dict[str, Any]:
    return {
        "plan": plan.pk,
        "project": plan.project.slug,
        "version": plan.version,
        "status": plan.status,
        "hash": plan.content_hash,
        "problems": plan.problems,
        "content": plan.content,
    }
