"""Tickets by their address, whoever keeps them: a site of Jira, or the issues of a repository on a forge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from agents.forges.addresses import forge_address
from agents.forges.contract import Attachment, Forge, ForgeAddress, ForgeRefused, Ticket
from agents.forges.jira import Jira, TicketStep
from agents.forges.opening import open_forge
from agents.forges.ticket_text import visible
from agents.workspace.fetching import RemoteAccess

NO_TICKET = (
    "That address names no ticket: one of Jira ends like /browse/SHOP-12, one of a forge like /owner/name/issues/12."
)
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,20}-\d{1,9}")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")


class Tickets(Protocol):
    """Where tickets are kept. Every method may raise ForgeRefused."""

    def ticket(self, key: str) -> Ticket: ...
    def tickets(self, query: str, most: int = 100) -> Sequence[Ticket]: ...
    def attachment(self, one: Attachment, most_bytes: int) -> bytes: ...
    def comment(self, key: str, text: str) -> None: ...
    def transitions(self, key: str) -> Sequence[TicketStep]: ...
    def move(self, key: str, step: TicketStep) -> None: ...


class ForgeIssues:
    """The issues of a repository, which may be closed; in a backlog their keys say whose they are: shop#12."""

    def __init__(self, address: ForgeAddress, forge: Forge) -> None:
        self._forge, self._name = forge, forge.path.rpartition("/")[2]
        port = f":{address.port}" if address.port != 443 else ""
        # Not the address in an answer: later words are sent to it.
        self._web = f"https://{address.host}{port}/{forge.path}{'/-' if forge.kind == 'gitlab' else ''}/issues/"

    def ticket(self, key: str) -> Ticket:
        """One issue."""
        return self._shown(self._forge.issue(int(key)))

    def tickets(self, query: str, most: int = 100) -> list[Ticket]:
        """The issues that a query finds, by default the open ones."""
        return [self._shown(one) for one in self._forge.issues(query, most=most)]

    def _shown(self, one: Ticket) -> Ticket:
        text, notes = visible(one.text)
        key, notes = f"{self._name[:30]}#{one.key}", (*one.notes, *notes)
        return replace(one, key=key, text=text, notes=notes, web_address=self._web + one.key)

    def attachment(self, one: Attachment, most_bytes: int) -> bytes:
        """A file of an issue."""
        return self._forge.attachment(one, most_bytes)

    def comment(self, key: str, text: str) -> None:
        """Write below an issue."""
        self._forge.comment(int(key), text, about="issue")

    def transitions(self, key: str) -> list[TicketStep]:
        """All that can be done with the state of an issue."""
        return [TicketStep("close", "Close", "closed")]

    def move(self, key: str, step: TicketStep) -> None:
        """Close it."""
        self._forge.close_issue(int(key))


@dataclass(frozen=True)
class TicketAddress:
    """A site of Jira, and the ticket there; `key` is "" for the site alone."""

    host: str
    port: int
    key: str = ""


def open_tickets(text: str, jira: RemoteAccess, forges: RemoteAccess, *, one: bool) -> tuple[Tickets, str]:
    """Who keeps the tickets at an address, and the key of the `one` that it must name, else "". Raises ForgeRefused."""
    site = jira_address(text)
    if one and not (site.key if site else re.search(r"/(?:issues|work_items)/\d", text)):
        raise ForgeRefused(NO_TICKET)  # before any host is asked
    if site is not None:
        return Jira(site.host, site.port, jira), site.key
    try:
        address = forge_address(text, forges)
    except ForgeRefused as refused:
        raise ForgeRefused(f"{refused} {NO_TICKET}", refused.wait, refused.status) from None
    return ForgeIssues(address, open_forge(address, forges)), str(address.number or "")


def jira_address(text: str) -> TicketAddress | None:
    """The ticket or the site of Jira that an address of a page names; None when it is another address.

    Raises ForgeRefused for what is no https address.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = (parts.hostname or "").lower(), parts.port or 443
    except ValueError:
        raise ForgeRefused(NO_TICKET) from None
    host = f"[{host}]" if ":" in host else host
    if parts.scheme != "https" or not _HOST.fullmatch(host):
        raise ForgeRefused("Only https addresses are asked, like https://example.atlassian.net/browse/SHOP-12.")
    if parts.username or parts.password:
        raise ForgeRefused(
            "The address holds credentials: leave them out, and set AISWE_JIRA_TOKENS or AISWE_GIT_TOKENS."
        )
    steps = [step for step in parts.path.split("/") if step]
    named = [
        *parse_qs(parts.query).get("selectedIssue", ()),
        *(steps[-1:] if {"browse", "issues"} & set(steps[:-1]) else ()),
    ]
    key = next((one.upper() for one in named if _KEY.fullmatch(one)), "")
    if key or not steps or steps[0] in ("jira", "browse"):
        return TicketAddress(host, port, key)
    return None
