"""A plan: the task graph proposed for a document, versioned and pinned by its hash."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models.project import Project
from projects.models.requirements import RequirementDocument


class Plan(models.Model):
    """One version of a task graph. Editing makes a new version; approval pins the hash."""

    class Status(models.TextChoices):
        DRAFTING = "drafting", "Drafting"
        PROPOSED = "proposed", "Proposed"
        INVALID = "invalid", "Invalid"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Changes asked"
        SUPERSEDED = "superseded", "Superseded"

    MOVES: dict[str, tuple[str, ...]] = {
        Status.DRAFTING: (Status.PROPOSED, Status.INVALID, Status.SUPERSEDED),
        Status.PROPOSED: (Status.APPROVED, Status.REJECTED, Status.SUPERSEDED),
        Status.INVALID: (Status.SUPERSEDED, Status.REJECTED),
        Status.APPROVED: (Status.SUPERSEDED,),
        Status.REJECTED: (Status.SUPERSEDED,),
        Status.SUPERSEDED: (),
    }

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="plans")
    document = models.ForeignKey(RequirementDocument, on_delete=models.PROTECT, related_name="plans")
    version = models.PositiveIntegerField()
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.DRAFTING)
    content = models.JSONField(default=dict, help_text='{"tasks": […], "notes": …}, the shape of agents.planning.model')
    content_hash = models.CharField(max_length=64, blank=True)
    problems = models.JSONField(default=list, help_text="What validation found: [{code, message, tasks, severity}]")
    comment = models.TextField(blank=True, help_text="What was asked to be changed, or why this version exists.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="plan_version_once")]

    def __str__(self) -> str:
        return f"{self.project} plan v{self.version}"


class PlanEdits(models.Model):
    """A person's draft: edits on a version that are no version themselves yet."""

    document = models.ForeignKey(RequirementDocument, on_delete=models.CASCADE, related_name="plan_drafts")
    base = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="drafts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="plan_drafts")
    edits = models.JSONField(default=list, help_text="What projects.services.planning.plan_edits applies, in order.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "user"], name="plan_draft_once")]

    def __str__(self) -> str:
        return f"draft on {self.base}"
