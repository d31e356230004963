"""Who gets the weekly report by e-mail and when, and each e-mail that went out or did not."""

from __future__ import annotations

from django.conf import settings
from django.db import models

WEEKDAYS = tuple(enumerate("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()))


class ReportSchedule(models.Model):
    """One person's weekly e-mail; it shows the projects whose reports this person may send when it goes out."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="report_schedule")
    weekday = models.PositiveSmallIntegerField(choices=WEEKDAYS, default=4)
    hour = models.PositiveSmallIntegerField(default=17)
    time_zone = models.CharField(max_length=60, default="UTC")
    recipients = models.JSONField(default=list)
    origin = models.CharField(max_length=200, blank=True, help_text="Links in the e-mail begin so.")
    saved_at = models.DateTimeField(help_text="Only times after it count.")

    def __str__(self) -> str:
        return f"weekly report of {self.user}"

    @property
    def when(self) -> str:
        """In words: Fridays at 17:00 (UTC)."""
        return f"{self.get_weekday_display()}s at {self.hour:02}:00 ({self.time_zone})"


class ReportMail(models.Model):
    """One report on its way to its recipients. The key says what it is, so that each is sent once."""

    class Status(models.TextChoices):
        WAITING = "waiting", "Waiting"
        SENDING = "sending", "Being sent"
        SENT = "sent", "Sent"
        FAILED = "failed", "Given up"
        UNKNOWN = "unknown", "Interrupted"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="report_mails")
    key = models.CharField(max_length=120, unique=True)
    week = models.CharField(max_length=8)
    project = models.CharField(max_length=80, blank=True, help_text="The short name of the one project it is about.")
    recipients = models.JSONField(default=list)
    origin = models.CharField(max_length=200, blank=True)
    scheduled = models.BooleanField(default=False)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.WAITING)
    due_at = models.DateTimeField(help_text="Not before; while it is being sent, until when a worker has time for it.")
    tries = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=300, blank=True)
    sent_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["status", "due_at"])]

    def __str__(self) -> str:
        return f"report {self.week} to {len(self.recipients)}"
