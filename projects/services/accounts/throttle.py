"""Rate limits on wrong passwords, codes and API tokens.

An attempt is counted before the answer is checked, so guessing in parallel gains nothing, and taken back when the
answer is right. Three counters, each with some free attempts and then a wait that doubles: this account from this
address; any account from this address; this account from anywhere. The third never delays an address the owner signed
in from before, so nobody can lock an owner out by failing on purpose.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from projects.errors import TooManyTries
from projects.models import Tries

FIRST_WAIT = 5  # seconds; doubled by each further failure
FORGOTTEN_AFTER = timedelta(hours=24)
KNOWN_FOR = timedelta(days=30)


@dataclass(frozen=True)
class Counter:
    """How many failures are free, and the longest wait in seconds."""

    free: int
    longest: int


HERE = Counter(free=5, longest=15 * 60)  # one account, one address
ADDRESS = Counter(free=30, longest=15 * 60)  # any account, one address
ACCOUNT = Counter(free=50, longest=5 * 60)  # one account, any address


def _key(*parts: str) -> str:
    words = "\x00".join(parts).encode()
    return hmac.new(str(settings.SECRET_KEY).encode(), words, hashlib.sha256).hexdigest()


def _counters(what: str, account: str, address: str) -> dict[str, tuple[str, Counter]]:
    name = account.strip().casefold()[:300]
    found = {"address": (_key(what, "address", address), ADDRESS)}
    if name:
        found["here"] = (_key(what, "here", name, address), HERE)
        found["account"] = (_key(what, "account", name), ACCOUNT)
    return found


def _wait(count: int, counter: Counter) -> int:
    over = count - counter.free
    return 0 if over < 0 else min(counter.longest, FIRST_WAIT << min(over, 20))


def words_for(seconds: int, until: datetime) -> str:
    """How long to wait, for a person."""
    span = f"{seconds} seconds" if seconds < 90 else f"{-(-seconds // 60)} minutes"
    return f"Too many failed attempts. Try again in {span}, after {until:%H:%M:%S} UTC."


def begin(what: str, account: str, address: str) -> None:
    """Count an attempt before its answer is checked.

    `what` names the question ("password", "code", "token"); an empty `account` counts by address alone. Raises
    TooManyTries, whose text says when to try again.
    """
    now = timezone.now()
    counters = _counters(what, account, address)
    with transaction.atomic():
        rows = _rows(counters, now)
        here = rows.get("here")
        if here is not None and here.known_until is not None and here.known_until > now:
            rows.pop("account")
        waits = [row.wait_until for row in rows.values() if row.wait_until is not None and row.wait_until > now]
        if waits:
            until = max(waits)
            seconds = max(1, round((until - now).total_seconds()))
            raise TooManyTries(words_for(seconds, until), seconds)
        for name, row in rows.items():
            row.count += 1
            wait = _wait(row.count, counters[name][1])
            row.wait_until = now + timedelta(seconds=wait) if wait else None
            row.last_at = now
            row.save()
        Tries.objects.filter(last_at__lt=now - FORGOTTEN_AFTER, known_until=None).delete()
        Tries.objects.filter(last_at__lt=now - FORGOTTEN_AFTER, known_until__lt=now).delete()


def _rows(counters: dict[str, tuple[str, Counter]], now: datetime) -> dict[str, Tries]:
    """The rows of the counters, held until the transaction ends; old ones start again at zero."""
    keys = [key for key, _ in counters.values()]
    # Made first, then held: of two first tries at the same time, the second waits for the first one's count.
    Tries.objects.bulk_create([Tries(key=key, last_at=now) for key in keys], ignore_conflicts=True)
    held = {row.key: row for row in Tries.objects.select_for_update().filter(key__in=keys).order_by("key")}
    rows = {name: held[key] for name, (key, _) in counters.items()}
    for row in rows.values():
        if row.last_at < now - FORGOTTEN_AFTER:
            row.count, row.wait_until = 0, None
    return rows


def succeeded(what: str, account: str, address: str) -> None:
    """Take the attempt back: the answer was right. This address is known from now on."""
    now = timezone.now()
    counters = _counters(what, account, address)
    with transaction.atomic():
        rows = _rows(counters, now)
        for name, row in rows.items():
            if name == "here":
                row.count, row.known_until = 0, now + KNOWN_FOR
            else:
                row.count = max(0, row.count - 1)
            # The wait this very try began, while it was not known to be right.
            if not _wait(row.count, counters[name][1]):
                row.wait_until = None
            row.save()


def guarded(what: str, account: str, address: str, check: Callable[[], bool]) -> bool:
    """The answer of `check`, with the attempt counted around it. Raises TooManyTries."""
    begin(what, account, address)
    right = check()
    if right:
        succeeded(what, account, address)
    return right
