"""A conversation with a person: a run of its own, with what it remembers."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models.run import Run


class Chat(models.Model):
    """What is kept of a conversation beside its run's events: enough to go on where it was."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="chat")
    title = models.CharField(max_length=200, blank=True, help_text="The first words that were said in it.")
    # The folder that an editor works in; "" for one that works on a branch of the project.
    folder = models.CharField(max_length=500, blank=True)
    state = models.JSONField(default=dict, help_text="agents.conversation.state.ChatState, after every step.")
    head = models.CharField(max_length=64, blank=True, help_text="The newest commit of its branch.")
    # Where it is open, or was last: a terminal, an editor, the dashboard.
    place = models.CharField(max_length=60, blank=True)
    words = models.TextField(blank=True, help_text="Said in the dashboard; no turn has taken it up yet.")
    # In whose name a turn of the dashboard works.
    speaker = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True)
    updated_at = models.DateTimeField(auto_now=True)

    DASHBOARD = "the dashboard"  # as a place

    class Meta:
        ordering = ["-updated_at"]

    def __str__(self) -> str:
        return f"Chat {self.run_id}: {self.title}"
