"""Who may do what: the one table of roles and verbs."""

from __future__ import annotations

from typing import TypeAlias

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet

from projects.errors import NotAllowed
from projects.models import Membership, Project
from projects.models.project import Role

Person: TypeAlias = "User | AnonymousUser"

VERBS: dict[str, frozenset[str]] = {
    Role.MANAGER: frozenset(
        (
            "project.view project.edit member.edit backlog.edit run.start run.control approval.decide report.send "
            "target.edit deploy"
        ).split()
    ),
    Role.ARCHITECT: frozenset(
        (
            "project.view project.edit backlog.edit document.upload requirement.edit plan.edit plan.approve run.start "
            "run.control approval.decide target.edit deploy"
        ).split()
    ),
    Role.DEVELOPER: frozenset(
        {"project.view", "run.start", "run.control", "task.retry", "gate.dispose", "approval.decide", "deploy"}
    ),
    Role.SECURITY: frozenset({"project.view", "gate.dispose", "gate.override", "approval.decide", "audit.export"}),
    Role.AUDITOR: frozenset({"project.view", "audit.export"}),
    Role.VIEWER: frozenset({"project.view"}),
}
ALL_VERBS: frozenset[str] = frozenset().union(*VERBS.values())


def roles_that_may(verb: str) -> list[str]:
    """Roles whose rights include `verb`, in the table's order. An unknown verb belongs to nobody."""
    return [str(role) for role, verbs in VERBS.items() if verb in verbs]


def roles_of(user: Person, project: Project) -> list[str]:
    """The roles the user holds in the project; none for strangers and deactivated accounts."""
    if not (user.is_authenticated and user.is_active):
        return []
    return list(Membership.objects.filter(project=project, user=user).values_list("role", flat=True))


def projects_where(user: Person, verb: str) -> QuerySet[Project]:
    """The projects in which the user may do `verb`: all of them for a superuser."""
    if not (user.is_authenticated and user.is_active):
        return Project.objects.none()
    if user.is_superuser:
        return Project.objects.all()
    roles = Membership.objects.filter(user_id=user.pk, role__in=roles_that_may(verb))
    return Project.objects.filter(pk__in=roles.values("project"))


def can(user: Person, project: Project, verb: str) -> bool:
    """Whether the user may do `verb` in the project. An unknown verb is refused to everybody."""
    if verb not in ALL_VERBS or not (user.is_authenticated and user.is_active):
        return False
    if user.is_superuser:
        return True
    return any(verb in VERBS.get(role, frozenset()) for role in roles_of(user, project))


def people_who_may(project: Project, verb: str) -> QuerySet[User]:
    """Everybody whom can() answers yes for in this project, administrators included."""
    members = Q(memberships__project=project, memberships__role__in=roles_that_may(verb))
    return User.objects.filter(members | Q(is_superuser=True), is_active=True).distinct().order_by("username")


def require_administrator(user: Person, what: str) -> None:
    """Refuse everybody but administrators. Raises NotAllowed, whose text says how to make one."""
    if not (user.is_active and user.is_superuser):
        raise NotAllowed(f"{what} is for administrators. `aiswe config admin NAME` on the server makes one.")


def require(user: Person, project: Project, verb: str) -> None:
    """Refuse what the user's roles do not include.

    Raises NotAllowed, whose text names the roles that may.
    """
    if not can(user, project, verb):
        who = ", ".join(roles_that_may(verb)) or "nobody"
        raise NotAllowed(f"Your role in {project.name} does not include {verb}. Who may: {who}.")
