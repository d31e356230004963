"""What one person chooses to be told of, and by which way."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, time

from django.contrib.auth.models import User
from django.db import transaction

from projects.errors import BadInput, NotAllowed
from projects.models import Approval, Membership, NoticeChannel, NoticeKind, NoticePreferences
from projects.models.project import Role
from projects.services.audit.sealing import seal
from projects.services.audit.sitelog import note
from projects.services.notices.outbox import DELIVERED, preferences_of, put
from projects.services.notices.webhooks import check_address, new_secret
from projects.values.time_windows import zone


def may_name_webhooks(user: User) -> bool:
    """Administrators and managers of a project decide where this server may connect to."""
    return user.is_superuser or Membership.objects.filter(user=user, role=Role.MANAGER).exists()


def has_decided(user: User) -> bool:
    """Whether the person has answered a question yet: before that, nobody is asked about browser notifications."""
    return Approval.objects.filter(decided_by=user).exists()


def save(
    user: User,
    *,
    channels: Mapping[str, Sequence[str]],
    time_zone: str,
    quiet: tuple[time | None, time | None],
    webhook_url: str,
    origin: str,
) -> str:
    """Store the choice; returns the signing secret when a new webhook address made one, else "".

    Raises BadInput (half a pair of quiet hours, no such time zone, an address that is not allowed) and NotAllowed.
    """
    zone(time_zone)
    if (quiet[0] is None) != (quiet[1] is None) or (quiet[0] is not None and quiet[0] == quiet[1]):
        raise BadInput("Quiet hours need a beginning and a different end, or neither.")
    known = {
        kind: [channel for channel in NoticeChannel.values if channel in channels.get(kind, ())] for kind in NoticeKind
    }
    secret = ""
    with transaction.atomic():
        row = preferences_of(user)
        if webhook_url != row.webhook_url:
            if webhook_url and not may_name_webhooks(user):
                raise NotAllowed("Administrators and managers of a project may name a webhook address.")
            host = check_address(webhook_url).hostname if webhook_url else ""
            secret = new_secret() if webhook_url else ""
            row.webhook_url, row.webhook_secret = webhook_url, seal(secret.encode()).decode() if secret else ""
            note(user, "webhook.changed", user.get_username(), {"host": host})
        row.channels = known
        row.time_zone, row.origin = time_zone, origin
        row.quiet_from, row.quiet_until = quiet
        NoticePreferences.objects.update_or_create(
            user=user, defaults={f.name: getattr(row, f.name) for f in row._meta.fields if f.name not in ("id", "user")}
        )
    return secret


def send_test(user: User, now: datetime) -> list[str]:
    """Send a test by each way that the person chose for anything, quiet hours or not; returns the ways."""
    row = preferences_of(user)
    ways = {channel for chosen in row.channels.values() for channel in chosen}
    if not row.webhook_url:
        ways.discard(NoticeChannel.WEBHOOK)
    item = {"kind": "test", "project": "Test", "text": "this is how you are told", "link": "/account/notifications"}
    channels = [channel for channel in NoticeChannel.values if channel in ways]
    put(user, channels, item, key=f"test:{uuid.uuid4()}", now=now)
    return [str(NoticeChannel(channel).label) + (" (on its way)" * (channel in DELIVERED)) for channel in channels]
