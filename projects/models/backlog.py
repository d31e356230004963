"""Tickets that wait for the agents, and the hours and amounts in which they may be worked on."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models.project import Autonomy, Project
from projects.models.requirements import RequirementDocument


class BacklogItem(models.Model):
    """One ticket. When its turn comes it becomes a document of one requirement; where that is, the rest follows."""

    class Source(models.TextChoices):
        PASTED = "pasted", "pasted"
        CSV = "csv", "CSV"
        COMMAND = "command", "command line"
        JIRA = "jira", "Jira"
        FORGE = "forge", "forge"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="backlog")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=40)
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True, help_text="Everything but the title.")
    link = models.CharField(max_length=500, blank=True, help_text="Where the ticket came from.")
    source = models.CharField(max_length=10, choices=Source.choices)
    minutes = models.PositiveIntegerField(null=True, help_text="Estimated agent time.")
    autonomy = models.CharField(max_length=12, choices=Autonomy.choices, blank=True, help_text="Empty: the project's.")
    assigned_at = models.DateTimeField(null=True)
    assigned_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    document = models.OneToOneField(
        RequirementDocument, on_delete=models.SET_NULL, related_name="backlog_item", null=True
    )
    done_at = models.DateTimeField(null=True)
    left_out = models.CharField(max_length=300, blank=True, help_text="Why it is not done.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position", "pk"]
        constraints = [models.UniqueConstraint(fields=["project", "key"], name="backlog_key_once")]

    def __str__(self) -> str:
        return f"{self.key} {self.title}"


class BacklogHours(models.Model):
    """When the agents may work on a project's backlog, and how much of what a night may take."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="backlog_hours")
    opens = models.TimeField(null=True, help_text="No window: at any time.")
    closes = models.TimeField(null=True)
    time_zone = models.CharField(max_length=60, default="UTC")
    cap_tokens = models.PositiveBigIntegerField(null=True)
    cap_minutes = models.PositiveIntegerField(null=True)
    cap_cents = models.PositiveIntegerField(null=True, help_text="Energy and hosted models, at the configured prices.")
    # One night's exceptions: {"night": when it opens, "closes": …, "tokens": …, "minutes": …, "cents": …}
    tonight = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "backlog hours"

    def __str__(self) -> str:
        return f"backlog hours of {self.project}"
