"""Posting signed messages, as standardwebhooks.com describes it, to an address that somebody typed in."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import secrets
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from agents.workspace.addresses import is_public
from projects.errors import BadInput
from projects.services.accounts.console_token import is_loopback

MARK = "whsec_"
SECONDS = 10.0  # for each answer of the network
MOST_SECONDS = 20.0  # for all of one try: a receiver must not hold a worker


class NotSent(Exception):
    """A message could not be delivered this time; the text says why."""


def new_secret() -> str:
    """A signing secret, as receivers expect it."""
    return MARK + base64.b64encode(secrets.token_bytes(24)).decode()


def signature(secret: str, ident: str, moment: int, body: bytes) -> str:
    """HMAC-SHA256 over "ident.moment.body"."""
    key = base64.b64decode(secret.removeprefix(MARK))
    digest = hmac.new(key, f"{ident}.{moment}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def check_address(url: str) -> SplitResult:
    """The parts of an address that messages may go to. Raises BadInput, whose text says what is allowed."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise BadInput("That is not an address.") from None
    if not host or parts.username or parts.password or parts.fragment or not url.isascii() or not url.isprintable():
        raise BadInput("A webhook address looks like https://example.org/path, without a name or password in it.")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise BadInput("A webhook address begins with https://; http:// is possible on this machine only.")
    _place(parts)
    return parts


def _place(parts: SplitResult) -> str:
    """The IP address to connect to: checked and used, so that a name cannot change its meaning in between."""
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise BadInput(f"The host {host} is not known: check its spelling and the network.") from None
    places = [str(row[4][0]).split("%")[0] for row in rows]
    if host.lower() not in {name.lower() for name in settings.WEBHOOK_HOSTS} and not all(map(is_public, places)):
        raise BadInput(f"The host {host} is in a private network. An administrator can list it in AISWE_WEBHOOK_HOSTS.")
    return places[0]


class _Http(http.client.HTTPConnection):
    """A connection to an address that was checked; the name is only said."""

    def __init__(self, parts: SplitResult) -> None:
        super().__init__(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), timeout=SECONDS)
        self._parts = parts

    def connect(self) -> None:
        """Connect to the checked address, with TLS for the name where the address asks for it."""
        self.sock = socket.create_connection((_place(self._parts), self.port), SECONDS)
        if self._parts.scheme == "https":
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)

    def hang_up(self) -> None:
        """End a try that takes too long, whatever the other side still sends."""
        with suppress(OSError, AttributeError):
            self.sock.shutdown(socket.SHUT_RDWR)


def post(url: str, secret: str, message: Mapping[str, Any], *, ident: str, moment: int) -> None:
    """One try to deliver; redirects are not followed. Raises NotSent."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "aiswe",
        "webhook-id": ident,
        "webhook-timestamp": str(moment),
        "webhook-signature": signature(secret, ident, moment, body),
    }
    try:
        parts = check_address(url)
        connection = _Http(parts)
        watch = threading.Timer(MOST_SECONDS, connection.hang_up)
        watch.daemon = True
        watch.start()
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, headers)
            status = connection.getresponse().status
        finally:
            watch.cancel()
            connection.close()
    except (BadInput, OSError, http.client.HTTPException) as trouble:
        raise NotSent(str(trouble) or type(trouble).__name__) from trouble
    if not 200 <= status < 300:
        raise NotSent(f"The receiver answered {status}.")
