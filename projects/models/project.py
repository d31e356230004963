"""A project and who may do what in it."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models

from agents.engine.limits import default_limits

RECORDING = "scripted:"  # before the name of a scenario, where the name of a model could stand


class Autonomy(models.TextChoices):
    """How far the agents go before a person must say yes."""

    PLAN_ONLY = "plan_only", "Plan only"
    PLAN_AND_GATES = "plan_gates", "Plan + gates"
    GATES_ONLY = "gates_only", "Gates only"
    NONE = "none", "No approval"


# Levels at which requirements and plans need no person's yes.
NO_APPROVAL = (Autonomy.GATES_ONLY, Autonomy.NONE)
# Levels at which code that reaches outside is merged only after a person's yes.
ASKS_AT_GATES = (Autonomy.PLAN_AND_GATES, Autonomy.GATES_ONLY)


class Role(models.TextChoices):
    """What a member is in a project; docs/reference/accounts.md has the table of rights."""

    MANAGER = "manager", "Manager"
    ARCHITECT = "architect", "Architect"
    DEVELOPER = "developer", "Developer"
    SECURITY = "security", "Security"
    AUDITOR = "auditor", "Auditor"
    VIEWER = "viewer", "Viewer"


class ProjectQuerySet(models.QuerySet["Project"]):
    """Access is decided where the row is fetched."""

    def visible_to(self, user: User | AnonymousUser) -> ProjectQuerySet:
        """Projects the user is a member of; all of them for a superuser; none for a stranger."""
        if not user.is_authenticated:
            return self.none()
        if user.is_superuser:
            return self
        return self.filter(memberships__user=user).distinct()


class Project(models.Model):
    """One product to be built, with its own git repository."""

    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=80, unique=True)
    autonomy = models.CharField(max_length=12, choices=Autonomy.choices, default=Autonomy.PLAN_AND_GATES)
    limits = models.JSONField(default=default_limits)
    house_rules = models.TextField(blank=True, help_text="Patterns every task must obey, in Markdown.")
    sandbox_backend = models.CharField(max_length=20, default="auto")
    # Which model connection builds it: "" = the configured model; "scripted:<scenario>" = a recording.
    model = models.CharField(max_length=120, blank=True)
    # The agent of another maker that writes its code: a name of the table of agents, "" = our own coder.
    coder_agent = models.CharField(max_length=20, blank=True, default="")
    # Where its code came from: a folder, a git address or the name of an archive; "" when it was started here.
    source = models.CharField(max_length=500, blank=True)
    # What it was started from, as agents.recipes.model.Recipe.to_json() tells it; {} without a recipe.
    recipe = models.JSONField(default=dict, blank=True)
    base_branch = models.CharField(max_length=200, default="main")
    subfolder = models.CharField(max_length=400, blank=True, help_text="The part of it that is the project.")
    updates_base = models.BooleanField(default=True, help_text="Merges move the base branch too.")
    # {"author_name", "author_email", "sign_off": bool, "signing_key": path of an SSH key}
    commit_settings = models.JSONField(default=dict)
    push_remote = models.CharField(max_length=500, blank=True, help_text="Where a person may push results to.")
    archived_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def model_name(self) -> str:
        """The model in force: the project's own, else the configured one."""
        return self.model or str(settings.MODEL)

    @property
    def is_recording(self) -> bool:
        """True when the model's words are played from a recording."""
        return self.model_name.startswith(RECORDING)

    @property
    def parallel_tasks(self) -> int:
        """How many of its tasks may be worked on at a time."""
        return max(1, int(self.limits.get("parallel_tasks", 2)))


class Membership(models.Model):
    """A user's role in a project."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user", "role"], name="one_role_once")]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.project}"
