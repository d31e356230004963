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

    def _never(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = _never


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


# Counting a million rows for a heading takes longer than the page.
LONG: dict[str, Any] = {"show_full_result_count": False}

admin.site.register(
    Event,
    ReadOnly,
    list_display=("run", "seq", "at", "type", "role", "actor", "summary", "outcome"),
    list_filter=("type", "role", "outcome"),
    search_fields=("summary", "actor", "hash"),
    list_select_related=("run",),
    ordering=("-pk",),
    **LONG,
)
admin.site.register(
    SiteEvent,
    ReadOnly,
    list_display=("seq", "at", "actor", "action", "subject", "outcome"),
    list_filter=("action", "outcome"),
    search_fields=("actor", "subject", "hash"),
    ordering=("-seq",),
    **LONG,
)
admin.site.register(
    Transition,
    ReadOnly,
    list_display=("at", "kind", "object_id", "old", "new", "actor", "reason"),
    list_filter=("kind", "new"),
    ordering=("-pk",),
    **LONG,
)
admin.site.register(
    Run,
    ReadOnly,
    list_display=("pk", "project", "kind", "status", "why", "lease_owner", "lease_until", "last_seq", "created_at"),
    list_filter=("kind", "status"),
    list_select_related=("project",),
)
admin.site.register(
    Task,
    ReadOnly,
    list_display=("key", "title", "run", "status", "lease_owner", "lease_until", "generation"),
    list_filter=("status",),
    search_fields=("key", "title"),
    list_select_related=("run",),
)
admin.site.register(
    Plan,
    ReadOnly,
    list_display=("project", "version", "status", "content_hash", "decided_by", "decided_at"),
    list_filter=("status",),
    list_select_related=("project", "decided_by"),
)
admin.site.register(
    Approval,
    ReadOnly,
    list_display=("title", "project", "kind", "status", "decided_by", "requested_at", "decided_at"),
    list_filter=("kind", "status"),
    list_select_related=("project", "decided_by"),
)
