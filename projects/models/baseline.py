"""How an imported repository stood before anything was built on it."""

from __future__ import annotations

import shlex

from django.conf import settings
from django.db import models

from agents.languages.registry import language
from projects.models.project import Project


class Baseline(models.Model):
    """Layout, test command and test results of one commit. Only failures that are not here count afterwards."""

    class Status(models.TextChoices):
        MEASURING = "measuring", "Measuring"
        READY = "ready", "Ready"
        UNUSABLE = "unusable", "Tests cannot run"
        ACCEPTED = "accepted", "Accepted without tests"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="baselines")
    commit = models.CharField(max_length=64)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.MEASURING)
    # {"language", "python", "style": "src" or "flat", "source_roots", "test_paths", "conftests", "helpers"}
    layout = models.JSONField(default=dict)
    # sandbox.test_setup.TestSetup as plain data
    setup = models.JSONField(default=dict)
    packages = models.JSONField(default=list, help_text="Requirement lines of everything its tests need.")
    # {"passed": n, "failed": n, "errors": n, "skipped": n, "failing": {test: message}, "flickering": [test]}
    tests = models.JSONField(default=dict)
    passing = models.BinaryField(default=bytes, help_text="Names of the tests that passed, as compressed JSON.")
    seconds = models.FloatField(default=0, help_text="Wall-clock seconds of one run of the suite.")
    problem = models.TextField(blank=True, help_text="Why its tests cannot run.")
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.project} at {self.commit[:10]}"

    @classmethod
    def usable(cls, project: Project) -> Baseline | None:
        """The newest that was measured to its end; None for a project that was started here.

        The names of the passing tests, which may be many, are read only when they are asked for.
        """
        return cls.objects.filter(project=project, status=cls.Status.READY).defer("passing").first()

    @property
    def test_command(self) -> str:
        """How its tests are run, as it is shown."""
        if not self.layout.get("test_paths"):
            return ""
        return shlex.join([*language(self.layout["language"]).test_command, *self.setup.get("arguments", [])])
