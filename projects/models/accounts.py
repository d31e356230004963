"""Signing in, apart from the password: sessions, second factor, API tokens, and failed attempts."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone


class BrowserSession(AbstractBaseSession):
    """A signed-in browser. It knows its person, so that all of somebody's sessions can be ended at once."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="browser_sessions", null=True
    )

    @classmethod
    def get_session_store_class(cls) -> type:
        """The engine that reads and writes these rows, as the settings name it."""
        store: type = import_module(settings.SESSION_ENGINE).SessionStore
        return store


class SecondFactor(models.Model):
    """A person's authenticator app. There is a row only once a code from it was accepted."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor")
    # The app and we must both know it, so it cannot be stored as a hash; it is sealed
    # (projects/services/audit/sealing.py).
    secret = models.CharField(max_length=255)
    last_step = models.BigIntegerField(default=0, help_text="The newest 30 s step a code was accepted for.")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"second factor of {self.user}"


class RecoveryCode(models.Model):
    """Stands in once for the authenticator app; only its hash is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="recovery_code_once")]

    def __str__(self) -> str:
        return f"recovery code of {self.user}"


class ApiToken(models.Model):
    """A key for programs: less than its owner's rights, never more. Only the hash of its secret half is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    public = models.CharField(max_length=16, unique=True, help_text="The half that may be shown.")
    digest = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.name} ({self.public})"

    @property
    def works(self) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and self.expires_at > timezone.now()


class ApiAnswer(models.Model):
    """What a program asked with a key of its own, and the answer that it gets again; status 0: not answered yet."""

    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, related_name="answers")
    key = models.CharField(max_length=200)
    seal = models.CharField(max_length=64, help_text="Hash of the request.")
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="api_key_once")]

    def __str__(self) -> str:
        return f"{self.token}: {self.key[:40]}"


class Tries(models.Model):
    """Failed attempts, counted by a hash of account and address; the names that were typed are not kept."""

    key = models.CharField(max_length=64, primary_key=True)
    count = models.PositiveIntegerField(default=0)
    wait_until = models.DateTimeField(null=True)
    last_at = models.DateTimeField(default=timezone.now, db_index=True)
    # A right answer came from here: tries of others elsewhere do not make this place wait.
    known_until = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "tries"

    def __str__(self) -> str:
        return f"{self.key[:12]}: {self.count}"
