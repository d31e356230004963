"""A run of an approved plan: its tasks, their attempts, and every move they made."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from projects.models import waiting
from projects.models.plan import Plan
from projects.models.project import Project
from projects.models.requirements import Requirement, RequirementDocument


class Work(models.Model):
    """What workers do and people wait for: who holds it, what it waits for, and when it began and ended."""

    wait_reason = models.CharField(max_length=20, blank=True, choices=waiting.choices)
    why_detail = models.CharField(
        max_length=300, blank=True, help_text="The detail of what it waits for, or else the reason of its last move."
    )
    # The lease: who works on it, until when. The token only grows; a writer with an old one is refused (fencing).
    lease_owner = models.CharField(max_length=120, blank=True)
    lease_token = models.PositiveBigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def why(self) -> str:
        """One sentence on what it waits for, or on its last move."""
        return waiting.sentence(self.wait_reason, self.why_detail)


class Run(Work):
    """Planning a document, building an approved plan, tests or a review on request, or a conversation.

    Owns a gapless stream of events.
    """

    class Kind(models.TextChoices):
        PLAN = "plan", "Plan"
        BUILD = "build", "Build"
        TESTS = "tests", "Tests"  # for an existing module, on request
        REVIEW = "review", "Review"  # of a change, on request
        CHAT = "chat", "Chat"  # a conversation, with files of its own
        REPLAY = "replay", "Replay"  # of a run that was exported, to be looked at

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        NEEDS_YOU = "needs_you", "Needs you"
        FINISHED = "finished", "Finished"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    MOVES: dict[str, tuple[str, ...]] = {
        Status.QUEUED: (Status.RUNNING, Status.CANCELLED, Status.FAILED),
        Status.RUNNING: (Status.PAUSED, Status.NEEDS_YOU, Status.FINISHED, Status.FAILED, Status.CANCELLED),
        Status.PAUSED: (Status.RUNNING, Status.CANCELLED),
        Status.NEEDS_YOU: (Status.RUNNING, Status.PAUSED, Status.FINISHED, Status.FAILED, Status.CANCELLED),
        Status.FINISHED: (),
        Status.FAILED: (Status.RUNNING, Status.CANCELLED),
        Status.CANCELLED: (),
    }
    OVER = (Status.FINISHED, Status.FAILED, Status.CANCELLED)

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs")
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.BUILD)
    document = models.ForeignKey(RequirementDocument, on_delete=models.PROTECT, related_name="runs", null=True)
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="runs", null=True)
    plan_hash = models.CharField(max_length=64, blank=True)
    base_commit = models.CharField(max_length=64, blank=True, help_text="The head of the base branch it started from.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    why_since = models.DateTimeField(null=True)
    samples = models.PositiveSmallIntegerField(
        default=0, help_text="Plans to make for comparison instead of one to propose."
    )
    # Of a replay: {"source", "project", "kind", "events", "head"} as its file says; its chain was verified.
    replay_of = models.JSONField(null=True)
    recording = models.BooleanField(default=False, help_text="The model's words are played from a recording.")
    last_seq = models.PositiveBigIntegerField(default=0)
    head_hash = models.CharField(max_length=64, blank=True)
    # Who may merge now; guarded like a task's lease.
    merge_owner = models.CharField(max_length=120, blank=True)
    merge_until = models.DateTimeField(null=True)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"Run {self.pk}"

    @property
    def autonomy(self) -> str:
        """How far the agents go before a person must say yes."""
        return self.document.autonomy_in_force if self.document is not None else self.project.autonomy

    @property
    def source(self) -> str:
        """Of which run, and from where, it is the replay; "" for a run of this installation."""
        return str(self.replay_of["source"]) if self.replay_of else ""

    @property
    def left_out(self) -> int:
        """How many tasks of a finished build were not merged: with any, it is not a success."""
        if self.kind != self.Kind.BUILD or self.status != self.Status.FINISHED:
            return 0
        return self.tasks.exclude(status=Task.Status.MERGED).count()


class Task(Work):
    """A node of the DAG in one run."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        READY = "ready", "Ready"
        RUNNING = "running", "Running"
        NEEDS_YOU = "needs_you", "Needs you"
        BLOCKED = "blocked", "Blocked"
        MERGED = "merged", "Merged"
        ESCALATED = "escalated", "Escalated"
        SKIPPED = "skipped", "Skipped"
        CANCELLED = "cancelled", "Cancelled"

    MOVES: dict[str, tuple[str, ...]] = {
        Status.QUEUED: (Status.READY, Status.BLOCKED, Status.SKIPPED, Status.CANCELLED),
        Status.READY: (Status.RUNNING, Status.CANCELLED, Status.SKIPPED),
        Status.RUNNING: (
            *(Status.READY, Status.QUEUED, Status.NEEDS_YOU),
            *(Status.MERGED, Status.ESCALATED, Status.CANCELLED),
        ),
        Status.NEEDS_YOU: (Status.READY, Status.ESCALATED, Status.SKIPPED, Status.CANCELLED),
        Status.BLOCKED: (Status.QUEUED, Status.READY, Status.SKIPPED, Status.CANCELLED),
        Status.MERGED: (),
        Status.ESCALATED: (Status.READY, Status.SKIPPED, Status.CANCELLED),
        Status.SKIPPED: (Status.READY,),
        Status.CANCELLED: (),
    }
    LEFT_OUT = (Status.SKIPPED, Status.CANCELLED)
    SETTLED = (Status.MERGED, *LEFT_OUT)

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tasks")
    ordinal = models.PositiveIntegerField()
    key = models.CharField(max_length=40)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    expects = models.TextField(blank=True, help_text="The expected result, in words.")
    kind = models.CharField(max_length=20, default="code")
    agent = models.CharField(max_length=20, default="coder")
    minutes = models.PositiveIntegerField(default=30, help_text="Estimated agent time; at most 60 (SWE-FR-02).")
    files = models.JSONField(default=list)
    packages = models.JSONField(default=list)
    needs = models.ManyToManyField("self", symmetrical=False, related_name="unblocks", blank=True)
    requirements = models.ManyToManyField(Requirement, related_name="tasks", blank=True)
    # Of a sub-task, which the approved plan does not have: the task that asked for it.
    asked_by = models.OneToOneField("self", on_delete=models.CASCADE, related_name="sub_task", null=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    # The graph thread: a retry by a human starts a new one.
    generation = models.PositiveIntegerField(default=1)
    note = models.TextField(blank=True, help_text="A human's words for the next try.")
    commit = models.CharField(max_length=64, blank=True, help_text="The merged commit.")
    escalation = models.TextField(blank=True, help_text="Why it was escalated, readable.")

    class Meta:
        ordering = ["ordinal"]
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="task_key_once")]
        indexes = [models.Index(fields=["status", "lease_until"])]

    def __str__(self) -> str:
        return f"{self.key} {self.title}"


