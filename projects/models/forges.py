"""A project's repository on a forge: its pull requests, the people there, and what was received from it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models.project import Project
from projects.models.run import Run


class ForgeLink(models.Model):
    """Where on a forge a project's code lives. Credentials are not here: they are the installation's, by host."""

    class Kind(models.TextChoices):
        GITHUB = "github", "GitHub"
        FORGEJO = "forgejo", "Forgejo or Gitea"
        GITLAB = "gitlab", "GitLab"

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="forge")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    host = models.CharField(max_length=260, help_text="With its port where that is not 443.")
    path = models.CharField(max_length=300, help_text="owner/name; on GitLab with all groups.")
    secret = models.CharField(max_length=255, blank=True, help_text="Of its webhook, sealed; without one none is read.")
    polls = models.BooleanField(default=False, help_text="Ask the forge now and then, where no webhook can reach.")
    polled_at = models.DateTimeField(null=True)
    failures = models.PositiveSmallIntegerField(default=0, help_text="How often in a row it could not be asked.")
    rests_until = models.DateTimeField(null=True, help_text="It is left alone until then.")
    problem = models.CharField(max_length=300, blank=True, help_text="Why not, the last time.")
    takes_requests = models.BooleanField(
        default=False, help_text="Comments of mapped people on our pull requests are work."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.host}/{self.path}"


class ForgePerson(models.Model):
    """Which account of the forge is which user here; what they may do is their role in the project."""

    kind = models.CharField(max_length=10, choices=ForgeLink.Kind.choices)
    host = models.CharField(max_length=260)
    ident = models.CharField(max_length=60, help_text="The forge's own number of the account; names change hands.")
    login = models.CharField(max_length=120, help_text="As it was when it was mapped; for people only.")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="forge_accounts")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "host", "ident"], name="forge_person_once")]

    def __str__(self) -> str:
        return f"{self.login} on {self.host}"


class PullRequest(models.Model):
    """A pull request that we opened for a run's results, as it was when the forge was last asked."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        CLOSED = "closed", "closed"
        MERGED = "merged", "merged"

    link = models.ForeignKey(ForgeLink, on_delete=models.CASCADE, related_name="requests")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="pull_requests", help_text="The newest on it.")
    number = models.PositiveIntegerField()
    branch = models.CharField(max_length=200)
    base = models.CharField(max_length=200)
    commit = models.CharField(max_length=64, help_text="What we pushed last.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    web_address = models.CharField(max_length=500)
    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    opened_at = models.DateTimeField(auto_now_add=True)
    checked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["link", "number"], name="pull_request_once")]

    def __str__(self) -> str:
        return f"#{self.number} of {self.link}"


class ForgeDelivery(models.Model):
    """A webhook that was received: each is handled once, however often it is sent."""

    link = models.ForeignKey(ForgeLink, on_delete=models.CASCADE, related_name="deliveries")
    ident = models.CharField(max_length=120, help_text="The forge's own name for it.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of its body, so that no other body takes its name.")
    event = models.CharField(max_length=20)
    number = models.PositiveIntegerField(null=True)
    build = models.CharField(max_length=80, blank=True, help_text="Of a failed build: whose log to ask for.")
    received_at = models.DateTimeField(auto_now_add=True)
    handled_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["link", "ident"], name="forge_delivery_once")]
        indexes = [models.Index(fields=["link", "number"], condition=models.Q(handled_at=None), name="forge_waiting")]

    def __str__(self) -> str:
        return f"{self.event} {self.ident}"


class ForgeComment(models.Model):
    """A comment on one of our pull requests, and what became of it. The words stay other people's words."""

    class Outcome(models.TextChoices):
        RECORDED = "recorded", "recorded"  # of somebody without a role here, or not meant for us
        TAKEN = "taken", "taken as work"
        ANSWERED = "answered", "answered"
        REFUSED = "refused", "refused"

    class Changed(models.TextChoices):
        EDITED = "edited", "Edited later; these are the words as they came."
        DELETED = "deleted", "Deleted on the forge."

    request = models.ForeignKey(PullRequest, on_delete=models.CASCADE, related_name="comments")
    place = models.CharField(max_length=12)
    ident = models.CharField(max_length=60)
    author_ident = models.CharField(max_length=60)
    author_login = models.CharField(max_length=120)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="+", null=True)
    path = models.CharField(max_length=1000, blank=True)
    line = models.PositiveIntegerField(null=True)
    text = models.TextField()
    written_at = models.DateTimeField()
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.RECORDED)
    why = models.CharField(max_length=300, blank=True)
    changed = models.CharField(max_length=8, choices=Changed.choices, blank=True, help_text="Since it was first read.")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, related_name="+", null=True, help_text="That works on it.")
    answer_ident = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["request", "place", "ident"], name="forge_comment_once")]

    def __str__(self) -> str:
        return f"{self.author_login} on {self.request}"
