"""The hosting contract: what every place that a version is deployed to promises."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import unquote, urlsplit

from sandbox.base import PackageSet, SandboxError, SandboxLimits

State = Literal["starting", "running", "exited", "gone"]
PORT = 8000  # where an application listens, told in the variable PORT


class HostingError(SandboxError):
    """A version cannot be started, looked at or stopped there; its text is safe to show to a person."""


@dataclass(frozen=True)
class Release:
    """One version of an application. `name` is a DNS label that no other release has."""

    name: str
    folder: Path  # the files of the commit
    command: tuple[str, ...]  # empty: what its image starts
    environment: Mapping[str, str] = field(default_factory=dict)
    packages: PackageSet | None = None
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    image: str = ""  # where it is not built here
    port: int = PORT
    health: str = "/"  # the path that is asked whether it works


@dataclass(frozen=True)
class Seen:
    """What is known of a release now. `ready` is the host's own verdict; None where only a request tells."""

    state: State
    ready: bool | None = None
    restarts: int = 0
    exit_code: int | None = None  # of the last process that ended
    detail: str = ""  # why it is so, in the host's words
    stuck: bool = False  # the host does not expect it to come up: waiting longer does not help
    memory_mb: float | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class Log:
    """Output of a release, oldest line first; `position` (63 bits) continues after it. Text of a program: untrusted."""

    text: str
    position: int
    lost: bool = False  # older output than was asked for is gone


@dataclass(frozen=True)
class Address:
    """How requests reach a release: a Unix socket, or a base URL with what it takes to be let in.

    The URL may lie on a server with other routes, for which the headers count too: requests go where to() says, and
    nobody sees or replaces the headers.
    """

    socket: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca: str = ""  # a file of certificates to trust
    certificate: str = ""  # a file with the client's certificate and its key

    def to(self, path: str) -> str:
        """The URL for a path, with its query, that somebody asks a release for.

        Raises HostingError for one that could climb out to other routes. A path that has the URL's own in front comes
        from a link that the server changed (the Kubernetes API does so in HTML and redirects), and loses it.
        """
        asked = plain = path.partition("?")[0]
        for _ in range(3):
            plain = unquote(plain)
        if not asked.startswith("/") or ".." in re.split(r"[/\\]", plain):
            raise HostingError('the path of a request begins with "/" and has no ".."')
        before = urlsplit(self.url).path.rstrip("/")
        own = path.removeprefix(before) if before and f"{asked}/".startswith(f"{before}/") else path
        return (self.url.rstrip("/") or "http://app") + (own if own.startswith("/") else f"/{own}")

    def tls(self) -> ssl.SSLContext:
        """How the server proves who it is, and we who we are. Raises OSError (ssl.SSLError too) for unusable files."""
        if not self.url.startswith("https:"):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody; loading authorities takes 40 ms a request
        context = ssl.create_default_context(cafile=self.ca or None)
        # From Python 3.13 on, strict checks refuse certificates that clusters make for themselves (kubeadm's, k3s').
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.certificate:
            context.load_cert_chain(self.certificate)
        return context


class Host(Protocol):
    """Starts releases and keeps them up. Calls may come from any thread."""

    kind: str

    def problem(self) -> str:
        """Why nothing can be deployed here now, with the way out; "" when it can."""

    def start(self, release: Release) -> None:
        """Begin to start it, and return; look() tells what comes of it. Raises HostingError."""

    def look(self, name: str) -> Seen:
        """State of a release; "gone" for one that is not there. Raises HostingError when the host does not answer."""

    def logs(self, name: str, after: int = 0) -> Log:
        """What it printed after a position; at most 64 kB. Raises HostingError."""

    def restart(self, name: str) -> None:
        """End its process and start it again. Raises HostingError."""

    def stop(self, name: str) -> None:
        """End and remove it with all that it held; nothing happens for one that is gone. Raises HostingError."""

    def address(self, name: str) -> Address:
        """Where its requests go. Raises HostingError."""

    def names(self) -> list[str]:
        """Releases of this installation that are there. Raises HostingError."""
