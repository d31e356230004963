"""Addresses of git repositories elsewhere: which may be fetched from, and where they lead."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from agents.workspace.git import GitError

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_PATH = re.compile(r"[A-Za-z0-9._~/+@%,=-]+")
_SHORT = re.compile(r"(?P<user>[A-Za-z0-9._-]+)@(?P<host>[A-Za-z0-9.-]+):(?P<path>[^/].*|/[^/].*)")


class SourceRefused(GitError):
    """Code cannot be taken in from there; the text says why, and what to do."""


@dataclass(frozen=True)
class GitAddress:
    """An address that may be fetched from: https or ssh, without credentials."""

    scheme: str
    user: str
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port != (443 if self.scheme == "https" else 22) else ""
        return f"{self.scheme}://{user}{self.host}{port}{self.path}"


def parse_address(text: str) -> GitAddress:
    """A git address as people write it, also `git@host:path`. Raises SourceRefused."""
    text = text.strip()
    short = _SHORT.fullmatch(text) if "://" not in text else None
    if short:
        text = f"ssh://{short['user']}@{short['host']}/{short['path'].lstrip('/')}"
    try:
        parts = urlsplit(text)
        port = parts.port
        if not parts.scheme:
            raise ValueError("a path")
    except ValueError:
        raise SourceRefused(
            "The address cannot be read: write it as https://host/path or ssh://user@host/path."
        ) from None
    if parts.scheme not in ("https", "ssh"):
        raise SourceRefused(f"Only https and ssh addresses are fetched from, not {parts.scheme}.")
    if parts.password is not None or (parts.scheme == "https" and parts.username is not None):
        raise SourceRefused(
            "The address holds credentials. Leave them out, and set AISWE_GIT_TOKENS=host=token in the environment."
        )
    host, user = parts.hostname or "", parts.username or ""
    written = f"[{host}]" if ":" in host else host
    if not _HOST.fullmatch(written) or (user and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", user)):
        raise SourceRefused("The address names no usable host.")
    if parts.query or parts.fragment or not _PATH.fullmatch(parts.path) or parts.path.startswith("/-"):
        raise SourceRefused("The path of the address may hold letters, digits and . _ ~ / + @ % , = - only.")
    return GitAddress(parts.scheme, user, written, port or (443 if parts.scheme == "https" else 22), parts.path)


def place_of(address: GitAddress, private: Iterable[str] = ()) -> str:
    """The IP address that its host stands for now.

    Raises SourceRefused for one that is not public, unless the host is listed in `private`.
    """
    host = address.host.strip("[]")
    try:
        rows = socket.getaddrinfo(host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise SourceRefused(f"The host {host} is not known: check its spelling and the network.") from None
    places = [str(row[4][0]).split("%")[0] for row in rows]
    if host.lower() not in {name.lower() for name in private}:
        closed = [place for place in places if not is_public(place)]
        if closed:
            raise SourceRefused(
                f"The host {host} is a private address ({closed[0]}). An administrator can list it in AISWE_GIT_HOSTS."
            )
    return places[0]


def is_public(place: str) -> bool:
    """Whether an IP address is one of the internet, not of this machine or a private network."""
    found = ipaddress.ip_address(place)
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_global and not found.is_multicast
