"""Forgejo and Gitea (codeberg.org among them): their API follows GitHub's where this does not say otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from agents.forges.contract import Attachment, Comment, ForgeAddress, ForgeRequest, Kind, Remark, Status
from agents.forges.github import GitHub, comment_of, quoting, request_of, state_said
from agents.forges.http import ForgeApi, Query, reading
from agents.forges.wording import as_sent
from agents.workspace.fetching import RemoteAccess


class Forgejo(GitHub):
    """One repository on Forgejo or Gitea."""

    kind: Kind = "forgejo"
    size: ClassVar[Query] = {"limit": 50}

    def _connect(self, address: ForgeAddress, token: str, access: RemoteAccess) -> ForgeApi:
        base = f"https://{address.host}:{address.port}/api/v1"
        return ForgeApi(address.host, address.port, base, {"Authorization": f"token {token}"}, access)

    def _asked_for(self, query: str) -> dict[str, str]:
        return super()._asked_for(query) | {"type": "issues"}

    def _open_of(self, head: str, base: str) -> ForgeRequest | None:
        rows = map(request_of, self._api.rows(f"{self._here}/pulls", {"state": "open", **self.size}))
        return next((one for one in rows if (one.head, one.base, one.from_fork) == (head, base, False)), None)

    def _opening(self, title: str, draft: bool) -> dict[str, Any]:
        return {"title": f"WIP: {title}"[:250] if draft else title[:250]}

    def reply(self, number: int, to: Comment, text: str) -> Comment:
        """Quote the comment: there is no route for answers in a thread that both offer."""
        return self.comment(number, quoting(to, text))

    def _reviewed(self, at: str) -> list[Comment]:
        found: list[Comment] = []
        for review in self._api.rows(f"{at}/reviews", self.size):
            if review["state"] in ("PENDING", "REQUEST_REVIEW"):
                continue
            if (review.get("body") or "").strip():
                found.append(comment_of(review, "review"))
            if review.get("comments_count"):
                rows = self._api.rows(f"{at}/reviews/{int(review['id'])}/comments")
                found += [replace(comment_of(row, "line"), line=row.get("position") or None) for row in rows]
        return found

    def _diff(self, number: int) -> str:
        return self._api.file(f"{self._here}/pulls/{number}.diff", accept="text/plain").decode("utf-8", "replace")

    def _remark(self, one: Remark) -> dict[str, Any]:
        return {"path": one.path, "new_position": one.line, "body": as_sent(one.text)}

    @reading
    def statuses(self, commit: str) -> Sequence[Status]:
        """What checks say of a commit; the list holds older ones of a name, too."""
        found: dict[str, tuple[int, Status]] = {}
        for row in self._api.rows(f"{self._here}/commits/{commit}/statuses", self.size):
            one = Status(row["context"], state_said(row["status"]), row["description"] or "", row["target_url"] or "")
            found[one.name] = max(found.get(one.name, (0, one)), (int(row["id"]), one), key=lambda pair: pair[0])
        return [one for _, one in found.values()]

    def _files(self, row: Mapping[str, Any]) -> list[Attachment]:
        files = row.get("assets") or ()
        return [Attachment(one["name"], one["browser_download_url"], int(one["size"])) for one in files]
