"""Small real objects for tests, made through the services wherever there is one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth import get_user_model

from projects.models import Finding, Plan, Project, Requirement, RequirementDocument, Run, Task
from projects.services.planning import documents, plans, projects, runs
from projects.services.work.moves import move_run, move_task

PASSWORD = "a long enough passphrase"
PRD = """# To-do list

FR-01 The user shall add a to-do with a title.

FR-02 The user shall mark a to-do as done.
"""

_numbers = itertools.count(1)


def make_user(name: str = "", *, role: str = "", project: Project | None = None, superuser: bool = False) -> Any:
    """A person with PASSWORD; with `role` and `project` a member of it."""
    users = get_user_model().objects
    username = name or f"person{next(_numbers)}"
    create = users.create_superuser if superuser else users.create_user
    user = create(username=username, email=f"{username}@example.org", password=PASSWORD)
    if role and project is not None:
        project.memberships.create(user=user, role=role)
    return user


def make_project(name: str = "", *, by: Any = None, **settings: Any) -> Project:
    """A project; its creator is architect, manager and developer."""
    return projects.create_project(name or f"Project {next(_numbers)}", by=by or make_user(), **settings)


def owner_of(project: Project) -> Any:
    """The person who created the project."""
    return project.created_by


def make_document(project: Project | None = None, *, text: str = PRD, confirmed: bool = True) -> RequirementDocument:
    """A document with the two requirements FR-01 and FR-02, confirmed unless told otherwise."""
    project = project or make_project()
    document = documents.upload_document(project, text.encode(), f"prd{next(_numbers)}.md", by=owner_of(project))
    rows = [
        {
            "key": "FR-01",
            "text": "The user shall add a to-do with a title.",
            "kind": "functional",
            "lines": [3, 3],
            "acceptance": ["A to-do without a title is refused."],
            "origin": "explicit",
        },
        {
            "key": "FR-02",
            "text": "The user shall mark a to-do as done.",
            "kind": "functional",
            "lines": [5, 5],
            "acceptance": [],
            "origin": "explicit",
        },
    ]
    documents.record_extraction(document, rows, [])
    if confirmed:
        documents.confirm_requirements(document, by=owner_of(project))
    return document


def plan_content(needs: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """A valid plan: the tasks named by `needs` (default T-01 ← T-02), covering FR-01 and FR-02."""
    graph = needs or {"T-01": [], "T-02": ["T-01"]}
    tasks = [
        {
            "key": key,
            "title": f"Write part {key}",
            "description": f"Write the module of {key}.",
            "kind": "code",
            "agent": "coder",
            "minutes": 30,
            "requirements": ["FR-01", "FR-02"] if number == 0 or len(graph) == 1 else ["FR-02"],
            "needs": list(wanted),
            "expects": f"The tests of {key} pass.",
            "files": [f"app/{key.lower().replace('-', '_')}.py"],
            "packages": [],
        }
        for number, (key, wanted) in enumerate(graph.items())
    ]
    return {"tasks": tasks, "notes": "small"}


def make_plan(
    document: RequirementDocument | None = None,
    *,
    needs: Mapping[str, Sequence[str]] | None = None,
    approved: bool = True,
) -> Plan:
    """A plan, approved by the project's creator unless told otherwise."""
    document = document or make_document()
    plan = plans.propose_plan(document, content=plan_content(needs))
    if approved:
        plans.approve_plan(plan, content_hash=plan.content_hash, by=owner_of(plan.project))
    return plan


def make_run(
    plan: Plan | None = None, *, needs: Mapping[str, Sequence[str]] | None = None, running: bool = True
) -> Run:
    """A build of an approved plan, running unless told otherwise."""
    plan = plan or make_plan(needs=needs)
    run = runs.start_build(plan, by=owner_of(plan.project))
    if running:
        move_run(run, Run.Status.RUNNING)
    return run


def bare_run(project: Project | None = None) -> Run:
    """A running run without plan or tasks: enough to hold a stream of events."""
    return Run.objects.create(project=project or make_project(), kind=Run.Kind.BUILD, status=Run.Status.RUNNING)


def make_task(run: Run | None = None, *, key: str = "", status: str = "", needs: Sequence[Task] = ()) -> Task:
    """A task without a plan, walked to `status` through the door (queued by default)."""
    run = run or bare_run()
    number = run.tasks.count() + 1
    task = Task.objects.create(run=run, ordinal=number, key=key or f"T-{number:02}", title="Write a part")
    task.needs.set(needs)
    for step in _PATHS.get(status, ()):
        move_task(task, step)
    return task


_PATHS: dict[str, tuple[str, ...]] = {
    "ready": ("ready",),
    "running": ("ready", "running"),
    "needs_you": ("ready", "running", "needs_you"),
    "merged": ("ready", "running", "merged"),
    "escalated": ("ready", "running", "escalated"),
    "blocked": ("blocked",),
    "skipped": ("skipped",),
    "cancelled": ("cancelled",),
}


def make_finding(task: Task | None = None, **fields: Any) -> Finding:
    """A blocking finding of high severity unless told otherwise."""
    values = {
        "tool": "bandit",
        "rule": "B602",
        "severity": "HIGH",
        "confidence": "HIGH",
        "cwe": "CWE-78",
        "path": "app/run.py",
        "line": 3,
        "message": "subprocess call with shell=True",
        "remediation": "pass a list",
        "fingerprint": f"f{next(_numbers):063}",
        "blocks": True,
    }
    return Finding.objects.create(task=task or make_task(status="running"), **{**values, **fields})


def make_requirement(document: RequirementDocument, key: str = "", **fields: Any) -> Requirement:
    """One more accepted requirement of the document."""
    number = document.requirements.count() + 1
    values = {"text": "The list is kept.", "kind": "functional", "status": "accepted"}
    return Requirement.objects.create(
        document=document, ordinal=number, key=key or f"FR-{number:02}", **{**values, **fields}
    )
