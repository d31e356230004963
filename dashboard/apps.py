"""Django's entry to the room."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_save

WORDS = {1: "added", 2: "changed", 3: "deleted"}


def on_back_office(instance: Any, created: bool, **_: Any) -> None:
    """Record what is done in the back office: its own log can be changed there."""
    from projects.services.audit.notifications import announce_recheck
    from projects.services.audit.sitelog import note

    if not created:
        return
    kind = instance.content_type.model if instance.content_type else ""
    action = f"back_office.{WORDS.get(instance.action_flag, 'done')}"
    note(instance.user, action, f"{kind} {instance.object_repr}", {"what": instance.get_change_message()})
    if kind == "user" and str(instance.object_id).isdecimal():
        announce_recheck(int(instance.object_id))  # deactivated, or rights taken away: open streams check access again


class DashboardConfig(AppConfig):
    """The dashboard."""

    name = "dashboard"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to the back office."""
        from django.contrib.admin.models import LogEntry

        post_save.connect(on_back_office, sender=LogEntry, dispatch_uid="back office")
