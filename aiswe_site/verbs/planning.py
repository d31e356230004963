"""The verbs on projects, documents and plans.

Each looks up its rows as the caller sees them, calls one service, and answers with a document. What a verb is for
stands in its docstring, which the model of an MCP client reads, and which the API's description shows.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal

from django.db import transaction
from pydantic import Field

from aiswe_site.verbs import answers, facts
from aiswe_site.verbs.callers import APPROVE, Caller
from aiswe_site.verbs.lookup import (
    MOST,
    AnyProject,
    Cursor,
    Limit,
    Number,
    OrNewest,
    Reason,
    Slug,
    by_person,
    document_of,
    page_of,
    row_of,
    woken,
)
from dashboard.access import visibility
from projects.errors import BadInput, NotFound
from projects.models import Plan, Project, RequirementDocument
from projects.models.project import NO_APPROVAL
from projects.services.delivery import state
from projects.services.planning import documents, plans, projects, runs, suggestions

DOCUMENT_CHARS = 5 * 1024 * 1024


def _requirements(caller: Caller, row: RequirementDocument) -> answers.RequirementsAnswer:
    if row.status == row.Status.CONFIRMED:
        return facts.requirements_of(row, "`propose_plan` has it planned, unless it is planned already.")
    command = f"aiswe requirements confirm {row.project.slug}"
    return facts.requirements_of(row, by_person(caller, "confirm_requirements", command))


def _plan(caller: Caller, row: Plan) -> answers.PlanAnswer:
    if row.status == row.Status.APPROVED:
        return facts.plan_of(row, "`start_run` builds it.")
    return facts.plan_of(row, by_person(caller, "approve_plan", f"aiswe plan approve {row.pk}"))


def list_projects(caller: Caller, cursor: Cursor = "", limit: Limit = MOST) -> answers.ProjectsAnswer:
    """List the projects that you may see, newest first."""
    rows, following = page_of(visibility.visible(Project, caller.user), cursor, limit)
    return answers.ProjectsAnswer(projects=[facts.project_of(row) for row in rows], next=following)


def show_project(caller: Caller, project: Slug) -> answers.ProjectAnswer:
    """Show a project, with the numbers of its newest document, plan and runs."""
    return facts.project_of(row_of(caller, Project, slug=project))


def create_project(
    caller: Caller,
    name: Annotated[str, Field(min_length=1, max_length=120)],
    autonomy: Literal["plan_only", "plan_gates", "gates_only", "none"] = "plan_gates",
    model: Annotated[str, Field(max_length=120, description='"" for the configured one.')] = "",
    house_rules: Annotated[str, Field(max_length=20_000, description="Patterns that every task must obey.")] = "",
) -> answers.ProjectAnswer:
    """Create a project, of which you are architect, manager and developer. `add_document` gives it work.

    One that approves its own plans, gates_only or none, needs the scope `approve` too.
    """
    if autonomy in NO_APPROVAL:
        caller.require(APPROVE, "aiswe project new")
    made = projects.create_project(name, by=caller.user, autonomy=autonomy, model=model, house_rules=house_rules)
    return facts.project_of(made)


def project_state(caller: Caller, project: Slug) -> answers.StateAnswer:
    """Tell what became of each requirement of a project, with the number of its tests and its commits."""
    row = row_of(caller, Project, slug=project)
    found = [facts.requirement_of(one.requirement, one) for one in state.requirement_states(row)]
    return answers.StateAnswer(project=row.slug, head=state.project_state(row)["head"], requirements=found)


def list_documents(caller: Caller, project: Slug, cursor: Cursor = "", limit: Limit = MOST) -> answers.DocumentsAnswer:
    """List the documents of a project, newest first."""
    rows, following = page_of(row_of(caller, Project, slug=project).documents.all(), cursor, limit)
    return answers.DocumentsAnswer(documents=[facts.document_of(row) for row in rows], next=following)


def show_document(caller: Caller, project: Slug, document: Number) -> answers.DocumentTextAnswer:
    """Show a document with its text, as it was read."""
    row = document_of(caller, project, document)
    return answers.DocumentTextAnswer(**facts.document_of(row).model_dump(), text=row.text)


def list_requirements(caller: Caller, project: Slug, document: OrNewest = 0) -> answers.RequirementsAnswer:
    """List what a document of a project asks for, and the questions that it leaves open."""
    return _requirements(caller, document_of(caller, project, document))


def add_document(
    caller: Caller,
    project: Slug,
    text: Annotated[str, Field(min_length=1, max_length=DOCUMENT_CHARS, description="The document, in Markdown.")],
    filename: Annotated[str, Field(min_length=1, max_length=200)] = "document.md",
    relation: Annotated[
        Literal["", "adds", "replaces"], Field(description='To earlier ones; "": it replaces the one of its name.')
    ] = "",
    encoding: Annotated[
        Literal["text", "base64"], Field(description="base64: `text` is a file like DOCX or PDF, by its filename.")
    ] = "text",
) -> answers.RequirementsAnswer:
    """Give a project a requirements document and list what is read from it. Nothing is confirmed or planned yet."""
    row = row_of(caller, Project, slug=project)
    try:
        data = base64.b64decode(text, validate=True) if encoding == "base64" else text.encode()
    except (binascii.Error, ValueError):
        raise BadInput("'text' is not base64.") from None
    made = documents.upload_document(row, data, filename, by=caller.user, relation=relation)
    return _requirements(caller, documents.extract_written(made))


def confirm_requirements(
    caller: Caller,
    project: Slug,
    document: Number,
    accept: Annotated[
        list[Annotated[str, Field(max_length=40)]],
        Field(max_length=1_000, description="Keys of suggestions to accept too."),
    ] = [],  # noqa: B006  it is never changed
    reject_others: Annotated[bool, Field(description="Reject the other suggestions instead of leaving them open.")] = (
        False
    ),
) -> answers.RequirementsAnswer:
    """Confirm a document's requirements for planning. A person's decision: call it only at their word."""
    row = document_of(caller, project, document)
    with transaction.atomic():
        if accept or reject_others:
            suggestions.decide_suggestions(row, accept, by=caller.user, reject_others=reject_others)
        confirmed = documents.confirm_requirements(row, by=caller.user)
    woken()
    return _requirements(caller, confirmed)


def list_plans(
    caller: Caller, project: AnyProject = "", cursor: Cursor = "", limit: Limit = MOST
) -> answers.PlansAnswer:
    """List plans, newest first."""
    rows = visibility.visible(Plan, caller.user)
    rows = rows.filter(project=row_of(caller, Project, slug=project)) if project else rows
    found, following = page_of(rows, cursor, limit)
    return answers.PlansAnswer(plans=[facts.plan_row_of(row) for row in found], next=following)


def show_plan(caller: Caller, project: Slug, plan: OrNewest = 0) -> answers.PlanAnswer:
    """Show a plan of a project: its tasks, what each needs, and the problems that validation found."""
    row = row_of(caller, Project, slug=project)
    found = row_of(caller, Plan, pk=plan, project=row) if plan else row.plans.first()
    if found is None:
        raise NotFound(f"{row.name} has no plan yet. `propose_plan` has one made.")
    return _plan(caller, found)


def read_plan(caller: Caller, plan: Number) -> answers.PlanAnswer:
    """Show a plan by its number."""
    return _plan(caller, row_of(caller, Plan, pk=plan))


def propose_plan(caller: Caller, project: Slug, document: OrNewest = 0) -> answers.RunAnswer:
    """Have a document planned: starts a planning run, or returns the one that is open. A person approves its plan."""
    return facts.run_of(runs.start_planning(document_of(caller, project, document), by=caller.user), woken())


def approve_plan(
    caller: Caller,
    plan: Number,
    hash: Annotated[str, Field(max_length=64, description="The hash of the plan that the person saw.")],
    comment: Reason = "",
) -> answers.PlanAnswer:
    """Approve a plan by its hash. A person's decision: call it only at their word, after they saw the plan."""
    row = row_of(caller, Plan, pk=plan)
    return _plan(caller, plans.approve_plan(row, content_hash=hash, by=caller.user, comment=comment))


def request_changes(
    caller: Caller,
    plan: Number,
    comment: Annotated[str, Field(min_length=1, max_length=4_000, description="What should change.")],
) -> answers.PlanAnswer:
    """Reject a plan with what should change; the planner makes a new version. A person's decision."""
    row = plans.ask_for_changes(row_of(caller, Plan, pk=plan), by=caller.user, comment=comment)
    woken()
    return _plan(caller, row)


def start_run(caller: Caller, plan: Number) -> answers.RunAnswer:
    """Build an approved plan: starts a run, or returns the one that builds it."""
    return facts.run_of(runs.start_build(row_of(caller, Plan, pk=plan), by=caller.user), woken())
