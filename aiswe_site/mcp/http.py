"""Streamable HTTP: every request brings an API token, as for the JSON API."""

from __future__ import annotations

from anyio import to_thread
from django.db import connections
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aiswe_site.mcp.server import make_server
from aiswe_site.verbs.callers import token_owner
from dashboard.access.address import one_place
from dashboard.access.authentication import NO_TOKEN, WRONG_TOKEN, find_token
from projects.errors import TooManyTries

PATH = "/mcp"
MOST_BYTES = 6 * 1024 * 1024
TOO_LARGE = "The request body is too large; the limit is 6 MB."
NO_LENGTH = "Send the request body with its Content-Length."


class TokenGate:
    """Lets a request through with its token's owner, or answers why not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        place = one_place((scope.get("client") or ("",))[0])
        found = await to_thread.run_sync(_admitted, headers.get("authorization", ""), place)
        length = headers.get("content-length", "")
        if isinstance(found, AccessToken) and length.isdecimal() and int(length) > MOST_BYTES:
            found = _problem(413, TOO_LARGE)
        elif isinstance(found, AccessToken) and "transfer-encoding" in headers:
            found = _problem(411, NO_LENGTH)  # its end is not known before all of it is in memory
        if isinstance(found, JSONResponse):
            await found(scope, receive, send)
            return
        await self._app({**scope, "user": AuthenticatedUser(found)}, receive, send)


def _problem(status: int, words: str, **headers: str) -> JSONResponse:
    """A refusal in the protocol's own form, so that clients show its words."""
    error = {"code": INVALID_REQUEST, "message": words}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers)


def _admitted(sent: str, place: str) -> AccessToken | JSONResponse:
    """What the SDK is told of the token that was sent, or the refusal."""
    try:
        kind, _, text = sent.partition(" ")
        if kind.lower() != "bearer" or not text.strip():
            return _problem(401, NO_TOKEN, **{"WWW-Authenticate": "Bearer"})
        token = find_token(text.strip(), place)
        if token is None:
            return _problem(401, WRONG_TOKEN, **{"WWW-Authenticate": 'Bearer error="invalid_token"'})
        return AccessToken(token="", client_id=token.public, scopes=token.scopes, subject=str(token.user_id))
    except TooManyTries as wait:
        return _problem(429, str(wait), **{"Retry-After": str(wait.seconds)})
    finally:
        connections.close_all()


def make_app() -> ASGIApp:
    """The application for a server that listens on this machine alone; it keeps no sessions."""
    app = make_server(token_owner).streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True, max_request_body_size=MOST_BYTES
    )
    return TokenGate(AuthContextMiddleware(app))
