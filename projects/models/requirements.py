"""The requirement document, by version, and every requirement found in it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models.project import Project


class RequirementDocument(models.Model):
    """A PRD as it was given; a new upload is a new version, never a change."""

    class Status(models.TextChoices):
        UPLOADED = "uploaded", "Uploaded"
        EXTRACTED = "extracted", "Extracted"
        CONFIRMED = "confirmed", "Confirmed"
        FAILED = "failed", "Failed"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="documents")
    version = models.PositiveIntegerField()
    filename = models.CharField(max_length=255)
    text = models.TextField()
    encoding = models.CharField(max_length=40, default="utf-8")
    sha256 = models.CharField(max_length=64)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.UPLOADED)
    problem = models.TextField(blank=True)
    # [{"lines": [a, b], "text": …}]: paragraphs no requirement was made from.
    unmapped = models.JSONField(default=list)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="document_version_once")]

    def __str__(self) -> str:
        return f"{self.filename} v{self.version}"


class Requirement(models.Model):
    """One thing the product must do, with the lines it was read from."""

    class Kind(models.TextChoices):
        FUNCTIONAL = "functional", "Functional"
        NON_FUNCTIONAL = "non_functional", "Non-functional"
        STORY = "story", "User story"
        CONSTRAINT = "constraint", "Constraint"
        GOAL = "goal", "Goal"
        NON_GOAL = "non_goal", "Non-goal"
        ACCEPTANCE = "acceptance", "Acceptance"

    class Origin(models.TextChoices):
        """Written in the document, implied by a rule, inferred by the model or added by a person."""

        EXPLICIT = "explicit", "Explicit"
        IMPLIED = "implied", "Implied"
        INFERRED = "inferred", "Inferred"
        MANUAL = "manual", "Added by hand"

    class Status(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"

    document = models.ForeignKey(RequirementDocument, on_delete=models.CASCADE, related_name="requirements")
    ordinal = models.PositiveIntegerField()
    key = models.CharField(max_length=60)
    text = models.TextField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    line_start = models.PositiveIntegerField(default=0, help_text="1-based; 0 when not in the document")
    line_end = models.PositiveIntegerField(default=0)
    acceptance = models.JSONField(default=list)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.EXPLICIT)
    reason = models.TextField(blank=True, help_text="Why it was inferred or implied.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PROPOSED)

    class Meta:
        ordering = ["ordinal"]
        constraints = [models.UniqueConstraint(fields=["document", "key"], name="requirement_key_once")]

    def __str__(self) -> str:
        return f"{self.key}: {self.text[:60]}"
