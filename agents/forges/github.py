"""GitHub, github.com and Enterprise Server: docs.github.com/rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote

from agents.forges.contract import (
    About,
    Attachment,
    Comment,
    ForgeAddress,
    ForgeRefused,
    ForgeRepository,
    ForgeRequest,
    Kind,
    Person,
    Place,
    Remark,
    Status,
    StatusState,
    Ticket,
)
from agents.forges.diffs import placed
from agents.forges.http import ForgeApi, Query, credential, reading
from agents.forges.wording import as_sent
from agents.workspace.fetching import RemoteAccess

MOST_STATUS = 140  # characters of a status
_FILE = re.compile(r"\[([^\]\n]*)\]\((https://[^\s/()]+/)(user-attachments/(?:files|assets)/[\w.+/-]{1,300})\)")


class GitHub:
    """One repository on GitHub."""

    kind: Kind = "github"
    size: ClassVar[Query] = {"per_page": 100}

    def __init__(self, address: ForgeAddress, access: RemoteAccess) -> None:
        self.path = address.path
        self._web = f"https://{address.host}{f':{address.port}' if address.port != 443 else ''}/"
        self._api = self._connect(address, credential(address.host, access), access)
        self._here = f"/repos/{quote(address.path)}"

    def _connect(self, address: ForgeAddress, token: str, access: RemoteAccess) -> ForgeApi:
        headers = {"Authorization": f"Bearer {token}", "X-GitHub-Api-Version": "2022-11-28"}
        headers["Accept"] = "application/vnd.github+json"
        if address.host == "github.com":
            return ForgeApi("api.github.com", 443, "https://api.github.com", headers, access)
        return ForgeApi(address.host, address.port, f"https://{address.host}:{address.port}/api/v3", headers, access)

    @cached_property
    def _me(self) -> Person:
        return person(self._api.get("/user"))

    @reading
    def me(self) -> Person:
        """Whose credential this is."""
        return self._me

    @reading
    def person(self, login: str) -> Person:
        """The account of that name now."""
        return person(self._api.get(f"/users/{quote(login, safe='')}"))

    @reading
    def repository(self) -> ForgeRepository:
        """The repository, as GitHub tells it."""
        row = self._api.get(self._here)
        return ForgeRepository(
            row["full_name"], row["clone_url"], row["default_branch"], row["html_url"], bool(row["private"])
        )

    @reading
    def issue(self, number: int) -> Ticket:
        """One issue."""
        row = self._api.get(f"{self._here}/issues/{number}")
        if row.get("pull_request"):
            raise ForgeRefused(f"#{number} is a pull request, not an issue.")
        return self._ticket(row)

    @reading
    def issues(self, query: str = "", *, most: int = 100) -> Sequence[Ticket]:
        """Issues by the words of the list of issues, "labels=bug&state=all"; the open ones by default."""
        rows = self._api.rows(f"{self._here}/issues", {**self.size, **self._asked_for(query)})
        return list(islice((self._ticket(row) for row in rows if not row.get("pull_request")), most))

    def _asked_for(self, query: str) -> dict[str, str]:
        return {"state": "open"} | dict(parse_qsl(query if "=" in query else f"labels={query}"))

    def attachment(self, one: Attachment, most_bytes: int) -> bytes:
        """A file of an issue."""
        return self._api.file(one.address, most_bytes, stored=True)

    @reading
    def comment(self, number: int, text: str, *, about: About = "request") -> Comment:
        """Write on an issue or request."""
        row = self._api.send("POST", f"{self._here}/issues/{number}/comments", {"body": as_sent(text)})
        return comment_of(row, "conversation")

    @reading
    def reply(self, number: int, to: Comment, text: str) -> Comment:
        """Answer below a comment on a line; quote any other."""
        if to.place != "line":
            return self.comment(number, quoting(to, text))
        body = {"body": as_sent(text)}
        row = self._api.send("POST", f"{self._here}/pulls/{number}/comments/{to.reply_to or to.ident}/replies", body)
        return comment_of(row, "line")

    def close_issue(self, number: int) -> None:
        """Close an issue."""
        self._api.send("PATCH", f"{self._here}/issues/{number}", {"state": "closed"})

    @reading
    def open_request(self, *, head: str, base: str, title: str, text: str, draft: bool = False) -> ForgeRequest:
        """Ask to merge a branch that was pushed; the open request of that branch, when there is one."""
        if (known := self._open_of(head, base)) is not None:
            return known
        body = self._opening(title, draft) | {"head": head, "base": base, "body": as_sent(text)}
        return request_of(self._api.send("POST", f"{self._here}/pulls", body))

    def _open_of(self, head: str, base: str) -> ForgeRequest | None:
        owner = self.path.partition("/")[0]
        rows = self._api.rows(f"{self._here}/pulls", {"state": "open", "head": f"{owner}:{head}", "base": base})
        return next((request_of(row) for row in rows), None)

    def _opening(self, title: str, draft: bool) -> dict[str, Any]:
        return {"title": title[:250], "draft": draft}

    @reading
    def edit_request(self, number: int, *, title: str = "", text: str = "") -> ForgeRequest:
        """Give a request other words."""
        body = {"title": title[:250]} if title else {}
        body |= {"body": as_sent(text)} if text else {}
        return request_of(self._api.send("PATCH", f"{self._here}/pulls/{number}", body))

    @reading
    def request(self, number: int) -> ForgeRequest:
        """A request as it is now."""
        return request_of(self._api.get(f"{self._here}/pulls/{number}"))

    @reading
    def requests(self, *, most: int = 100) -> Sequence[ForgeRequest]:
        """The open requests, the newest first."""
        return [request_of(row) for row in self._api.rows(f"{self._here}/pulls", {"state": "open", **self.size}, most)]

    @reading
    def comments(self, number: int) -> Iterator[Comment]:
        """All comments, the oldest first."""
        at = f"{self._here}/pulls/{number}"
        found = [
            comment_of(row, "conversation")
            for row in self._api.rows(f"{self._here}/issues/{number}/comments", self.size)
        ]
        found += self._reviewed(at)
        return iter(sorted(found, key=lambda one: (one.at, int(one.ident))))

    def _reviewed(self, at: str) -> list[Comment]:
        """What reviews say, on the whole and on lines."""
        reviews = [row for row in self._api.rows(f"{at}/reviews", self.size) if row["state"] != "PENDING"]
        found = [comment_of(row, "review") for row in reviews if (row.get("body") or "").strip()]
        return found + [comment_of(row, "line") for row in self._api.rows(f"{at}/comments", self.size)]

    @reading
    def review(self, number: int, commit: str, text: str, remarks: Sequence[Remark]) -> str:
        """Write a review that neither approves nor refuses; its address."""
        there, words = placed(remarks, self._diff(number), text)
        body = {"commit_id": commit, "event": "COMMENT", "body": as_sent(words)}
        body["comments"] = [self._remark(one) for one in there]  # type: ignore[assignment]  # JSON
        return str(self._api.send("POST", f"{self._here}/pulls/{number}/reviews", body)["html_url"])

    def _diff(self, number: int) -> str:
        accepted = "application/vnd.github.diff"
        return self._api.file(f"{self._here}/pulls/{number}", accept=accepted).decode("utf-8", "replace")

    def _remark(self, one: Remark) -> dict[str, Any]:
        return {"path": one.path, "line": one.line, "side": "RIGHT", "body": as_sent(one.text)}

    def set_status(self, commit: str, status: Status) -> None:
        """Say what a check found of a commit."""
        body = {"state": status.state, "context": status.name, "description": status.text[:MOST_STATUS]}
        body |= {"target_url": status.address} if status.address else {}
        self._api.send("POST", f"{self._here}/statuses/{commit}", body)

    @reading
    def statuses(self, commit: str) -> Sequence[Status]:
        """What checks say of a commit."""
        rows = self._api.get(f"{self._here}/commits/{commit}/status", self.size)["statuses"]
        return [
            Status(row["context"], state_said(row["state"]), row["description"] or "", row["target_url"] or "")
            for row in rows
        ]

    def build_log(self, build: str, most_bytes: int) -> str:
        """The end of the log of a job, by the job's number."""
        return self._api.tail(f"{self._here}/actions/jobs/{int(build)}/logs", most_bytes)

    def _ticket(self, row: Mapping[str, Any]) -> Ticket:
        return Ticket(
            key=str(int(row["number"])),
            title=row["title"],
            text=row.get("body") or "",
            author=person(row["user"]),
            state="closed" if row["state"] == "closed" else "open",
            web_address=row["html_url"],
            labels=[one["name"] if isinstance(one, dict) else str(one) for one in row["labels"]],
            updated_at=moment(row["updated_at"]),
            attachments=self._files(row),
        )

    def _files(self, row: Mapping[str, Any]) -> list[Attachment]:
        """Whoever wrote the issue wrote the addresses too: only those of the forge itself are taken."""
        found = _FILE.findall(row.get("body") or "")
        return [Attachment(name or "file", web + path) for name, web, path in found if web == self._web]


