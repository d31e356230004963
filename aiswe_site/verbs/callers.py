"""Who calls a tool, and what they may do: the operator at this machine, or the owner of an API token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.contrib.auth.models import User

from dashboard.access import rate
from projects.errors import NotAllowed, TooManyTries
from projects.models import ApiToken
from projects.services.accounts import api_tokens

APPROVE = "approve"


@dataclass(frozen=True)
class Caller:
    """A person's account, and the token that limits it; without a token, the operator over stdio.

    `approves` says whether the operator allowed this server to decide for them.
    """

    user: User
    token: ApiToken | None = None
    approves: bool = False

    def require(self, scope: str, command: str = "") -> None:
        """Raises NotAllowed when the caller has not this scope; `command` is how a person does the same."""
        instead = f"A person does it in the dashboard, or with `{command}`." if command else ""
        if self.token is not None:
            try:
                api_tokens.require_scope(self.token, scope)
            except NotAllowed as refusal:
                raise NotAllowed(f"{refusal} {instead}".strip()) from None
        elif scope == APPROVE and not self.approves:
            off = "This decides for a person, and the server was started without --allow-approvals."
            raise NotAllowed(f"{off} {instead}".strip())

    def may(self, scope: str) -> bool:
        """Whether require() lets this scope pass."""
        try:
            self.require(scope)
        except NotAllowed:
            return False
        return True


Who = Callable[[], Caller]  # asked anew for each call, in the thread of the call


def operator(user: User, *, approves: bool) -> Who:
    """Whoever started the server over stdio: their account as it is at each call."""
    caller = Caller(user, approves=approves)
    return lambda: replace(caller, user=User.objects.get(pk=user.pk))


def token_owner() -> Caller:
    """The owner of the token that came with this HTTP request.

    Raises NotAllowed when it works no more, and TooManyTries.
    """
    from mcp.server.auth.middleware.auth_context import get_access_token

    sent = get_access_token()
    token = ApiToken.objects.select_related("user").filter(public=sent.client_id).first() if sent else None
    if token is None or not token.works or not token.user.is_active:
        raise NotAllowed("This token was revoked, or it expired. Create another under Account.")
    if wait := rate.too_often(token.pk):  # counted by call: what else the protocol sends is the client's affair
        raise TooManyTries(f"Too many calls with this token; try again in {wait} seconds.", wait)
    return Caller(token.user, token)
