"""What scanners found and what people decided."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models.project import Project
from projects.models.run import Run, Task


class Finding(models.Model):
    """One thing a gate found in a task's change."""

    class State(models.TextChoices):
        NEW = "new", "New"
        OLD = "old", "Already known"
        FIXED = "fixed", "Fixed"

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="findings")
    attempt_number = models.PositiveIntegerField(default=1)
    tool = models.CharField(max_length=30)
    rule = models.CharField(max_length=160)
    severity = models.CharField(max_length=10)
    confidence = models.CharField(max_length=10)
    cwe = models.CharField(max_length=20, blank=True)
    path = models.CharField(max_length=400)
    line = models.PositiveIntegerField(default=0)
    message = models.TextField()
    remediation = models.TextField(blank=True)
    fingerprint = models.CharField(max_length=64)
    state = models.CharField(max_length=6, choices=State.choices, default=State.NEW)
    blocks = models.BooleanField(default=False)
    disposition = models.CharField(max_length=20, blank=True, help_text="accepted, false_positive, wont_fix, override")
    reason = models.TextField(blank=True)
    expires_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    seconded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    fixed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["task", "fingerprint"], name="finding_once")]

    def __str__(self) -> str:
        return f"{self.tool} {self.rule} {self.path}:{self.line}"


class Approval(models.Model):
    """A question that a person decides or has decided. Without an answer nothing proceeds."""

    class Kind(models.TextChoices):
        PLAN = "plan", "Plan"
        PACKAGE = "package", "Package"
        GATE = "gate", "Gate"
        ESCALATION = "escalation", "Escalation"
        REMOVAL = "removal", "Removal"  # public names that a change takes away
        TEST_CHANGE = "test_change", "Test change"  # existing tests that a change alters or removes
        SETTINGS = "settings", "Settings"  # what a repository says of its own tests
        BASE_MOVED = "base_moved", "Base moved"  # commits that others put on the base branch
        PUSH = "push", "Push"
        DEPLOY = "deploy", "Deployment"
        CHAT = "chat", "Chat"  # what a model asks in a conversation: leave, an answer, a yes to its plan

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        CLOSED = "closed", "Closed"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="approvals")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="approvals", null=True)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="approvals", null=True)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    # What exactly was asked: a plan's content hash, a package name, a finding's fingerprint. A yes binds to this alone.
    subject = models.CharField(max_length=200)
    title = models.CharField(max_length=200)
    why = models.TextField(blank=True)
    on_yes = models.CharField(max_length=300, blank=True)
    on_no = models.CharField(max_length=300, blank=True)
    payload = models.JSONField(default=dict)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    reason = models.TextField(blank=True)
    requested_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)

    class Meta:
        ordering = ["requested_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "run", "task", "kind", "subject"],
                condition=models.Q(status="pending"),
                name="asked_once_at_a_time",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return self.title


class LineComment(models.Model):
    """A person's words about one line of a task's change: a draft until it is sent with the others as one request."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="line_comments")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    path = models.CharField(max_length=400)
    line = models.PositiveIntegerField()
    removed = models.BooleanField(default=False, help_text="The line is one that the change takes away.")
    quote = models.CharField(max_length=300, help_text="The line as it was.")
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["path", "line", "pk"]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class ReviewedFile(models.Model):
    """A file of a task's change that a person has read; it counts while the change of the file is that one."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="reviewed_files")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    path = models.CharField(max_length=400)
    digest = models.CharField(max_length=64, help_text="Hash of what the change does to the file.")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["path"]
        constraints = [models.UniqueConstraint(fields=["task", "user", "path"], name="reviewed_file_once")]

    def __str__(self) -> str:
        return self.path