class Attempt(models.Model):
    """One try at a task: what was believed, what was changed, what the sandbox said."""

    class Outcome(models.TextChoices):
        RUNNING = "running", "Running"
        PASSED = "passed", "Passed"
        FAILED = "failed", "Failed"
        REJECTED = "rejected", "Rejected by a gate"

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    strategy = models.CharField(max_length=20, default="first", help_text="first, repair, fresh, findings, conflict")
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.RUNNING)
    diagnosis = models.JSONField(default=dict, help_text="{cause, evidence, hypothesis, plan}")
    diagnosis_outcome = models.CharField(max_length=10, blank=True, help_text="confirmed or refuted, by the next run")
    error_signature = models.CharField(max_length=64, blank=True)
    reward = models.FloatField(null=True, help_text="SWE-MEM-3: 1.0, 0.5, -0.5, -1.0")
    tests = models.JSONField(default=dict, help_text="{passed, failed, errors, skipped, failures: […]}")
    branch_coverage = models.FloatField(null=True, help_text="0…100")
    diff = models.TextField(blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["task", "number"], name="attempt_number_once")]

    def __str__(self) -> str:
        return f"{self.task.key} try {self.number}"


class Transition(models.Model):
    """The history of every change of state; rows are only ever inserted."""

    kind = models.CharField(max_length=10, help_text="run, task or plan")
    object_id = models.PositiveBigIntegerField()
    old = models.CharField(max_length=12)
    new = models.CharField(max_length=12)
    reason = models.CharField(max_length=300, blank=True)
    actor = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["kind", "object_id"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}: {self.old} → {self.new}"


class Usage(models.Model):
    """What one model call took; money is derived on read, never stored."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="usages")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="usages", null=True)
    key = models.CharField(max_length=160)
    role = models.CharField(max_length=20)
    model = models.CharField(max_length=120)
    prompt_tokens = models.PositiveIntegerField(default=0)
    reused_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0)
    tokens_per_s = models.FloatField(null=True)
    joules = models.FloatField(null=True, help_text="Energy, where the machine measured it.")
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="usage_once")]

    def __str__(self) -> str:
        return f"{self.role}: {self.prompt_tokens}+{self.completion_tokens}"
