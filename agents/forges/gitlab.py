"""GitLab, gitlab.com and self-managed: docs.gitlab.com/api. Its pull requests are called merge requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any
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
    NotThere,
    Person,
    Remark,
    State,
    Status,
    Ticket,
)
from agents.forges.diffs import Old, lines_of, placed, with_rest
from agents.forges.github import MOST_STATUS, moment, quoting, state_said
from agents.forges.http import ForgeApi, Query, credential, reading
from agents.forges.wording import as_sent
from agents.workspace.fetching import RemoteAccess

SIZE: Query = {"per_page": 100}
_UPLOAD = re.compile(r"\[([^\]\n]*)\]\(/uploads/([0-9a-f]{32})/([\w.+-]{1,255})\)")
_STATES: dict[str, State] = {"merged": "merged", "closed": "closed"}


class GitLab:
    """One project on GitLab."""

    kind: Kind = "gitlab"

    def __init__(self, address: ForgeAddress, access: RemoteAccess) -> None:
        self.path = address.path
        headers = {"PRIVATE-TOKEN": credential(address.host, access)}
        base = f"https://{address.host}:{address.port}/api/v4"
        self._api = ForgeApi(address.host, address.port, base, headers, access)
        self._here = f"/projects/{quote(address.path, safe='')}"

    @cached_property
    def _me(self) -> Person:
        return _person(self._api.get("/user"))

    @reading
    def me(self) -> Person:
        """Whose credential this is."""
        return self._me

    @reading
    def person(self, login: str) -> Person:
        """The account of that name now."""
        rows = [row for row in self._api.get("/users", {"username": login}) if row["username"].lower() == login.lower()]
        if not rows:
            raise NotThere(f"GitLab has no account {login[:80]}.")
        return _person(rows[0])

    @reading
    def repository(self) -> ForgeRepository:
        """The project, as GitLab tells it."""
        row = self._api.get(self._here)
        private = row["visibility"] != "public"
        return ForgeRepository(
            row["path_with_namespace"], row["http_url_to_repo"], row["default_branch"] or "", row["web_url"], private
        )

    @reading
    def issue(self, number: int) -> Ticket:
        """One issue."""
        return self._ticket(self._api.get(f"{self._here}/issues/{number}"))

    @reading
    def issues(self, query: str = "", *, most: int = 100) -> Sequence[Ticket]:
        """Issues by the words of the list of issues, "labels=bug&state=all"; the open ones by default."""
        given = {"state": "opened"} | dict(parse_qsl(query if "=" in query else f"labels={query}"))
        return [self._ticket(row) for row in self._api.rows(f"{self._here}/issues", {**SIZE, **given}, most)]

    def attachment(self, one: Attachment, most_bytes: int) -> bytes:
        """A file of an issue."""
        return self._api.file(one.address, most_bytes, stored=True)

    @reading
    def comment(self, number: int, text: str, *, about: About = "request") -> Comment:
        """Write on an issue or request."""
        place = "issues" if about == "issue" else "merge_requests"
        return _comment(self._api.send("POST", f"{self._here}/{place}/{number}/notes", {"body": as_sent(text)}))

    @reading
    def reply(self, number: int, to: Comment, text: str) -> Comment:
        """Answer in the comment's thread."""
        if not to.thread:
            return self.comment(number, quoting(to, text))
        at = f"{self._one(number)}/discussions/{quote(to.thread, safe='')}"
        return _comment(self._api.send("POST", f"{at}/notes", {"body": as_sent(text)}), to.thread)

    def close_issue(self, number: int) -> None:
        """Close an issue."""
        self._api.send("PUT", f"{self._here}/issues/{number}", {"state_event": "close"})

    @reading
    def open_request(self, *, head: str, base: str, title: str, text: str, draft: bool = False) -> ForgeRequest:
        """Ask to merge a branch that was pushed; the open request of that branch, when there is one."""
        at, branches = f"{self._here}/merge_requests", {"source_branch": head, "target_branch": base}
        for row in self._api.rows(at, {"state": "opened", **branches}):
            if not (known := _request(row)).from_fork:
                return known
        words = {"title": f"Draft: {title}"[:250] if draft else title[:250]}
        words["description"] = as_sent(text)
        return _request(self._api.send("POST", at, {**branches, **words}))

    @reading
    def edit_request(self, number: int, *, title: str = "", text: str = "") -> ForgeRequest:
        """Give a request other words."""
        body = {"title": title[:250]} if title else {}
        body |= {"description": as_sent(text)} if text else {}
        return _request(self._api.send("PUT", self._one(number), body))

    @reading
    def request(self, number: int) -> ForgeRequest:
        """A request as it is now."""
        return _request(self._api.get(self._one(number)))

    @reading
    def requests(self, *, most: int = 100) -> Sequence[ForgeRequest]:
        """The open requests, the newest first."""
        rows = self._api.rows(f"{self._here}/merge_requests", {"state": "opened", **SIZE}, most)
        return [_request(row) for row in rows]

    @reading
    def comments(self, number: int) -> Iterator[Comment]:
        """All comments of people, the oldest first."""
        threads = self._api.rows(f"{self._one(number)}/discussions", SIZE)
        found = [
            _comment(note, str(thread["id"]), str(thread["notes"][0]["id"]))
            for thread in threads
            for note in thread["notes"]
            if not note["system"]
        ]
        return iter(sorted(found, key=lambda one: (one.at, int(one.ident))))

    @reading
    def review(self, number: int, commit: str, text: str, remarks: Sequence[Remark]) -> str:
        """Write remarks as threads on their lines, and the rest as a comment; the request's address."""
        rows = self._api.rows(f"{self._one(number)}/diffs", SIZE)
        diff = "\n".join(f"--- a/{row['old_path']}\n+++ b/{row['new_path']}\n{row['diff']}" for row in rows)
        there, words = placed(remarks, diff, text)
        row, before = self._api.get(self._one(number)), lines_of(diff)
        for one in there:
            if not self._on_its_line(number, one, before[one.path, one.line], row["diff_refs"]):
                words = with_rest(words, [one])
        if words:
            self.comment(number, words)
        return str(row["web_url"])

    def _on_its_line(self, number: int, one: Remark, old: Old, refs: Mapping[str, Any]) -> bool:
        """Whether GitLab takes a remark there: of a large difference it keeps no lines, and answers 400."""
        place = {**refs, "position_type": "text", "new_path": one.path, "new_line": one.line, "old_path": old.path}
        place |= {"old_line": old.line} if old.line is not None else {}  # it wants both for a line that stayed
        body = {"body": as_sent(one.text), "position": place}
        try:
            self._api.send("POST", f"{self._one(number)}/discussions", body)
        except ForgeRefused as refused:
            if refused.status != 400:
                raise
            return False
        return True

    def set_status(self, commit: str, status: Status) -> None:
        """Say what a check found of a commit; the same again is refused by GitLab, so it is not sent."""
        if any((one.name, one.state) == (status.name, status.state) for one in self.statuses(commit)):
            return
        state = "failed" if status.state in ("failure", "error") else status.state
        body = {"state": state, "name": status.name, "description": status.text[:MOST_STATUS]}
        body |= {"target_url": status.address} if status.address else {}
        self._api.send("POST", f"{self._here}/statuses/{commit}", body)

    @reading
    def statuses(self, commit: str) -> Sequence[Status]:
        """What checks say of a commit."""
        rows = self._api.rows(f"{self._here}/repository/commits/{commit}/statuses", SIZE)
        return [
            Status(row["name"], state_said(row["status"]), row["description"] or "", row["target_url"] or "")
            for row in rows
        ]

    def build_log(self, build: str, most_bytes: int) -> str:
        """The end of the log of a job, by the job's number."""
        return self._api.tail(f"{self._here}/jobs/{int(build)}/trace", most_bytes)

    def _one(self, number: int) -> str:
        return f"{self._here}/merge_requests/{number}"

    def _ticket(self, row: Mapping[str, Any]) -> Ticket:
        text = row["description"] or ""
        files = [
            Attachment(name or file, self._api.at(f"{self._here}/uploads/{secret}/{file}"))
            for name, secret, file in _UPLOAD.findall(text)
        ]
        return Ticket(
            key=str(int(row["iid"])),
            title=row["title"],
            text=text,
            author=_person(row["author"]),
            state="closed" if row["state"] == "closed" else "open",
            web_address=row["web_url"],
            labels=row["labels"],
            updated_at=moment(row["updated_at"]),
            attachments=files,
        )


