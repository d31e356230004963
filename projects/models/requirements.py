"""The requirement document, by version, and every requirement found in it."""

from __future__ import annotations

from bisect import bisect_right

from django.conf import settings
from django.db import models

from projects.models.project import Autonomy, Project


class OriginalFile(models.Model):
    """The bytes of a file that was turned into Markdown, once under their sha256 and sealed: nothing redacts them."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    sealed = models.BinaryField()

    def __str__(self) -> str:
        return self.sha256[:12]


class DocumentManager(models.Manager["RequirementDocument"]):
    """The documents that nobody took back."""

    def get_queryset(self) -> models.QuerySet[RequirementDocument]:
        """Without those that were withdrawn."""
        return super().get_queryset().exclude(status=RequirementDocument.Status.WITHDRAWN)


class RequirementDocument(models.Model):
    """A PRD as text; a new upload is a new version, never a change: it replaces an earlier one or adds to them.

    Specifications of a folder (Spec Kit, OpenSpec, Kiro) are documents side by side: `place` tells which one it is.
    """

    class Status(models.TextChoices):
        UPLOADED = "uploaded", "Uploaded"
        EXTRACTED = "extracted", "Extracted"
        CONFIRMED = "confirmed", "Confirmed"
        FAILED = "failed", "Failed"
        WITHDRAWN = "withdrawn", "Withdrawn"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="documents")
    version = models.PositiveIntegerField()
    filename = models.CharField(max_length=255)
    text = models.TextField()
    encoding = models.CharField(max_length=40, default="utf-8")  # or the format that it was read from
    sha256 = models.CharField(max_length=64)  # of the file as it was given
    original = models.ForeignKey(OriginalFile, on_delete=models.PROTECT, related_name="documents", null=True)
    pages = models.JSONField(default=list, help_text="The lines on which its pages begin.")
    notes = models.JSONField(default=list, help_text="What a person should know of how it was read.")
    diagrams = models.JSONField(default=list, help_text="Components and links (agents.requirements.readers.diagrams).")
    place = models.CharField(max_length=400, blank=True, help_text="The file of a specification in its repository.")
    background = models.TextField(blank=True, help_text="What stands beside a specification: its design and tasks.")
    replaces = models.ForeignKey(
        "self", on_delete=models.SET_NULL, related_name="replaced_by", null=True, help_text="None: it adds to them."
    )
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.UPLOADED)
    problem = models.TextField(blank=True)
    # [{"lines": [a, b], "text": …}]: paragraphs no requirement was made from.
    unmapped = models.JSONField(default=list)
    # [{"lines": [a, b], "text": …}]: what the document leaves open.
    questions = models.JSONField(default=list)
    autonomy = models.CharField(max_length=12, choices=Autonomy.choices, blank=True, help_text="Empty: the project's.")
    # What it began with where that is no document: {cause, source, reproduced, check, said, failing} of a failed build,
    # {asked} of an upgrade.
    start = models.JSONField(default=dict)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = DocumentManager()
    every = models.Manager["RequirementDocument"]()

    class Meta:
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="document_version_once")]

    def __str__(self) -> str:
        return f"{self.filename} v{self.version}"

    @property
    def autonomy_in_force(self) -> str:
        """How far the agents go on this document before a person must say yes: its own level, else the project's."""
        return self.autonomy or self.project.autonomy

    def replaced(self) -> list[RequirementDocument]:
        """The documents whose place it takes, directly and through others, newest first."""
        return [self.replaces, *self.replaces.replaced()] if self.replaces is not None else []

    def page_of(self, line: int) -> int:
        """The page that a line stands on; 0 when it has no pages."""
        return bisect_right(self.pages, line)


class RequirementQuerySet(models.QuerySet["Requirement"]):
    """Questions that several rooms ask of requirements."""

    def wanted(self) -> RequirementQuerySet:
        """What is to be built: not rejected, and no suggestion that nobody accepted."""
        open_suggestion = models.Q(status=Requirement.Status.PROPOSED, origin__in=Requirement.SUGGESTED)
        return self.exclude(status=Requirement.Status.REJECTED).exclude(open_suggestion)


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

    SUGGESTED = (Origin.IMPLIED, Origin.INFERRED)  # of a rule or a model: nothing until a person accepts it

    class Status(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"

    document = models.ForeignKey(RequirementDocument, on_delete=models.CASCADE, related_name="requirements")
    ordinal = models.PositiveIntegerField()
    key = models.CharField(max_length=60)
    author_key = models.CharField(max_length=60, blank=True, help_text="The id that the document gives it.")
    text = models.TextField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    line_start = models.PositiveIntegerField(default=0, help_text="1-based; 0 when not in the document")
    line_end = models.PositiveIntegerField(default=0)
    acceptance = models.JSONField(default=list)
    # [[a, b], …]: lines elsewhere in the document that explain it, the most telling first.
    passages = models.JSONField(default=list)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.EXPLICIT)
    reason = models.TextField(blank=True, help_text="Why it was inferred or implied.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PROPOSED)

    objects = RequirementQuerySet.as_manager()

    class Meta:
        ordering = ["ordinal"]
        constraints = [models.UniqueConstraint(fields=["document", "key"], name="requirement_key_once")]

    def __str__(self) -> str:
        return f"{self.key}: {self.text[:60]}"

    @property
    def name(self) -> str:
        """The key, with the author's own id beside it."""
        return f"{self.key} ({self.author_key})" if self.author_key else self.key

    @property
    def page(self) -> int:
        """The page of the document that it begins on; 0 when there are none."""
        return self.document.page_of(self.line_start) if self.line_start else 0
