"""Where versions of a project run, how they fare, and what went wrong with them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from projects.models.project import Project
from projects.models.run import Run


class Target(models.Model):
    """A place that a project is deployed to."""

    class Kind(models.TextChoices):
        SANDBOX = "sandbox", "Sandbox on this machine"
        COMPOSE = "compose", "Docker engine"
        KUBERNETES = "kubernetes", "Kubernetes namespace"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="targets")
    name = models.SlugField(max_length=30)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.SANDBOX)
    # {"command", "health", "environment", "image", "kubeconfig", "context", "namespace"}; what is missing is found.
    options = models.JSONField(default=dict)
    is_production = models.BooleanField(default=False, help_text="Each deployment takes a person's yes.")
    follows = models.BooleanField(default=False, help_text="What is merged is deployed.")
    watched = models.BooleanField(default=True, help_text="Incidents are answered by the operations agent.")
    wanted = models.ForeignKey("Deployment", on_delete=models.SET_NULL, related_name="+", null=True)
    live = models.ForeignKey("Deployment", on_delete=models.SET_NULL, related_name="+", null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    lease_owner = models.CharField(max_length=120, blank=True)
    lease_token = models.PositiveBigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="target_once")]

    def __str__(self) -> str:
        return f"{self.name} of {self.project}"

    @property
    def host_name(self) -> str:
        """The host that requests to it name; "" where applications are not served."""
        return f"{self.name}.{self.project.slug}.{settings.APPS_DOMAIN}" if settings.APPS_DOMAIN else ""


class Deployment(models.Model):
    """One commit on one target."""

    class Status(models.TextChoices):
        ASKED = "asked", "Needs a yes"
        QUEUED = "queued", "Queued"
        STARTING = "starting", "Starting"
        LIVE = "live", "Live"
        FAILED = "failed", "Failed"
        REPLACED = "replaced", "Replaced"
        ROLLED_BACK = "rolled_back", "Rolled back"
        STOPPED = "stopped", "Stopped"
        REFUSED = "refused", "Refused"

    UP = (Status.STARTING, Status.LIVE)
    OVER = (Status.FAILED, Status.REPLACED, Status.ROLLED_BACK, Status.STOPPED, Status.REFUSED)

    target = models.ForeignKey(Target, on_delete=models.CASCADE, related_name="deployments")
    number = models.PositiveIntegerField()
    commit = models.CharField(max_length=64)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.QUEUED)
    reason = models.TextField(blank=True, help_text="Why it was deployed, or why it ended as it did.")
    step = models.CharField(max_length=300, blank=True, help_text="What is being done now.")
    returns_to = models.ForeignKey("self", on_delete=models.SET_NULL, related_name="+", null=True)  # of a rollback
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    host = models.CharField(max_length=120, blank=True, help_text="The worker whose sandbox it runs in.")
    address = models.JSONField(default=dict, help_text="The socket of a sandbox; elsewhere the host tells.")
    log = models.TextField(blank=True, help_text="The end of its output.")
    log_position = models.PositiveBigIntegerField(default=0)
    restarts = models.PositiveIntegerField(default=0)
    restart_asked = models.BooleanField(default=False)
    healthy = models.BooleanField(null=True)
    memory_mb = models.FloatField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    live_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["target", "number"], name="deployment_once")]

    def __str__(self) -> str:
        return f"{self.target} #{self.number}"

    @property
    def release_name(self) -> str:
        """A DNS label of its own on every host."""
        return f"app-{self.target_id}-{self.number}"


class TrafficMinute(models.Model):
    """Requests to a deployment in one minute. `buckets` counts them by projects.services.operations.traffic.EDGES."""

    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="minutes")
    minute = models.DateTimeField()
    requests = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    milliseconds = models.PositiveBigIntegerField(default=0)
    buckets: models.JSONField[list[int], list[int]] = models.JSONField(default=list)

    class Meta:
        ordering = ["minute"]
        constraints = [models.UniqueConstraint(fields=["deployment", "minute"], name="minute_once")]

    def __str__(self) -> str:
        return f"{self.deployment} {self.minute:%H:%M}"

    @property
    def mean_ms(self) -> int:
        """Of all its requests."""
        return round(self.milliseconds / self.requests) if self.requests else 0


class BadRequest(models.Model):
    """A request that was answered with an error of the server, not at all, or slowly: what a test can repeat."""

    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="bad_requests")
    at = models.DateTimeField(auto_now_add=True)
    method = models.CharField(max_length=10)
    path = models.CharField(max_length=2000)
    headers: models.JSONField[dict[str, str], dict[str, str]] = models.JSONField(default=dict)
    body = models.TextField(blank=True)
    status = models.PositiveSmallIntegerField(null=True)  # None: no answer
    milliseconds = models.PositiveIntegerField(default=0)
    log_position = models.PositiveBigIntegerField(default=0)
    seen = models.BooleanField(default=False, help_text="The operations agent has looked at it.")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.method} {self.path[:60]} → {self.status or 'no answer'}"


class Incident(models.Model):
    """Something that went wrong on a target: one row per signature until it is over."""

    class Kind(models.TextChoices):
        CRASH = "crash", "Crash"
        ERROR = "error", "Server error"
        SLOW = "slow", "Slow answers"
        DOWN = "down", "Does not answer"
        ENVIRONMENT = "environment", "Outside the code"
        PRODUCT = "product", "This installation"

    class Status(models.TextChoices):
        OPEN = "open", "Open"
        FIXING = "fixing", "Being fixed"
        WATCHING = "watching", "Watched"
        NEEDS_YOU = "needs_you", "Needs you"
        RESOLVED = "resolved", "Resolved"
        GIVEN_UP = "given_up", "Given up"

    OVER = (Status.RESOLVED, Status.GIVEN_UP)

    target = models.ForeignKey(Target, on_delete=models.CASCADE, related_name="incidents", null=True)
    deployment = models.ForeignKey(Deployment, on_delete=models.SET_NULL, related_name="incidents", null=True)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    signature = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    cause = models.TextField(blank=True)
    evidence = models.TextField(blank=True, help_text="The traceback or the lines of the log: untrusted text.")
    request = models.ForeignKey(BadRequest, on_delete=models.SET_NULL, related_name="+", null=True)
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, related_name="incidents", null=True)
    fix = models.ForeignKey(Deployment, on_delete=models.SET_NULL, related_name="+", null=True)
    fixes = models.PositiveSmallIntegerField(default=0, help_text="How often a fix was tried.")
    relieved = models.BooleanField(default=False, help_text="Whether to roll back or stop first was decided.")
    replayed = models.BooleanField(default=False, help_text="The request was answered by the fix.")
    count = models.PositiveIntegerField(default=1)
    timeline: models.JSONField[list[dict[str, Any]], list[dict[str, Any]]] = models.JSONField(default=list)
    first_seen = models.DateTimeField(auto_now_add=True)
    last_seen = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.title

    @property
    def seconds_to_resolution(self) -> float | None:
        """From the first sign to the end; None while it lasts."""
        return (self.resolved_at - self.first_seen).total_seconds() if self.resolved_at else None
