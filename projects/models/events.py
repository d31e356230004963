"""The event_log: one append-only, hash-chained stream of events per run, one for the site, and the blobs they point at.

Rows are only ever inserted: database triggers refuse UPDATE and DELETE (see the migrations).
"""

from __future__ import annotations

from django.db import models

from projects.models.run import Run, Task


class Blob(models.Model):
    """Content stored once under its sha256 (prompts, outputs, diffs), redacted before hashing."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    content = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.sha256[:12]


class Event(models.Model):
    """One thing that happened in a run. The vocabulary of `type` is a stable interface (docs/reference/events.md)."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="events")
    seq = models.PositiveBigIntegerField(help_text="Gapless from 1 in its run.")
    at = models.DateTimeField()
    type = models.CharField(max_length=40)
    role = models.CharField(max_length=20, blank=True, help_text="planner, coder, tester, reviewer, runtime or user")
    actor = models.CharField(max_length=120, blank=True, help_text="The worker or the user's name.")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="events", null=True)
    attempt = models.PositiveIntegerField(default=0)
    summary = models.CharField(max_length=400, help_text="The one-line row.")
    payload = models.JSONField(default=dict)
    # {"prompt": [sha256, …], "output": sha256, …}: a conversation is a list of messages, each stored once.
    blobs = models.JSONField(default=dict)
    outcome = models.CharField(max_length=20, blank=True)
    error_signature = models.CharField(max_length=64, blank=True)
    tokens = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    # Idempotency: a step that runs twice writes its event once.
    key = models.CharField(max_length=200, null=True)  # noqa: DJ001  NULL means "no key", and NULLs are distinct
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["run_id", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="event_seq_once"),
            models.UniqueConstraint(fields=["run", "key"], name="event_key_once"),
        ]
        indexes = [models.Index(fields=["run", "type"]), models.Index(fields=["task", "seq"])]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.seq} {self.type}"


class SiteEvent(models.Model):
    """One thing that happened to the installation and belongs to no run: sign-ins, roles, settings, tokens."""

    seq = models.PositiveBigIntegerField(unique=True, help_text="Gapless from 1.")
    at = models.DateTimeField()
    actor = models.CharField(max_length=120, blank=True, help_text="The user's name, the command line or a worker.")
    action = models.CharField(max_length=60, help_text="What was done, like session.started or role.given.")
    subject = models.CharField(max_length=200, blank=True, help_text="To whom or what.")
    outcome = models.CharField(max_length=20, blank=True)
    detail = models.JSONField(default=dict)
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["seq"]
        indexes = [models.Index(fields=["action", "seq"])]

    def __str__(self) -> str:
        return f"{self.seq} {self.action} {self.subject}"
