"""What a forge sends to a project's webhook: each delivery once, and as little work for many as for one.

A delivery only says that something happened. The job that it wakes asks the forge how the pull request is, so it does
not matter in which order deliveries come, and one job answers all that wait for the same request.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

from django.core.signing import BadSignature, Signer
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.forges import webhooks
from agents.forges.contract import Delivery, Kind
from projects.errors import Unsealable
from projects.models import ForgeDelivery, ForgeLink, PullRequest
from projects.services.audit.canonical import clean_line
from projects.services.audit.sealing import unseal
from projects.workers.queue import enqueue

log = logging.getLogger(__name__)
JOB = "projects.forge_jobs.read_request"
MOST_BYTES = 3_000_000  # of a delivery; what the product reacts to is far smaller
KEPT = timedelta(days=30)
MOST_KEPT = 20_000  # of one link
_signer = Signer(salt="webhook of a forge")
ABOUT_REQUESTS = frozenset({"comment", "review", "request", "build"})


class NotTaken(Exception):
    """A delivery is refused; the text says why, and `status` is what HTTP calls it."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def key_of(link: ForgeLink) -> str:
    """The part of the webhook's address that names the link; nobody can make one up."""
    return _signer.sign(str(link.pk))


def link_at(key: str) -> ForgeLink | None:
    """The link whose webhook is at this address, if it reads one."""
    try:
        number = int(_signer.unsign(key))
    except (BadSignature, ValueError):
        return None
    return ForgeLink.objects.filter(pk=number).exclude(secret="").first()


def secret_of(link: ForgeLink) -> str:
    """What the forge signs with; "" when it cannot be read."""
    try:
        return unseal(link.secret.encode()).decode()
    except Unsealable:
        log.error("the secret of %s's webhook was sealed with another key: set a new one", link)
        return ""


def receive(link: ForgeLink, headers: Mapping[str, str], body: bytes) -> bool:
    """Keep a delivery and wake whoever acts on it; False when it was here before.

    Raises NotTaken: the signature is wrong, it cannot be read, or another one was sent under its name.
    """
    if len(body) > MOST_BYTES:
        raise NotTaken(f"A delivery has at most {MOST_BYTES:,} bytes.", 413)
    try:
        delivery = webhooks.read(cast(Kind, link.kind), headers, body, secret_of(link), now=time.time())
    except webhooks.WrongSignature as refused:
        raise NotTaken(str(refused), 401) from None
    except webhooks.UnreadableDelivery as refused:
        raise NotTaken(str(refused), 400) from None
    request = _about(link, delivery)
    row = ForgeDelivery(
        link=link,
        ident=delivery.ident,
        digest=hashlib.sha256(body).hexdigest(),
        event=delivery.event,
        number=request.number if request is not None else delivery.number,
        build=delivery.build,
    )
    if request is None:
        row.handled_at, row.outcome = timezone.now(), "not about an open pull request of ours"
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        kept = ForgeDelivery.objects.filter(link=link, ident=row.ident).values_list("digest", flat=True).first()
        if kept is not None and kept != row.digest:
            raise NotTaken("Another delivery has this name.", 409) from None
        return False
    # Looked up after the row can be seen: the job looks for rows after it marked its own as handled, so one of the two
    # sees the other.
    if request is not None and not waiting(request).filter(pk__lt=row.pk).exists():
        enqueue(JOB, request.pk)
    return True


def _about(link: ForgeLink, delivery: Delivery) -> PullRequest | None:
    """Our open pull request that it is about."""
    if delivery.event not in ABOUT_REQUESTS or delivery.repository.casefold() != link.path.casefold():
        return None
    rows = PullRequest.objects.filter(link=link)
    if delivery.event != "request":  # which may say that it was opened again
        rows = rows.filter(state=PullRequest.State.OPEN)
    if delivery.number is not None:
        rows = rows.filter(number=delivery.number)
        if delivery.event == "build":  # one of an older commit says nothing of what stands on the branch
            rows = rows.filter(commit=delivery.commit)
        return rows.first()
    return rows.filter(commit=delivery.commit).first() if delivery.commit else None


def waiting(request: PullRequest) -> QuerySet[ForgeDelivery]:
    """The deliveries about a request that nobody has handled."""
    return ForgeDelivery.objects.filter(link=request.link_id, number=request.number, handled_at=None)


def mark_handled(rows: list[int], outcome: str, now: datetime) -> None:
    """Note what came of deliveries."""
    ForgeDelivery.objects.filter(pk__in=rows).update(handled_at=now, outcome=clean_line(outcome, 300))


def prune(now: datetime) -> None:
    """Forget old deliveries, and the oldest of a link that has very many. One that is sent again then does no harm."""
    ForgeDelivery.objects.filter(received_at__lt=now - KEPT).delete()
    for link in ForgeLink.objects.values_list("pk", flat=True):
        rows = ForgeDelivery.objects.filter(link=link).order_by("-pk").values_list("pk", flat=True)
        if (last := rows[MOST_KEPT : MOST_KEPT + 1].first()) is not None:
            ForgeDelivery.objects.filter(link=link, pk__lte=last).exclude(handled_at=None).delete()
