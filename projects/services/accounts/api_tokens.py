"""API tokens: made, read, used and revoked. A token may do what its owner may and its scopes include, whichever is
less.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from projects.errors import BadInput, NotAllowed
from projects.models import ApiToken
from projects.services.accounts import second_factor
from projects.services.audit.canonical import clean_line
from projects.services.audit.sitelog import note

SCOPES: dict[str, str] = {
    "read": "see projects, plans, runs, events and approvals",
    "write": "create projects and upload documents",
    "run": "start, pause, resume and stop runs, retry tasks, talk to agents",
    "approve": "answer approvals, confirm requirements and approve plans; never as the second person of an override",
}
MARK = "aiswe"  # tells people and secret scanners what the string is
_WRITTEN = re.compile(rf"{MARK}_([0-9a-f]{{10}})_([A-Za-z0-9_-]{{43}})")
LONGEST = 365  # days
MOST = 20  # working tokens a person
SEEN_EVERY = timedelta(minutes=1)  # how exact "last used" is; less would be a write a request


def make_token(user: User, *, name: str, scopes: Iterable[str], days: int) -> tuple[ApiToken, str]:
    """A new token and its text, which is never shown again.

    Raises BadInput for a name, scope or lifetime that cannot be, or too many tokens.
    """
    wanted = sorted(set(scopes), key=list(SCOPES).index) if set(scopes) <= set(SCOPES) else []
    label = clean_line(" ".join(name.split()), 80)
    if not label:
        raise BadInput("Give the token a name that says what uses it.")
    if not wanted:
        raise BadInput(f"Choose what the token may do: {', '.join(SCOPES)}.")
    if not 1 <= days <= LONGEST:
        raise BadInput(f"A token is valid for 1 to {LONGEST} days.")
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        working = ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=timezone.now()).count()
        if working >= MOST:
            raise BadInput(f"You have {MOST} tokens. Revoke one that is no longer used.")
        token = ApiToken.objects.create(
            user=user,
            name=label,
            public=secrets.token_hex(5),
            digest=_digest(secret),
            scopes=wanted,
            expires_at=timezone.now() + timedelta(days=days),
        )
        note(user, "token.made", f"{label} ({token.public})", {"scopes": wanted, "days": days})
    return token, f"{MARK}_{token.public}_{secret}"


def _digest(secret: str) -> str:
    # 256 random bits need no slow hash.
    return hashlib.sha256(secret.encode()).hexdigest()


def find(text: str) -> ApiToken | None:
    """The working token of this text whose owner may sign in, or None; notes that it was used."""
    written = _WRITTEN.fullmatch(text)
    if written is None:
        return None
    public, secret = written.groups()
    token = ApiToken.objects.select_related("user").filter(public=public).first()
    if token is None or not constant_time_compare(token.digest, _digest(secret)):
        return None
    if not token.works or not token.user.is_active:
        return None
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > SEEN_EVERY:
        if token.last_used_at is None:
            note(token.user, "token.first_used", f"{token.name} ({token.public})")
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def require_scope(token: ApiToken, scope: str) -> None:
    """Raises NotAllowed when the token has not this scope, or its owner must set up a second factor first."""
    if scope not in SCOPES or scope not in token.scopes:
        raise NotAllowed(f"This token may not {scope}; it may {', '.join(token.scopes) or 'nothing'}.")
    if settings.REQUIRE_SECOND_FACTOR and not second_factor.has_one(token.user):
        raise NotAllowed("This server requires a second factor: the token's owner must set one up first.")


def revoke(token: ApiToken, *, by: object) -> None:
    """End a token for good; twice changes nothing."""
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
            note(by, "token.revoked", f"{token.name} ({token.public})", {"owner": token.user.get_username()})


def revoke_all(user: User, *, by: object) -> int:
    """End every working token of a user; how many there were."""
    working = list(ApiToken.objects.select_related("user").filter(user=user, revoked_at=None))
    for token in working:
        revoke(token, by=by)
    return len(working)
