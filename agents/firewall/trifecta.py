"""The rule no step of a run may break: untrusted input, secrets and a way out never come together without a person.

Any two of them are safe enough: what is untrusted and can reach out has nothing to tell, what knows secrets and is
untrusted cannot reach out. The check looks at what a step *can* do, never at how harmless its words look.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from agents.llm.base import Message
from agents.secrets.redaction import redact


class InvariantBroken(Exception):
    """A step would have joined untrusted input, secrets and an outside effect; the text names all three."""


@dataclass(frozen=True)
class Step:
    """What a step of a run has in its hands: sources nobody vouches for, secrets, ways out; `person` said yes to it."""

    name: str
    untrusted: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    person: bool = False

    @property
    def problem(self) -> str:
        """Why the step may not be taken; empty when it may."""
        if self.person or not (self.untrusted and self.secrets and self.outside):
            return ""
        return (
            f"{self.name} would join untrusted input ({', '.join(self.untrusted)}), secrets "
            f"({', '.join(self.secrets)}) "
            f"and a way out ({', '.join(self.outside)}) without a person's yes."
        )


def require(step: Step) -> None:
    """Raise InvariantBroken when the step has all three."""
    if step.problem:
        raise InvariantBroken(step.problem)


def is_outside(address: str) -> bool:
    """Whether a server's address leads off this machine. What cannot be read counts as outside."""
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    if host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


def secrets_in_text(texts: Iterable[str]) -> bool:
    """Whether any of the texts holds something that redaction would take out."""
    return any(redact(text) != text for text in texts)


def without_secrets(messages: Iterable[Message]) -> list[Message]:
    """The conversation with every secret taken out of it."""
    return [{**message, "content": str(redact(message["content"]))} for message in messages]