def person(row: Mapping[str, Any] | None) -> Person:
    """An account of an answer; without one somebody who is gone."""
    if row is None:
        return Person("0", "ghost")
    return Person(str(int(row["id"])), row["login"], row.get("type") == "Bot")


def moment(text: str) -> datetime:
    """A point in time of an answer."""
    return datetime.fromisoformat(text)


def state_said(word: str) -> StatusState:
    """A check's state, in the contract's words."""
    words: dict[str, StatusState] = {"success": "success", "failure": "failure", "failed": "failure"}
    words |= {"error": "error", "warning": "error", "canceled": "error"}
    return words.get(word, "pending")


def quoting(to: Comment, text: str) -> str:
    """An answer that shows what it answers, for places without threads."""
    return "\n".join(f"> {line}" for line in to.text[:500].splitlines()) + f"\n\n{text}"


def request_of(row: Mapping[str, Any]) -> ForgeRequest:
    """A request of an answer."""
    head, base = row["head"], row["base"]
    merged = bool(row.get("merged") or row.get("merged_at"))
    return ForgeRequest(
        number=int(row["number"]),
        title=row["title"],
        text=row.get("body") or "",
        author=person(row["user"]),
        state="merged" if merged else "closed" if row["state"] == "closed" else "open",
        web_address=row["html_url"],
        head=head["ref"],
        head_commit=head["sha"],
        base=base["ref"],
        base_commit=base["sha"],
        from_fork=not head.get("repo") or head["repo"]["id"] != base["repo"]["id"],
        draft=bool(row.get("draft")),
        merge_commit=(row.get("merge_commit_sha") or "") if merged else "",
    )


def comment_of(row: Mapping[str, Any], place: Place) -> Comment:
    """A comment or review of an answer."""
    return Comment(
        ident=str(int(row["id"])),
        place=place,
        author=person(row["user"]),
        text=row.get("body") or "",
        at=moment(row["submitted_at"] if place == "review" else row["created_at"]),
        path=row.get("path") or "",
        line=row.get("line") or row.get("original_line"),
        commit=row.get("original_commit_id") or row.get("commit_id") or "",
        reply_to=str(row.get("in_reply_to_id") or ""),
        edited_at=moment(row["updated_at"]) if place == "conversation" and row.get("updated_at") else None,
    )
