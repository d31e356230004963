"""GitLab's routes below /api/v4. Written after its documents; no real server has confirmed them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from tests.forge_server.server import Asked, Route, ServedForge
from tests.forge_server.world import Account, ForgeSaysNo, Note, ServedIssue, ServedPull, ServedRepository, ServedStatus

HERE = "/projects/{project}"
STATES = {"open": "opened", "closed": "closed"}
SAID = {"failure": "failed", "error": "failed", "pending": "pending", "success": "success", "failed": "failed"}


class ServedGitLab(ServedForge):
    kind = "gitlab"
    prefix = "/api/v4"
    too_large: Sequence[str] = ()  # paths whose difference is too large to hold remarks

    def routes(self) -> Sequence[Route]:
        requests, one = f"{HERE}/merge_requests", f"{HERE}/merge_requests/{{number}}"
        return (
            ("GET", "/version", lambda asked: {"version": "18.3.0", "revision": "abc"}),
            ("GET", "/user", lambda asked: {**self._user(asked.who), "bot": asked.who.bot}),
            ("GET", "/users", self._users),
            ("GET", HERE, lambda asked: self._place(self._of(asked))),
            ("GET", f"{HERE}/issues", self._issues),
            ("GET", f"{HERE}/issues/{{number}}", self._one_issue),
            ("PUT", f"{HERE}/issues/{{number}}", self._close_issue),
            ("POST", f"{HERE}/issues/{{number}}/notes", lambda asked: self._comment(asked, "issue")),
            ("GET", requests, self._pulls),
            ("POST", requests, self._open),
            ("GET", one, lambda asked: self._pull(*self._known(asked))),
            ("PUT", one, self._edit),
            ("GET", f"{one}/diffs", self._diffs),
            ("POST", f"{one}/notes", lambda asked: self._comment(asked, "request")),
            ("GET", f"{one}/discussions", self._discussions),
            ("POST", f"{one}/discussions", self._discuss),
            ("POST", f"{one}/discussions/{{thread}}/notes", self._reply),
            ("POST", f"{HERE}/statuses/{{sha}}", self._say),
            ("GET", f"{HERE}/repository/commits/{{sha}}/statuses", self._said),
            ("GET", f"{HERE}/jobs/{{job}}/trace", self._log),
            ("GET", f"{HERE}/uploads/{{secret}}/{{name}}", self._upload),
        )

    def error(self, no: ForgeSaysNo) -> Any:
        if no.status == 401:
            return {"message": "401 Unauthorized"}
        details = [one["message"] for one in no.errors or () if "message" in one]
        return {"message": details or no.message}

    # routes

    def _of(self, asked: Asked) -> ServedRepository:
        wanted = unquote(asked.words["project"])
        if wanted.isdigit():
            wanted = next((one.path for one in self.repositories.values() if one.ident == int(wanted)), "")
        return self.found(wanted, asked.who)

    def _users(self, asked: Asked) -> Any:
        wanted = asked.query.get("username", "")
        return [self._user(one) for one in self.accounts.values() if wanted in ("", one.login)]

    def _issues(self, asked: Asked) -> Any:
        repository, state = self._of(asked), asked.query.get("state", "all")
        labels = set(filter(None, asked.query.get("labels", "").split(",")))
        return [
            self._issue(repository, one)
            for _, one in sorted(repository.issues.items(), reverse=True)
            if state in ("all", STATES[one.state])
            and labels <= set(one.labels)
            and asked.query.get("search", "").lower() in one.title.lower()
        ]

    def _one_issue(self, asked: Asked) -> Any:
        repository = self._of(asked)
        return self._issue(repository, repository.thing(asked.number(), "issue"))

    def _close_issue(self, asked: Asked) -> Any:
        repository = self._of(asked)
        if asked.body.get("state_event") == "close":
            repository.end_issue(asked.number(), asked.who)
        return self._issue(repository, repository.thing(asked.number(), "issue"))

    def _comment(self, asked: Asked, about: str) -> Any:
        return 201, self._note(self._of(asked).comment(asked.number(), asked.body["body"], asked.who, about))

    def _pulls(self, asked: Asked) -> Any:
        repository, state = self._of(asked), asked.query.get("state", "all")
        repository.refresh(asked.who)
        source = asked.query.get("source_branch", "")
        return [
            self._pull(repository, one)
            for one in sorted(repository.pulls.values(), key=lambda one: -one.number)
            if state in ("all", self._state(one)) and source in ("", one.head)
        ]

    def _open(self, asked: Asked) -> Any:
        repository, given = self._of(asked), asked.body
        made = repository.pull(
            given["source_branch"],
            given["target_branch"],
            given["title"],
            given.get("description", ""),
            by=asked.who,
            draft=given["title"].startswith("Draft:"),
        )
        return 201, self._pull(repository, made)

    def _known(self, asked: Asked) -> tuple[ServedRepository, ServedPull]:
        repository = self._of(asked)
        pull = repository.pulls.get(asked.number())
        if pull is None:
            raise ForgeSaysNo(404, "404 Not found")
        repository.refresh(asked.who)
        return repository, pull

    def _edit(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        pull.title, pull.text = asked.body.get("title", pull.title), asked.body.get("description", pull.text)
        return self._pull(repository, pull)

    def _diffs(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        rows = []
        for part in repository.diff(pull).split("diff --git ")[1:]:
            names = {row[:3]: row[6:] for row in part.splitlines() if row.startswith(("--- ", "+++ "))}
            new, old = (names.get(side, "").removeprefix("v/null") for side in ("+++", "---"))
            hunks = "@@" + part.partition("\n@@")[2]
            rows.append({"old_path": old or new, "new_path": new or old, "new_file": not old, "diff": hunks})
        return rows

    def _discussions(self, asked: Asked) -> Any:
        _, pull = self._known(asked)
        threads: dict[str, list[Note]] = {}
        for one in pull.notes:
            threads.setdefault(one.thread, []).append(one)
        rows = [
            {"id": name, "individual_note": notes[0].place != "line", "notes": [self._note(one) for one in notes]}
            for name, notes in threads.items()
        ]
        rows.insert(0, {"id": "0" * 40, "individual_note": True, "notes": [self._system_note(pull)]})
        return rows

    def _discuss(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        place = asked.body.get("position")
        if not place:
            made = repository.comment(pull.number, asked.body["body"], asked.who, "request")
        else:
            if (place["new_path"], place["new_line"]) not in repository.lines(pull):
                raise ForgeSaysNo(400, '400 Bad request - Note {:line_code=>["can\'t be blank"]}')
            if place["new_path"] in self.too_large or self._before(asked, place) != (
                place["old_path"],
                place.get("old_line"),
            ):
                raise ForgeSaysNo(400, '400 Bad request - Note {:line_code=>["can\'t be blank"]}')
            if place["head_sha"] != pull.head_commit:
                raise ForgeSaysNo(400, "400 Bad request - position")
            made = repository.line_comment(
                pull.number, place["new_path"], place["new_line"], asked.body["body"], asked.who
            )
        return 201, {"id": made.thread, "individual_note": not place, "notes": [self._note(made)]}

    def _before(self, asked: Asked, place: Any) -> tuple[str, int | None]:
        """Where a line of the new side stood: on no line when it was added."""
        row = next(row for row in self._diffs(asked) if row["new_path"] == place["new_path"])
        for hunk in row["diff"].split("@@ -")[1:]:
            head, *lines = hunk.splitlines()
            old, new = (int(part.partition(",")[0]) for part in head.split(" @@")[0].split(" +"))
            for line in lines:
                if not line.startswith("-") and new == place["new_line"]:
                    return row["old_path"], None if line.startswith("+") else old
                old, new = old + (not line.startswith("+")), new + (not line.startswith("-"))
        return row["old_path"], None

    def _reply(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        to = next((one for one in pull.notes if one.thread == asked.words["thread"]), None)
        if to is None:
            raise ForgeSaysNo(404, "404 Discussion Not Found")
        return 201, self._note(repository.reply(pull.number, to, asked.body["body"], asked.who))

    def _say(self, asked: Asked) -> Any:
        given, repository = asked.body, self._of(asked)
        if given["state"] not in ("pending", "running", "success", "failed", "canceled", "skipped"):
            raise ForgeSaysNo(400, "state does not have a valid value")
        words = [given.get(name, "") for name in ("description", "target_url")]
        made = repository.say(asked.words["sha"], given["name"], given["state"], *words, asked.who)
        return 201, self._status(made)

    def _said(self, asked: Asked) -> Any:
        return [self._status(one) for one in self._of(asked).said(asked.words["sha"])]

    def _log(self, asked: Asked) -> Any:
        builds = self._of(asked).builds
        if asked.number("job") not in builds:
            raise ForgeSaysNo(404, "404 Not found")
        return builds[asked.number("job")].log.encode()

    def _upload(self, asked: Asked) -> Any:
        files = [one.files for one in self._of(asked).issues.values() if asked.words["name"] in one.files]
        if not files:
            raise ForgeSaysNo(404, "404 Not found")
        return files[0][asked.words["name"]]

    # shapes

    def _user(self, who: Account) -> dict[str, Any]:
        return {"id": who.ident, "username": who.login, "name": who.login, "state": "active"}

    def _place(self, repository: ServedRepository) -> Any:
        return {
            "id": repository.ident,
            "path_with_namespace": repository.path,
            "http_url_to_repo": self.web(f"{repository.path}.git"),
            "web_url": self.web(repository.path),
            "default_branch": repository.default_branch,
            "visibility": "private" if repository.private else "public",
        }

    def _issue(self, repository: ServedRepository, one: ServedIssue) -> Any:
        files = "".join(f"\n\n![{name}](/uploads/{'a' * 32}/{name})" for name in one.files)
        return {
            "id": repository.ident * 1000 + one.number,
            "iid": one.number,
            "title": one.title,
            "description": one.text + files,
            "author": self._user(one.author),
            "state": STATES[one.state],
            "labels": one.labels,
            "web_url": self.web(f"{repository.path}/-/issues/{one.number}"),
            "created_at": one.at,
            "updated_at": one.at,
        }

    def _state(self, one: ServedPull) -> str:
        return "merged" if one.merge_commit else STATES[one.state]

    def _pull(self, repository: ServedRepository, one: ServedPull) -> Any:
        known = self._issue(repository, one)
        return known | {
            "state": self._state(one),
            "web_url": self.web(f"{repository.path}/-/merge_requests/{one.number}"),
            "source_branch": one.head,
            "target_branch": one.base,
            "source_project_id": one.head_repository.ident,
            "target_project_id": repository.ident,
            "sha": one.head_commit,
            "diff_refs": {"base_sha": one.base_commit, "start_sha": one.base_commit, "head_sha": one.head_commit},
            "draft": one.draft,
            "merge_commit_sha": one.merge_commit or None,
            "squash_commit_sha": None,
        }

    def _note(self, one: Note) -> Any:
        known: dict[str, Any] = {"id": one.ident, "body": one.text, "author": self._user(one.author), "system": False}
        known |= {"created_at": one.at, "updated_at": one.at, "type": None}
        if one.place == "line":
            place = {"position_type": "text", "new_path": one.path, "new_line": one.line, "head_sha": one.commit}
            known |= {"type": "DiffNote", "position": place}
        return known

    def _system_note(self, pull: ServedPull) -> Any:
        author = self._user(pull.author)
        return {
            "id": 1,
            "body": "added 1 commit",
            "author": author,
            "system": True,
            "created_at": pull.at,
            "type": None,
        }

    def _status(self, one: ServedStatus) -> Any:
        known = {"id": one.ident, "sha": one.commit, "name": one.name, "status": one.state, "description": one.text}
        return known | {"target_url": one.address or None, "author": self._user(one.by), "created_at": one.at}

    # webhooks

    def hook(self, repository: ServedRepository, event: str, told: dict[str, Any]) -> tuple[str, Any] | None:
        place = self._place(repository)
        about = {"user": self._user(told["by"]), "project": place, "project_id": repository.ident}
        if event == "push":
            known = {"before": told["before"], "after": told["after"], "ref": f"refs/heads/{told['branch']}"}
            return "Push Hook", {"object_kind": "push", **known, "user_username": told["by"].login, **about}
        if event == "issue":
            action = {"opened": "open", "closed": "close"}[told["action"]]
            attributes = {**self._issue(repository, told["issue"]), "action": action}
            return "Issue Hook", {"object_kind": "issue", "object_attributes": attributes, **about}
        if event == "pull":
            pull = told["pull"]
            ends = "merge" if pull.merge_commit else "close"
            action = {"opened": "open", "synchronize": "update", "closed": ends}[told["action"]]
            shown = self._pull(repository, pull)
            attributes = {**shown, "action": action, "last_commit": {"id": pull.head_commit}}
            return "Merge Request Hook", {"object_kind": "merge_request", "object_attributes": attributes, **about}
        if event == "build":
            build = told["build"]
            known = {"build_id": build.ident, "build_name": build.name, "build_status": "failed", "sha": build.commit}
            return "Job Hook", {"object_kind": "build", "ref": build.branch, **known, **about}
        if event == "status":
            return None
        thing, note = told["thing"], told["note"]
        is_pull = isinstance(thing, ServedPull)
        attributes = {"id": note.ident, "note": note.text, "discussion_id": note.thread, "action": "create"}
        attributes["noteable_type"] = "MergeRequest" if is_pull else "Issue"
        shown = (
            {"merge_request": self._pull(repository, thing)} if is_pull else {"issue": self._issue(repository, thing)}
        )
        return "Note Hook", {"object_kind": "note", "object_attributes": attributes, **shown, **about}

    def signed(self, event: str, body: bytes, secret: str, ident: str) -> dict[str, str]:
        """With the secret token, and with the newer signature after standardwebhooks.com."""
        moment = str(int(time.time()))
        marked = secret.startswith("whsec_")
        key = base64.b64decode(secret.removeprefix("whsec_")) if marked else secret.encode()
        digest = hmac.new(key, f"{ident}.{moment}.".encode() + body, hashlib.sha256).digest()
        return {
            "X-Gitlab-Event": event,
            "X-Gitlab-Token": secret,
            "X-Gitlab-Event-UUID": ident,
            "Idempotency-Key": ident,
            "webhook-id": ident,
            "webhook-timestamp": moment,
            "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
        }
