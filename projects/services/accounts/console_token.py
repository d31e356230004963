"""One-time tokens that are printed on the console: who can read it owns the server.

One lets its reader create the first administrator; one signs its reader in to the demo. Of each only the hash is kept,
in a file of the data folder that its owner alone can read; a new token replaces the one before it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from pathlib import Path

from django.conf import settings

from projects.services.accounts import throttle
from projects.storage.key_files import replace_file

SETUP, DEMO = "setup_token", "demo_token"  # the names of the files
_bound_to: str = ""


def bind(host: str) -> None:
    """Say on which address this process listens; a process that never says so asks everyone for the token."""
    global _bound_to
    _bound_to = host


def is_loopback(host: str) -> bool:
    """Whether `host`, an address or a name, can only mean this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_bound_to_loopback() -> bool:
    """Whether this server can be reached from this machine alone."""
    return is_loopback(_bound_to) and not settings.HTTPS


def _path(name: str) -> Path:
    return Path(settings.AISWE_HOME) / name


def _hash(token: str) -> str:
    return hashlib.sha256(token.strip().encode("utf-8", "replace")).hexdigest()


def issue(name: str) -> str:
    """A new token; the one issued before under this name is void."""
    token = secrets.token_urlsafe(24)
    replace_file(_path(name), f"{_hash(token)}\n".encode())
    return token


def is_right(name: str, token: str, address: str) -> bool:
    """Whether this is the token that was issued last and is not used yet. Raises TooManyTries."""

    def matches() -> bool:
        try:
            kept = _path(name).read_text().strip()
        except FileNotFoundError:
            return False
        return len(kept) == 64 and hmac.compare_digest(kept, _hash(token))

    return throttle.guarded(name, "", address, matches)


def use(name: str) -> bool:
    """Make the token void; True for the one caller that did."""
    try:
        _path(name).unlink()
    except FileNotFoundError:
        return False
    return True
