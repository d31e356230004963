"""The back office: people, projects and members. What is evidence can be looked at and never changed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

from projects.models import Approval, Event, Membership, Plan, Project, Run, SiteEvent, Task, Transition

if TYPE_CHECKING:
    ReadOnlyBase = admin.ModelAdmin[Any]
    MembershipBase = admin.TabularInline[Membership, Project]
    ProjectBase = admin.ModelAdmin[Project]
else:
    ReadOnlyBase, MembershipBase, ProjectBase = admin.ModelAdmin, admin.TabularInline, admin.ModelAdmin


class ReadOnly(ReadOnlyBase):
    """Rows that only services write: they may be read here, by whoever may view them, and nothing else."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False


class Members(MembershipBase):
    """Who is what in a project."""

    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


@admin.register(Project)
class ProjectAdmin(ProjectBase):
    """Names, settings and members of projects. A project is never deleted here: its runs are evidence."""

    list_display = ("name", "slug", "autonomy", "model", "created_at")
    search_fields = ("name", "slug")
    readonly_fields = ("slug", "created_by", "created_at")
    inlines = (Members,)

    def has_delete_permission(self, request: HttpRequest, obj: Project | None = None) -> bool:
        """Never."""
        return False


@admin.register(Event)
class EventAdmin(ReadOnly):
    """The audit trail."""

    list_display = ("run", "seq", "at", "type", "role", "actor", "summary", "outcome")
    list_filter = ("type", "role", "outcome")
    search_fields = ("summary", "actor", "hash")
    list_select_related = ("run",)
    ordering = ("-pk",)
    show_full_result_count = False  # counting a million rows for a heading takes longer than the page


@admin.register(SiteEvent)
class SiteEventAdmin(ReadOnly):
    """What belongs to no run: sign-ins, roles, settings, tokens."""

    list_display = ("seq", "at", "actor", "action", "subject", "outcome")
    list_filter = ("action", "outcome")
    search_fields = ("actor", "subject", "hash")
    ordering = ("-seq",)
    show_full_result_count = False


@admin.register(Transition)
class TransitionAdmin(ReadOnly):
    """Every change of state."""

    list_display = ("at", "kind", "object_id", "old", "new", "actor", "reason")
    list_filter = ("kind", "new")
    ordering = ("-pk",)
    show_full_result_count = False


@admin.register(Run)
class RunAdmin(ReadOnly):
    """Runs and who works on them."""

    list_display = ("pk", "project", "kind", "status", "why", "lease_owner", "lease_until", "last_seq", "created_at")
    list_filter = ("kind", "status")
    list_select_related = ("project",)


@admin.register(Task)
class TaskAdmin(ReadOnly):
    """Tasks and who works on them."""

    list_display = ("key", "title", "run", "status", "lease_owner", "lease_until", "generation")
    list_filter = ("status",)
    search_fields = ("key", "title")
    list_select_related = ("run",)


@admin.register(Plan)
class PlanAdmin(ReadOnly):
    """Versions of plans and who decided about them."""

    list_display = ("project", "version", "status", "content_hash", "decided_by", "decided_at")
    list_filter = ("status",)
    list_select_related = ("project", "decided_by")


@admin.register(Approval)
class ApprovalAdmin(ReadOnly):
    """Questions and their answers."""

    list_display = ("title", "project", "kind", "status", "decided_by", "requested_at", "decided_at")
    list_filter = ("kind", "status")
    list_select_related = ("project", "decided_by")
