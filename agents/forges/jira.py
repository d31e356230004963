"""Jira Cloud: its tickets, found by key or by JQL, their files, a comment, a transition (REST API, version 3)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote

from agents.forges.adf import to_adf, to_markdown
from agents.forges.contract import Attachment, ForgeRefused, Person, Ticket
from agents.forges.http import ForgeApi
from agents.forges.wording import without_commands
from agents.llm.answers import clean
from agents.workspace.fetching import RemoteAccess

MOST_PAGES = 40
FIELDS = ("summary", "description", "labels", "status", "creator", "updated", "attachment", "timeoriginalestimate")
CRITERIA = re.compile(r"accept\w* (?:criteria|criterion|tests?)|definition of done", re.IGNORECASE)
SETTING = "AISWE_JIRA_TOKENS"


@dataclass(frozen=True)
class TicketStep:
    """A step that a ticket may take now: its number there, its name, and the state that it leads to."""

    ident: str
    name: str
    to: str


class _JiraApi(ForgeApi):
    """Jira says in an object, "errors", why it refuses a field."""

    def _said(self, content: bytes) -> str:
        try:
            told = json.loads(content)
            reasons = [f"{field}: {why}" for field, why in told["errors"].items()]
            content = json.dumps({"errorMessages": [*(told.get("errorMessages") or ()), *reasons]}).encode()
        except (ValueError, AttributeError, TypeError, KeyError):
            pass  # it has another shape
        return super()._said(content)


class Jira:
    """One site, with the credential of the installation for its host. Every method may raise ForgeRefused."""

    def __init__(self, host: str, port: int, access: RemoteAccess) -> None:
        """`access.tokens` are `email:token` by host. Raises ForgeRefused where there is none."""
        given = access.tokens.get(host, "")
        if not re.fullmatch(r"[\x21-\x7e]+:[\x21-\x7e]+", given):
            raise ForgeRefused(f"There is no token for {host}: set {SETTING}={host}=email:token in the environment.")
        self.site = f"https://{host}" + (f":{port}" if port != 443 else "")
        headers = {"Authorization": f"Basic {base64.b64encode(given.encode()).decode()}"}
        self._api = _JiraApi(host, port, f"{self.site}/rest/api/3", headers, access, SETTING)

    def ticket(self, key: str) -> Ticket:
        """One ticket. Raises NotThere."""
        names = ",".join((*FIELDS, *self._criteria))
        return self._ticket(self._api.get(_issue(key), {"fields": names}))

    def tickets(self, jql: str, most: int = 100) -> list[Ticket]:
        """The tickets that a query finds, in its order."""
        found, page = list[Ticket](), ""
        for _ in range(MOST_PAGES):
            asked = {"jql": jql, "fields": [*FIELDS, *self._criteria], "maxResults": min(50, most - len(found))}
            answer = self._api.send("POST", "/search/jql", asked | ({"nextPageToken": page} if page else {}))
            found += [self._ticket(one) for one in _rows(answer, "issues")]
            page = _word(_at(answer, "nextPageToken"), 2_000)
            if not page or len(found) >= most:
                break
        return found[:most]

    def attachment(self, one: Attachment, most_bytes: int) -> bytes:
        """A file of a ticket. Without `redirect=false` the answer is the address of another host."""
        return self._api.file(f"{one.address}?redirect=false", most_bytes, accept="*/*")

    def comment(self, key: str, text: str) -> None:
        """Write plain words below a ticket: they mention nobody."""
        self._api.send("POST", f"{_issue(key)}/comment", {"body": to_adf(without_commands(text))})

    def transitions(self, key: str) -> list[TicketStep]:
        """What may be done with the state of a ticket now."""
        rows = _rows(self._api.get(f"{_issue(key)}/transitions"), "transitions")
        return [TicketStep(_word(row.get("id")), _word(row.get("name")), _word(_at(row, "to", "name"))) for row in rows]

    def move(self, key: str, step: TicketStep) -> None:
        """Take a step."""
        self._api.send("POST", f"{_issue(key)}/transitions", {"transition": {"id": step.ident}})

    @cached_property
    def _criteria(self) -> dict[str, str]:
        """The site's own fields whose name says that they hold acceptance criteria, by their identifier."""
        rows = _rows({"fields": self._api.get("/field")}, "fields")
        named = {_word(row.get("id")): _word(row.get("name")) for row in rows}
        return {
            ident: name for ident, name in named.items() if CRITERIA.search(name) and ident.startswith("customfield_")
        }

    def _ticket(self, answer: Any) -> Ticket:
        fields, key = _at(answer, "fields"), _word(_at(answer, "key"))
        if not isinstance(fields, dict) or not re.fullmatch(r"\w+-\d+", key):
            raise ForgeRefused(f"{self.site} answers in a shape that its documents do not have.")
        read = to_markdown(fields.get("description"))
        parts, notes = [read.text], [*read.notes]
        for ident in self._criteria:
            criteria = to_markdown(fields.get(ident))
            notes += criteria.notes
            parts += [f"## Acceptance criteria\n\n{criteria.text}"] if criteria.text else []
        seconds, author = fields.get("timeoriginalestimate"), _at(fields, "creator")
        return Ticket(
            key,
            _word(fields.get("summary"), 300) or key,
            "\n\n".join(filter(None, parts)),
            Person(
                _word(_at(author, "accountId")), _word(_at(author, "displayName")), _at(author, "accountType") == "app"
            ),
            "closed" if _at(fields, "status", "statusCategory", "key") == "done" else "open",
            f"{self.site}/browse/{key}",
            tuple(map(_word, labels)) if isinstance(labels := fields.get("labels"), list) else (),
            _moment(fields.get("updated")),
            [self._file(row) for row in _rows(fields, "attachment") if str(row.get("id", "")).isdecimal()],
            minutes=round(seconds / 60) if isinstance(seconds, int) else None,
            notes=notes,
        )

    def _file(self, row: Mapping[str, Any]) -> Attachment:
        size = row.get("size")
        # The address in the answer is not followed: it may lead anywhere.
        address = f"{self.site}/rest/api/3/attachment/content/{row['id']}"
        return Attachment(
            _word(row.get("filename")) or f"file {row['id']}", address, size if isinstance(size, int) else None
        )


def _issue(key: str) -> str:
    return f"/issue/{quote(key, safe='')}"


def _at(value: Any, *names: str) -> Any:
    """What stands at a path in an answer; None where there is no such path."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _word(value: Any, most: int = 200) -> str:
    return clean(value, most) if isinstance(value, (str, int)) else ""


def _rows(answer: Any, name: str) -> Sequence[Mapping[str, Any]]:
    rows = _at(answer, name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.strptime(str(value), "%Y-%m-%dT%H:%M:%S.%f%z")
    except ValueError:
        return None
