"""Every row a page may touch, fetched through the person who asks: others' ids do not exist for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from projects.models import Approval, Finding, Plan, Project, Requirement, RequirementDocument, Run, Task

if TYPE_CHECKING:
    Person = User | AnonymousUser


def projects(user: Person) -> QuerySet[Project]:
    """Projects the person is a member of."""
    return Project.objects.visible_to(user)


def documents(user: Person) -> QuerySet[RequirementDocument]:
    """Requirement documents of those projects."""
    return RequirementDocument.objects.filter(project__in=projects(user)).select_related("project")


def requirements(user: Person) -> QuerySet[Requirement]:
    """Requirements in those documents."""
    return Requirement.objects.filter(document__project__in=projects(user)).select_related("document__project")


def plans(user: Person) -> QuerySet[Plan]:
    """Plans of those projects."""
    return Plan.objects.filter(project__in=projects(user)).select_related("project", "document", "decided_by")


def runs(user: Person) -> QuerySet[Run]:
    """Runs of those projects."""
    return Run.objects.filter(project__in=projects(user)).select_related("project", "plan", "document")


def tasks(user: Person) -> QuerySet[Task]:
    """Tasks of those runs."""
    return Task.objects.filter(run__project__in=projects(user)).select_related("run__project", "run__plan")


def findings(user: Person) -> QuerySet[Finding]:
    """Findings on those tasks."""
    return Finding.objects.filter(task__run__project__in=projects(user)).select_related("task__run__project")


def approvals(user: Person) -> QuerySet[Approval]:
    """Approvals asked in those projects, pending or decided."""
    return Approval.objects.filter(project__in=projects(user)).select_related("project", "run", "task", "decided_by")