def _person(row: Mapping[str, Any]) -> Person:
    return Person(str(int(row["id"])), row["username"], bool(row.get("bot")))


def _request(row: Mapping[str, Any]) -> ForgeRequest:
    return ForgeRequest(
        number=int(row["iid"]),
        title=row["title"],
        text=row["description"] or "",
        author=_person(row["author"]),
        state=_STATES.get(row["state"], "open"),
        web_address=row["web_url"],
        head=row["source_branch"],
        head_commit=row["sha"] or "",
        base=row["target_branch"],
        base_commit=(row.get("diff_refs") or {}).get("base_sha") or "",
        from_fork=row["source_project_id"] != row["target_project_id"],
        draft=bool(row["draft"]),
        merge_commit=row.get("merge_commit_sha") or row.get("squash_commit_sha") or "",
    )


def _comment(row: Mapping[str, Any], thread: str = "", first: str = "") -> Comment:
    place = row.get("position") or {}
    ident = str(int(row["id"]))
    return Comment(
        ident=ident,
        place="line" if place else "conversation",
        author=_person(row["author"]),
        text=row["body"],
        at=moment(row["created_at"]),
        path=place.get("new_path") or "",
        line=place.get("new_line"),
        commit=place.get("head_sha") or "",
        reply_to=first if first != ident else "",
        thread=thread,
        edited_at=moment(row["updated_at"]) if row.get("updated_at") and not place else None,
    )
