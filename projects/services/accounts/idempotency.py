"""Requests that are done once: the key that a program gave, what it asked with it, and the answer that it got."""

from __future__ import annotations

import re
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from projects.errors import BadInput, LostRace
from projects.models import ApiAnswer, ApiToken

KEPT = timedelta(hours=24)
MOST = 1_000  # answers of a token; the oldest go first
PATTERN = r"^[!-~]{1,200}$"


def begin(token: ApiToken, key: str, seal: str) -> tuple[ApiAnswer, bool]:
    """The row of a key, and whether it is new: then the request is to be done, else it has its answer.

    `seal` is a hash of what is asked. Raises BadInput (no key, or used for another request) and LostRace (the first
    request is not over, or was interrupted: what became of it is not known).
    """
    if not re.fullmatch(PATTERN, key):
        raise BadInput("Idempotency-Key must have 1 to 200 visible ASCII characters.")
    with transaction.atomic():
        ApiAnswer.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
        row, is_new = ApiAnswer.objects.get_or_create(token=token, key=key, defaults={"seal": seal})
        if is_new:
            older = ApiAnswer.objects.filter(token=token).order_by("-pk").values_list("pk", flat=True)[MOST : MOST + 1]
            ApiAnswer.objects.filter(token=token, pk__lte=next(iter(older), 0)).delete()
            return row, True
    if row.seal != seal:
        raise BadInput("This Idempotency-Key was used for another request. Use a new one.")
    if not row.status:
        raise LostRace("The request with this Idempotency-Key is not over, or was interrupted. See what became of it.")
    return row, False


def keep(row: ApiAnswer, status: int, body: str) -> None:
    """Keep the answer to a request that was done."""
    row.status, row.body = status, body
    row.save(update_fields=["status", "body"])
