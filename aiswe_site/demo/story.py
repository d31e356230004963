"""The demo's steps. A user of its own, without a password, gives the answers, so that no person's name stands below a
yes that nobody gave. Every step looks at the database first: after a crash the next call goes on where the last
stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction

from projects.models import Plan, Project, Requirement, RequirementDocument, Run
from projects.models.project import Role
from projects.services.planning import documents, plans, projects, runs
from projects.storage.paths import scenario_path
from projects.workers.queue import enqueue

if TYPE_CHECKING:
    from django.contrib.auth.models import User

SCENARIO = "household"
ARCHITECT = "demo-architect"
# Two conversations are written at a time; a third task may be testing meanwhile.
PARALLEL_TASKS = 3


def architect() -> User:
    """The user that plays the architect in demos; nobody can sign in as it."""
    user, made = get_user_model().objects.get_or_create(username=ARCHITECT)
    if made:
        user.set_unusable_password()
        user.save()
    return user


def begin(viewer: User | None = None) -> Run:
    """Make a demo project and start its planning; `viewer` may watch and steer it. Returns the planning run."""
    player = architect()
    prd = scenario_path(SCENARIO) / "prd.md"
    with transaction.atomic():
        number = Project.objects.filter(created_by=player).count() + 1
        project = projects.create_project(
            f"Demo {number}: shared household",
            by=player,
            model=f"scripted:{SCENARIO}",
            limits={"parallel_tasks": PARALLEL_TASKS},
        )
        if viewer is not None:
            projects.add_member(project, viewer, Role.DEVELOPER, by=player)
        document = documents.upload_document(project, prd.read_bytes(), prd.name, by=player)
        return runs.start_planning(document, by=player)


def build_of(planning: Run) -> Run | None:
    """The build that followed a planning run, if it has begun."""
    return Run.objects.filter(project=planning.project_id, kind=Run.Kind.BUILD).order_by("pk").first()


def open_demos() -> list[Run]:
    """Planning runs of demos that still wait for one of the architect's answers."""
    planned = Run.objects.filter(kind=Run.Kind.PLAN, project__created_by__username=ARCHITECT)
    built = Run.objects.filter(kind=Run.Kind.BUILD).values("project")
    stopped = (Run.Status.FAILED, Run.Status.CANCELLED)
    return list(planned.exclude(project__in=built).exclude(status__in=stopped).select_related("project", "document"))


def advance(planning: Run) -> None:
    """Give the answer that the demo waits for now, if any. Raises ProjectsError when somebody else was faster."""
    player = architect()
    document = planning.document
    if document is None:
        return
    if document.status == RequirementDocument.Status.EXTRACTED:
        for suggestion in document.requirements.filter(origin__in=Requirement.SUGGESTED):
            documents.set_requirement(suggestion, by=player, status=Requirement.Status.ACCEPTED)
        documents.confirm_requirements(document, by=player)
        enqueue("projects.jobs.plan_run", planning.pk)
        return
    plan = plans.newest_plan(document)
    if plan is None:
        return
    if plan.status == Plan.Status.PROPOSED:
        plans.approve_plan(plan, content_hash=plan.content_hash, by=player, comment="The demo approves by itself.")
        plan.refresh_from_db()
    if plan.status == Plan.Status.APPROVED:
        runs.start_build(plan, by=player)
