"""Emptying the outbox: each message until it arrives, at most a day, under an id that never changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import F

from agents.secrets.redaction import redact
from projects.errors import LostRace, Unsealable
from projects.models import Notice, NoticeChannel
from projects.services.audit.canonical import clean_line
from projects.services.audit.sealing import unseal
from projects.services.notices.outbox import DELIVERED, link_of, preferences_of, subject
from projects.services.notices.webhooks import NotSent, post
from projects.workers.queue import enqueue

CLAIM = timedelta(minutes=2)  # longer than one try may take; after it another worker takes over
PAUSES = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 1_800, 7_200, 21_600, 43_200))
KEPT = timedelta(days=30)


def deliver(pk: int, now: datetime) -> None:
    """One try to deliver a message that is due; what fails is tried again later, further apart each time."""
    # Claiming moves the time at which it is due: of a worker that dies, the next one takes it over.
    due = Notice.objects.filter(pk=pk, status=Notice.Status.WAITING, due_at__lte=now)
    if not due.update(due_at=now + CLAIM, tries=F("tries") + 1):
        return
    notice = Notice.objects.select_related("user").get(pk=pk)
    mine = Notice.objects.filter(pk=pk, status=Notice.Status.WAITING, tries=notice.tries)
    try:
        SENDERS[notice.channel](notice, now)
    except NotSent as why:
        problem = clean_line(str(redact(str(why))), 300)
        if notice.tries > len(PAUSES):
            mine.update(status=Notice.Status.GIVEN_UP, problem=problem)
        else:
            mine.update(due_at=now + PAUSES[notice.tries - 1], problem=problem)
    else:
        mine.update(status=Notice.Status.SENT, sent_at=now, problem="")


def _email(notice: Notice, now: datetime) -> None:
    if not (settings.EMAIL_HOST and notice.user.email):
        raise NotSent("No mail server is set up, or the account has no e-mail address.")
    chosen = preferences_of(notice.user)
    lines = [f"{item['project']}: {item['text']}\n{link_of(chosen, item['link'])}" for item in notice.items]
    message = EmailMessage(
        subject(notice),
        "\n\n".join(lines) + "\n",
        to=[notice.user.email],
        headers={"Message-ID": f"<{notice.ident}@aiswe>"},
    )
    try:
        message.send()
    except (OSError, SMTPException) as trouble:
        raise NotSent(f"The mail server did not take it: {trouble}") from trouble


def _webhook(notice: Notice, now: datetime) -> None:
    chosen = preferences_of(notice.user)
    if not chosen.webhook_url:
        raise NotSent("There is no webhook address any more.")
    try:
        secret = unseal(chosen.webhook_secret.encode()).decode()
    except Unsealable:
        raise NotSent("The signing secret was sealed with another key; save the webhook again.") from None
    items = [item | {"link": link_of(chosen, item["link"])} for item in notice.items]
    message = {"type": "digest" if len(items) > 1 else items[0]["kind"], "items": items}
    post(chosen.webhook_url, secret, message, ident=str(notice.ident), moment=int(now.timestamp()))


SENDERS: dict[str, Callable[[Notice, datetime], None]] = {NoticeChannel.EMAIL: _email, NoticeChannel.WEBHOOK: _webhook}


def sweep(now: datetime) -> None:
    """End quiet hours that are over, hand out what is due, forget what is old."""
    held = defaultdict[tuple[int, str], list[Notice]](list)
    for notice in Notice.objects.filter(status=Notice.Status.HELD, due_at__lte=now).order_by("pk"):
        held[notice.user_id, notice.channel].append(notice)
    for (user, channel), notices in held.items():
        try:
            _merge(user, channel, notices, now)
        except LostRace:
            continue
    for pk in Notice.objects.filter(status=Notice.Status.WAITING, due_at__lte=now).values_list("pk", flat=True)[:100]:
        enqueue("projects.jobs.deliver_notice", pk)
    Notice.objects.filter(created_at__lt=now - KEPT).exclude(status=Notice.Status.WAITING).delete()


def _merge(user: int, channel: str, notices: list[Notice], now: datetime) -> None:
    """Make one message of those that were held back. Raises LostRace when another worker did."""
    with transaction.atomic():
        rows = Notice.objects.filter(pk__in=[notice.pk for notice in notices], status=Notice.Status.HELD)
        if rows.update(status=Notice.Status.MERGED) != len(notices):
            raise LostRace("Another worker merges these.")
        Notice.objects.create(
            user_id=user,
            channel=channel,
            key=f"digest:{notices[0].pk}",
            items=[item for notice in notices for item in notice.items],
            status=Notice.Status.WAITING if channel in DELIVERED else Notice.Status.SENT,
            due_at=now,
            created_at=now,
        )
