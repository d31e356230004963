"""The tokens that programs send: one look-up for the API, the Model Context Protocol and git."""

from __future__ import annotations

from projects.models import ApiToken
from projects.services.accounts import api_tokens, throttle

NO_TOKEN = "Send a token: `Authorization: Bearer aiswe_…`. You create one under Account."  # noqa: S105  it is a hint
WRONG_TOKEN = "This token does not work: it is wrong, revoked or expired, or its owner cannot sign in."  # noqa: S105


def find_token(text: str, place: str) -> ApiToken | None:
    """The working token of this text; wrong ones are counted by address. Raises TooManyTries."""
    token = api_tokens.find(text)
    if token is None:
        throttle.begin("token", "", place)
    return token
