"""What people want to hear of and how, and the outbox of what they are told."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from projects.models.project import Project


class NoticeKind(models.TextChoices):
    """What a person can be told of."""

    DECISION = "decision", "Needs a decision"
    FINISHED = "finished", "Run finished"
    FAILED = "failed", "Run failed or task escalated"
    REPORT = "report", "Weekly report"


class NoticeChannel(models.TextChoices):
    """How a person can be told."""

    PAGE = "page", "Title and icon"
    BROWSER = "browser", "Browser"
    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"


def default_channels() -> dict[str, list[str]]:
    """What is told to somebody who never chose: on open pages, what only a person can bring on."""
    return {NoticeKind.DECISION.value: [NoticeChannel.PAGE.value], NoticeKind.FAILED.value: [NoticeChannel.PAGE.value]}


class NoticePreferences(models.Model):
    """One person's choice: channels by kind, quiet hours, and where the webhook goes."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notice_preferences")
    channels = models.JSONField(default=default_channels)
    time_zone = models.CharField(max_length=60, default="UTC")
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    webhook_url = models.CharField(max_length=500, blank=True)
    # The receiver must know it, so it cannot be a hash; sealed like a second factor's secret.
    webhook_secret = models.TextField(blank=True)
    origin = models.CharField(max_length=200, blank=True, help_text="Where this person opens the site; links begin so.")

    class Meta:
        verbose_name_plural = "notice preferences"

    def __str__(self) -> str:
        return f"notice preferences of {self.user}"


class Notice(models.Model):
    """One message to one person by one channel, kept until it is delivered: the outbox."""

    class Status(models.TextChoices):
        WAITING = "waiting", "Waiting"
        HELD = "held", "Held until quiet hours end"
        SENT = "sent", "Sent"
        MERGED = "merged", "Sent in a digest"
        GIVEN_UP = "given_up", "Given up"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", null=True)
    channel = models.CharField(max_length=8, choices=NoticeChannel.choices)
    items = models.JSONField(default=list, help_text="[{kind, project, text, link}]; a digest has several.")
    key = models.CharField(max_length=120, help_text="What it is about: one message for each.")
    # Stays the same over all tries: a receiver that knows it has the message already.
    ident = models.UUIDField(default=uuid.uuid4, unique=True)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.WAITING)
    due_at = models.DateTimeField(help_text="Not before; while a worker has it, when another may take it.")
    tries = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["user", "channel", "key"], name="notice_once")]
        indexes = [models.Index(fields=["status", "due_at"])]

    def __str__(self) -> str:
        return f"{self.channel} to {self.user}: {self.key}"
