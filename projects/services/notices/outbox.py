"""Putting messages for people into the outbox, in the transaction of what they are about.

A message names the project, what kind of thing happened and where to look; never what the work is about.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from projects.models import Notice, NoticeChannel, NoticeKind, NoticePreferences, Project
from projects.models.notices import default_channels
from projects.services.accounts.rights import roles_that_may
from projects.services.audit.canonical import clean_line
from projects.values.time_windows import Window
from projects.workers.queue import enqueue

DELIVERED = (NoticeChannel.EMAIL, NoticeChannel.WEBHOOK)  # by a worker; an open page fetches the others itself


def preferences_of(user: User) -> NoticePreferences:
    """The person's choice, or, unsaved, what holds for somebody who never chose."""
    return NoticePreferences.objects.filter(user=user).first() or NoticePreferences(user=user)


def quiet_until(chosen: NoticePreferences, now: datetime) -> datetime | None:
    """When the quiet hours that `now` lies in end; None outside of them."""
    if chosen.quiet_from is None or chosen.quiet_until is None or chosen.quiet_from == chosen.quiet_until:
        return None
    span = Window(chosen.quiet_from, chosen.quiet_until, chosen.time_zone).current_or_next(now)
    return span.closes if span.holds(now) else None


def tell(kind: NoticeKind, project: Project, *, key: str, link: str, text: str, verb: str = "project.view") -> None:
    """Tell everybody in the project whose role includes `verb`; the same `key` again tells nobody twice."""
    people = get_user_model().objects.filter(
        is_active=True, memberships__project=project, memberships__role__in=roles_that_may(verb)
    )
    _tell(people, {"kind": kind.value, "project": project.name, "text": text, "link": link}, key, project)


def tell_administrators(kind: NoticeKind, *, key: str, link: str, text: str) -> None:
    """Tell those who look after the installation of something that belongs to no project; once for each `key`."""
    people = get_user_model().objects.filter(is_active=True, is_superuser=True)
    _tell(people, {"kind": kind.value, "project": "This installation", "text": text, "link": link}, key)


def _tell(people: QuerySet[User], item: dict[str, str], key: str, project: Project | None = None) -> None:
    for user in people.select_related("notice_preferences").distinct():
        chosen = getattr(user, "notice_preferences", None)
        channels = chosen.channels if chosen is not None else default_channels()
        put(user, channels.get(item["kind"], ()), item, key=key, project=project, chosen=chosen)


def tell_of_report(user: User, *, key: str, link: str, now: datetime) -> None:
    """Tell a person that the weekly report they schedule is sent; e-mail is what sends it."""
    chosen = preferences_of(user)
    ways = [way for way in chosen.channels.get(NoticeKind.REPORT, ()) if way != NoticeChannel.EMAIL]
    item = {"kind": NoticeKind.REPORT.value, "project": "All projects", "text": "weekly report", "link": link}
    put(user, ways, item, key=key, chosen=chosen, now=now)


def put(
    user: User,
    channels: list[str] | tuple[str, ...],
    item: dict[str, str],
    *,
    key: str,
    project: Project | None = None,
    chosen: NoticePreferences | None = None,
    now: datetime | None = None,
) -> None:
    """One row for each channel, held back in the person's quiet hours (`chosen`; without it there are none)."""
    now = now or timezone.now()
    quiet = quiet_until(chosen, now) if chosen is not None else None
    with transaction.atomic():
        for channel in channels:
            held = quiet is not None and channel != NoticeChannel.PAGE
            at_once = Notice.Status.WAITING if channel in DELIVERED else Notice.Status.SENT
            values = {
                "project": project,
                "items": [item],
                "status": Notice.Status.HELD if held else at_once,
                "due_at": quiet if held else now,
                "created_at": now,
            }
            row, made = Notice.objects.get_or_create(
                user=user, channel=channel, key=clean_line(key, 120), defaults=values
            )
            if made and row.status == Notice.Status.WAITING:
                enqueue("projects.jobs.deliver_notice", row.pk)


def link_of(chosen: NoticePreferences, path: str) -> str:
    """The full address of a page for this person; the path alone where nobody knows how the site is reached."""
    origin = settings.CSRF_TRUSTED_ORIGINS[0] if settings.CSRF_TRUSTED_ORIGINS else chosen.origin
    return f"{origin.rstrip('/')}{path}" if "*" not in origin else path


def subject(notice: Notice) -> str:
    """One line for a message."""
    first = notice.items[0]
    one = clean_line(f"{first['project']}: {first['text']}", 150)
    return f"AI SWE, {one}" if len(notice.items) == 1 else f"AI SWE: {len(notice.items)} messages from quiet hours"
