"""Which pages may open the stream's socket: browsers send cookies with a WebSocket from any page."""

from __future__ import annotations

from typing import Any

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host


class OwnPagesOnly:
    """Let a handshake through whose Origin is the scheme, host and port it was sent to, or in AISWE_ORIGINS."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        """The socket, or a refused handshake (403)."""
        handler: Any = self.application if is_own(scope["headers"]) else WebsocketDenier()
        return await handler(scope, receive, send)


def is_own(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether exactly one Origin and one Host are given, and they fit."""
    origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
    hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(origins) != 1 or len(hosts) != 1:
        return False
    scheme, default = ("https", ":443") if settings.HTTPS else ("http", ":80")
    origin, host = origins[0].lower(), hosts[0].lower()
    allowed = settings.ALLOWED_HOSTS or [".localhost", "127.0.0.1", "[::1]"]  # what Django takes none for in debugging
    if not validate_host(split_domain_port(host)[0], allowed):
        return False
    return origin == f"{scheme}://{host.removesuffix(default)}" or origin in settings.CSRF_TRUSTED_ORIGINS
