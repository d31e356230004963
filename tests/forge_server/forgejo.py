"""Forgejo's and Gitea's routes below /api/v1. Written after their documents; no real server has confirmed them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any

from tests.forge_server.server import Asked, Route, ServedForge
from tests.forge_server.world import Account, ForgeSaysNo, Note, ServedIssue, ServedPull, ServedRepository, ServedStatus

HERE = "/repos/{owner}/{repo}"


class ServedForgejo(ServedForge):
    kind = "forgejo"
    prefix = "/api/v1"
    page_words = ("limit", "page")
    open_paths = ("/version",)

    def routes(self) -> Sequence[Route]:
        return (
            ("GET", "/version", lambda asked: {"version": "12.0.1+gitea-1.22.0"}),
            ("GET", "/user", lambda asked: self._user(asked.who)),
            ("GET", "/users/{username}", lambda asked: self._user(self.known(asked))),
            ("GET", HERE, lambda asked: self._place(self._of(asked))),
            ("GET", f"{HERE}/issues", self._issues),
            ("GET", f"{HERE}/issues/{{number}}", self._issue_or_pull),
            ("PATCH", f"{HERE}/issues/{{number}}", self._close_issue),
            ("GET", f"{HERE}/issues/{{number}}/comments", self._conversation),
            ("POST", f"{HERE}/issues/{{number}}/comments", self._comment),
            ("GET", f"{HERE}/pulls", self._pulls),
            ("POST", f"{HERE}/pulls", self._open),
            ("GET", f"{HERE}/pulls/{{number}}.diff", self._diff),
            ("GET", f"{HERE}/pulls/{{number}}", lambda asked: self._pull(*self._known(asked))),
            ("PATCH", f"{HERE}/pulls/{{number}}", self._edit),
            ("GET", f"{HERE}/pulls/{{number}}/reviews", self._reviews),
            ("POST", f"{HERE}/pulls/{{number}}/reviews", self._review),
            ("GET", f"{HERE}/pulls/{{number}}/reviews/{{review}}/comments", self._line_comments),
            ("POST", f"{HERE}/statuses/{{sha}}", self._say),
            ("GET", f"{HERE}/commits/{{sha}}/statuses", self._said),
            ("GET", f"{HERE}/actions/jobs/{{job}}/logs", self._log),
        )

    # routes

    def _of(self, asked: Asked) -> ServedRepository:
        return self.found(f"{asked.words['owner']}/{asked.words['repo']}", asked.who)

    def _issues(self, asked: Asked) -> Any:
        repository, state = self._of(asked), asked.query.get("state", "open")
        labels, kind = set(filter(None, asked.query.get("labels", "").split(","))), asked.query.get("type", "")
        every = sorted({**repository.issues, **repository.pulls}.items(), reverse=True)
        return [
            self._issue(repository, one)
            for _, one in every
            if state in ("all", one.state)
            and labels <= set(one.labels)
            and kind in ("", "pulls" if isinstance(one, ServedPull) else "issues")
            and asked.query.get("q", "").lower() in one.title.lower()
        ]

    def _issue_or_pull(self, asked: Asked) -> Any:
        repository = self._of(asked)
        return self._issue(repository, repository.thing(asked.number()))

    def _close_issue(self, asked: Asked) -> Any:
        repository = self._of(asked)
        if asked.body.get("state") == "closed":
            repository.end_issue(asked.number(), asked.who)
        return 201, self._issue(repository, repository.thing(asked.number()))

    def _conversation(self, asked: Asked) -> Any:
        notes = self._of(asked).thing(asked.number()).notes
        return [self._note(one) for one in notes if one.place == "conversation"]

    def _comment(self, asked: Asked) -> Any:
        return 201, self._note(self._of(asked).comment(asked.number(), asked.body["body"], asked.who))

    def _pulls(self, asked: Asked) -> Any:
        repository, state = self._of(asked), asked.query.get("state", "open")
        repository.refresh(asked.who)
        every = sorted(repository.pulls.values(), key=lambda one: -one.number)
        return [self._pull(repository, one) for one in every if state in ("all", one.state)]

    def _open(self, asked: Asked) -> Any:
        repository, given = self._of(asked), asked.body
        made = repository.pull(
            given["head"],
            given["base"],
            given["title"],
            given.get("body", ""),
            by=asked.who,
            draft=given["title"].startswith("WIP:"),
        )
        return 201, self._pull(repository, made)

    def _known(self, asked: Asked) -> tuple[ServedRepository, ServedPull]:
        repository = self._of(asked)
        pull = repository.pulls.get(asked.number())
        if pull is None:
            raise ForgeSaysNo(404, "The target couldn't be found.")
        repository.refresh(asked.who)
        return repository, pull

    def _diff(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        return repository.diff(pull).encode()

    def _edit(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        pull.title, pull.text = asked.body.get("title", pull.title), asked.body.get("body", pull.text)
        return 201, self._pull(repository, pull)

    def _reviews(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        alone = {one.review for one in pull.notes if one.place == "line"}
        told = {one.ident: one for one in pull.notes if one.place == "review"}
        first = {one.review: one for one in reversed(pull.notes) if one.place == "line"}
        return [
            self._one_review(repository, pull, ident, told.get(ident) or first[ident])
            for ident in sorted(alone | told.keys())
        ]

    def _review(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        lines = [(one["path"], one["new_position"], one["body"]) for one in asked.body.get("comments", ())]
        made = repository.review(pull.number, asked.body.get("body", ""), asked.who, lines)
        return self._one_review(repository, pull, made.ident, made)

    def _line_comments(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        wanted = asked.number("review")
        return [self._line(repository, pull, one) for one in pull.notes if one.place == "line" and one.review == wanted]

    def _say(self, asked: Asked) -> Any:
        given, repository = asked.body, self._of(asked)
        words = [given.get(name, "") for name in ("description", "target_url")]
        return 201, self._status(
            repository.say(asked.words["sha"], given["context"], given["state"], *words, asked.who)
        )

    def _said(self, asked: Asked) -> Any:
        every = [one for one in self._of(asked).statuses if one.commit == asked.words["sha"]]
        return [self._status(one) for one in reversed(every)]

    def _log(self, asked: Asked) -> Any:
        builds = self._of(asked).builds
        if asked.number("job") not in builds:
            raise ForgeSaysNo(404, "The target couldn't be found.")
        return builds[asked.number("job")].log.encode()

    # shapes

    def _user(self, who: Account) -> dict[str, Any]:
        return {"id": who.ident, "login": who.login, "full_name": "", "html_url": self.web(who.login), "active": True}

    def _place(self, repository: ServedRepository) -> Any:
        owner, _, name = repository.path.partition("/")
        return {
            "id": repository.ident,
            "owner": self._user(self.account(owner)),
            "name": name,
            "full_name": repository.path,
            "clone_url": self.web(f"{repository.path}.git"),
            "html_url": self.web(repository.path),
            "default_branch": repository.default_branch,
            "private": repository.private,
        }

    def _issue(self, repository: ServedRepository, one: ServedIssue) -> Any:
        is_pull = isinstance(one, ServedPull)
        files = [
            {"id": 1, "name": name, "size": len(content), "browser_download_url": self.web(f"attachments/{name}")}
            for name, content in one.files.items()
        ]
        return {
            "id": repository.ident * 1000 + one.number,
            "number": one.number,
            "title": one.title,
            "body": one.text,
            "user": self._user(one.author),
            "state": one.state,
            "labels": [{"id": 1, "name": name, "color": "ffffff"} for name in one.labels],
            "assets": files,
            "html_url": self.web(f"{repository.path}/{'pulls' if is_pull else 'issues'}/{one.number}"),
            "created_at": one.at,
            "updated_at": one.at,
            "pull_request": {"merged": bool(one.merge_commit)} if isinstance(one, ServedPull) else None,
        }

    def _pull(self, repository: ServedRepository, one: ServedPull) -> Any:
        def side(of: ServedRepository, name: str, commit: str) -> dict[str, Any]:
            return {"label": name, "ref": name, "sha": commit, "repo_id": of.ident, "repo": self._place(of)}

        return {
            **self._issue(repository, one),
            "draft": one.draft,
            "merged": bool(one.merge_commit),
            "merged_at": one.merged_at,
            "merge_commit_sha": one.merge_commit or None,
            "head": side(one.head_repository, one.head, one.head_commit),
            "base": side(repository, one.base, one.base_commit),
        }

    def _note(self, one: Note) -> Any:
        known = {"id": one.ident, "body": one.text, "user": self._user(one.author), "html_url": self.web("comment")}
        return {**known, "created_at": one.at, "updated_at": one.at}

    def _line(self, repository: ServedRepository, pull: ServedPull, one: Note) -> Any:
        known = self._note(one) | {"path": one.path, "position": one.line, "original_position": 0, "diff_hunk": "@@"}
        return known | {
            "commit_id": pull.head_commit,
            "original_commit_id": one.commit,
            "pull_request_review_id": one.review,
        }

    def _one_review(self, repository: ServedRepository, pull: ServedPull, ident: int, one: Note) -> Any:
        text = one.text if one.place == "review" else ""
        count = sum(note.review == ident for note in pull.notes)
        known = {"id": ident, "body": text, "user": self._user(one.author), "state": "COMMENT"}
        page = self.web(f"{repository.path}/pulls/{pull.number}#issuecomment-{ident}")
        return known | {"submitted_at": one.at, "commit_id": one.commit, "comments_count": count, "html_url": page}

    def _status(self, one: ServedStatus) -> Any:
        known = {"id": one.ident, "context": one.name, "status": one.state, "description": one.text}
        return known | {"target_url": one.address, "creator": self._user(one.by), "created_at": one.at}

    # webhooks

    def hook(self, repository: ServedRepository, event: str, told: dict[str, Any]) -> tuple[str, Any] | None:
        about = {"repository": self._place(repository), "sender": self._user(told["by"])}
        if event == "push":
            branch = f"refs/heads/{told['branch']}"
            return "push", {"ref": branch, "before": told["before"], "after": told["after"], "commits": [], **about}
        if event == "issue":
            issue = told["issue"]
            shown = self._issue(repository, issue)
            return "issues", {"action": told["action"], "number": issue.number, "issue": shown, **about}
        if event == "pull":
            pull = told["pull"]
            action = {"synchronize": "synchronized"}.get(told["action"], told["action"])
            shown = self._pull(repository, pull)
            return "pull_request", {"action": action, "number": pull.number, "pull_request": shown, **about}
        if event == "status":
            one = told["status"]
            known = {"sha": one.commit, "context": one.name, "state": one.state, "description": one.text}
            return "status", {**known, "target_url": one.address, **about}
        if event == "build":
            build = told["build"]
            job = {"id": build.ident, "name": build.name, "head_sha": build.commit, "head_branch": build.branch}
            return "workflow_job", {
                "action": "completed",
                "workflow_job": {**job, "status": "completed", "conclusion": "failure"},
                **about,
            }
        thing, note = told["thing"], told["note"]
        if note.place == "conversation":
            is_pull = isinstance(thing, ServedPull)
            known = {"action": "created", "issue": self._issue(repository, thing), "comment": self._note(note)}
            return "issue_comment", {**known, "is_pull": is_pull, **about}
        known = {"action": "reviewed", "number": thing.number, "pull_request": self._pull(repository, thing)}
        review = {"type": "pull_request_review_comment", "content": note.text}
        return "pull_request_comment", {**known, "review": review, **about}

    def signed(self, event: str, body: bytes, secret: str, ident: str) -> dict[str, str]:
        digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        both = {"Event": event, "Delivery": ident, "Signature": digest}
        named = {f"X-{maker}-{name}": value for maker in ("Forgejo", "Gitea") for name, value in both.items()}
        return {**named, "X-Hub-Signature-256": f"sha256={digest}", "X-GitHub-Event": event, "X-GitHub-Delivery": ident}
