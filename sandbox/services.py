"""Servers that tests need (PostgreSQL, MySQL or MariaDB, Redis): what each is, and how a test run gets them.

Each run has its own, started fresh and gone with it. They listen on 127.0.0.1 inside the sandbox, which has no other
network: a container that shares its loopback where an engine has the image, else the server program of the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable
from urllib.parse import quote

from sandbox.base import SandboxError

Kind = Literal["postgresql", "mysql", "redis"]
KINDS: tuple[Kind, ...] = get_args(Kind)
START_SECONDS = 30.0  # that a run may take longer for each server
READY_SECONDS = 120.0  # on a machine whose CPU others have; a server usually answers after one second


class ServiceFailed(SandboxError):
    """A server did not start; `own`: for what the repository gives it."""

    def __init__(self, text: str, *, own: bool = False) -> None:
        super().__init__(text)
        self.own = own


@dataclass(frozen=True)
class ServiceFacts:
    """What is the same of all servers of a kind."""

    name: str
    port: int
    image: str  # where nobody names one
    images: tuple[str, ...]  # repositories of images that hold such a server
    package: str  # of Debian
    scheme: str


FACTS: Mapping[Kind, ServiceFacts] = {
    "postgresql": ServiceFacts(
        "PostgreSQL", 5432, "postgres:16", ("postgres", "postgis", "pgvector"), "postgresql", "postgresql"
    ),
    "mysql": ServiceFacts("MySQL", 3306, "mariadb:11", ("mysql", "mariadb"), "mariadb-server", "mysql"),
    "redis": ServiceFacts("Redis", 6379, "redis:7", ("redis", "valkey"), "redis-server", "redis"),
}


@dataclass(frozen=True)
class Service:
    """One server. `seeds` are SQL files of the repository, run once it is ready; paths as in the workspace."""

    kind: Kind
    image: str = ""
    user: str = "test"
    password: str = ""
    database: str = "test"
    seeds: tuple[str, ...] = ()

    @property
    def facts(self) -> ServiceFacts:
        return FACTS[self.kind]

    def cure(self) -> str:
        """What to do where there is none."""
        image = self.image or self.facts.image
        return f"Install the package {self.facts.package} on this machine, or with Docker: docker pull {image}"

    def environment(self) -> dict[str, str]:
        """How tests and programs find it: an address, and the variables that the server's own clients read."""
        facts, user, password = self.facts, quote(self.user, safe=""), quote(self.password, safe="")
        place = f"127.0.0.1:{facts.port}"
        if self.kind == "redis":
            return {"REDIS_URL": f"redis://{f':{password}@' if password else ''}{place}/0"}
        url = f"{facts.scheme}://{user}{f':{password}' if password else ''}@{place}/{quote(self.database, safe='')}"
        parts = {"HOST": "127.0.0.1", "PORT": str(facts.port), "USER": self.user, "PASSWORD": self.password}
        if self.kind == "mysql":
            named = {f"MYSQL_{part}": value for part, value in {**parts, "DATABASE": self.database}.items()}
            return {"DATABASE_URL": url, "MYSQL_URL": url, **named}
        named = {f"PG{part}": value for part, value in {**parts, "DATABASE": self.database}.items()}
        return {"DATABASE_URL": url, "POSTGRES_URL": url, **named}

    def to_start(self) -> dict[str, Any]:
        """What `sandbox.inside.services` is told."""
        told = {"name": self.facts.name, "port": self.facts.port, "cure": self.cure(), "seconds": READY_SECONDS}
        return asdict(self) | told


def environment_of(services: Sequence[Service]) -> dict[str, str]:
    """The variables of all of them; of two databases the first is DATABASE_URL."""
    found: dict[str, str] = {}
    for service in reversed(services):
        found |= service.environment()
    return found


@runtime_checkable
class RunsBeside(Protocol):
    """A sandbox that can have servers beside it."""

    def beside(self, services: Sequence[Service]) -> AbstractContextManager[Sequence[Service]]:
        """Start those of which the engine has the image, in the sandbox's own network; which they are.

        They answer already, and are gone at the end of the context. Raises ServiceFailed.
        """
