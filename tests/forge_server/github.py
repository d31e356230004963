"""GitHub's routes, as GitHub Enterprise serves them below /api/v3; shapes.py checks them against its documents."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.forge_server.server import Asked, Route, ServedForge
from tests.forge_server.shapes import MOMENT, completed, hook_problems, problems, smallest, smallest_hook
from tests.forge_server.world import Account, ForgeSaysNo, Note, ServedIssue, ServedPull, ServedRepository, ServedStatus

HERE = "/repos/{owner}/{repo}"


class ServedGitHub(ServedForge):
    kind = "github"
    prefix = "/api/v3"
    open_paths = ("/meta",)

    def __init__(self, folder: Path, pem: Path) -> None:
        self._hook_problems: list[str] = []
        super().__init__(folder, pem)

    def undocumented(self) -> list[str]:
        """What of all calls and webhooks is not as GitHub documents it; answers that a test forced are left out."""
        own = ("", "/meta", "/logs/{owner}/{repo}/{job_id}")
        found = [problem for call in self.calls if call.route not in own for problem in problems(call)]
        return found + self._hook_problems

    def routes(self) -> Sequence[Route]:
        return (
            ("GET", "/meta", lambda asked: {"installed_version": "3.19.0"}),
            ("GET", "/user", lambda asked: {**smallest("private-user"), **self._user(asked.who)}),
            ("GET", "/users/{username}", lambda asked: {**smallest("private-user"), **self._user(self.known(asked))}),
            ("GET", HERE, lambda asked: self._full_repository(self._of(asked))),
            ("GET", f"{HERE}/issues", self._issues),
            ("GET", f"{HERE}/issues/{{issue_number}}", self._issue_or_pull),
            ("PATCH", f"{HERE}/issues/{{issue_number}}", self._close_issue),
            ("GET", f"{HERE}/issues/{{issue_number}}/comments", self._conversation),
            ("POST", f"{HERE}/issues/{{issue_number}}/comments", self._comment),
            ("GET", f"{HERE}/pulls", self._pulls),
            ("POST", f"{HERE}/pulls", self._open),
            ("GET", f"{HERE}/pulls/{{pull_number}}", self._read),
            ("PATCH", f"{HERE}/pulls/{{pull_number}}", self._edit),
            ("GET", f"{HERE}/pulls/{{pull_number}}/comments", self._line_comments),
            ("POST", f"{HERE}/pulls/{{pull_number}}/comments/{{comment_id}}/replies", self._reply),
            ("GET", f"{HERE}/pulls/{{pull_number}}/reviews", self._reviews),
            ("POST", f"{HERE}/pulls/{{pull_number}}/reviews", self._review),
            ("POST", f"{HERE}/statuses/{{sha}}", self._say),
            ("GET", f"{HERE}/commits/{{ref}}/status", self._said),
            ("GET", f"{HERE}/actions/jobs/{{job_id}}/logs", self._log),
            ("GET", "/logs/{owner}/{repo}/{job_id}", self._stored_log),
        )

    def error(self, no: ForgeSaysNo) -> Any:
        more = {"errors": no.errors} if no.errors else {}
        return {"message": no.message, "documentation_url": "https://docs.github.com/rest", **more}

    # routes

    def _of(self, asked: Asked) -> ServedRepository:
        return self.found(f"{asked.words['owner']}/{asked.words['repo']}", asked.who)

    def _issues(self, asked: Asked) -> Any:
        repository, state = self._of(asked), asked.query.get("state", "open")
        labels = set(filter(None, asked.query.get("labels", "").split(",")))
        every = sorted({**repository.issues, **repository.pulls}.items(), reverse=True)
        return [
            self._issue(repository, one)
            for _, one in every
            if state in ("all", one.state) and labels <= set(one.labels)
        ]

    def _issue_or_pull(self, asked: Asked) -> Any:
        repository = self._of(asked)
        return self._issue(repository, repository.thing(asked.number("issue_number")))

    def _close_issue(self, asked: Asked) -> Any:
        repository, number = self._of(asked), asked.number("issue_number")
        if asked.body.get("state") == "closed":
            repository.end_issue(number, asked.who)
        return self._issue(repository, repository.thing(number))

    def _conversation(self, asked: Asked) -> Any:
        repository, number = self._of(asked), asked.number("issue_number")
        notes = repository.thing(number).notes
        return [self._note(repository, number, one) for one in notes if one.place == "conversation"]

    def _comment(self, asked: Asked) -> Any:
        repository, number = self._of(asked), asked.number("issue_number")
        return 201, self._note(repository, number, repository.comment(number, asked.body["body"], asked.who))

    def _pulls(self, asked: Asked) -> Any:
        repository, state = self._of(asked), asked.query.get("state", "open")
        head = asked.query.get("head", "").partition(":")[2]
        repository.refresh(asked.who)
        return [
            self._pull(repository, one, "pull-request-simple")
            for one in sorted(repository.pulls.values(), key=lambda one: -one.number)
            if state in ("all", one.state) and head in ("", one.head)
        ]

    def _open(self, asked: Asked) -> Any:
        repository, given = self._of(asked), asked.body
        made = repository.pull(
            given["head"].rpartition(":")[2],
            given["base"],
            given["title"],
            given.get("body") or "",
            by=asked.who,
            draft=bool(given.get("draft")),
        )
        return 201, self._pull(repository, made)

    def _known(self, asked: Asked) -> tuple[ServedRepository, ServedPull]:
        repository = self._of(asked)
        pull = repository.pulls.get(asked.number("pull_number"))
        if pull is None:
            raise ForgeSaysNo(404, "Not Found")
        repository.refresh(asked.who)
        return repository, pull

    def _read(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        if "diff" in asked.accepts:
            return repository.diff(pull).encode()
        return self._pull(repository, pull)

    def _edit(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        pull.title, pull.text = asked.body.get("title", pull.title), asked.body.get("body", pull.text)
        return self._pull(repository, pull)

    def _line_comments(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        return [self._line(repository, pull, one) for one in pull.notes if one.place == "line"]

    def _reply(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        to = next((one for one in pull.notes if one.ident == asked.number("comment_id")), None)
        if to is None or to.place != "line":
            raise ForgeSaysNo(404, "Not Found")
        return 201, self._line(repository, pull, repository.reply(pull.number, to, asked.body["body"], asked.who))

    def _reviews(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        return [self._one_review(repository, pull, one) for one in pull.notes if one.place == "review"]

    def _review(self, asked: Asked) -> Any:
        repository, pull = self._known(asked)
        lines = [(one["path"], one["line"], one["body"]) for one in asked.body.get("comments", ())]
        made = repository.review(pull.number, asked.body.get("body", ""), asked.who, lines)
        return self._one_review(repository, pull, made)

    def _say(self, asked: Asked) -> Any:
        given, repository = asked.body, self._of(asked)
        words = [given.get(name) or "" for name in ("description", "target_url")]
        made = repository.say(asked.words["sha"], given.get("context", "default"), given["state"], *words, asked.who)
        return 201, self._status(repository, made)

    def _said(self, asked: Asked) -> Any:
        repository, sha = self._of(asked), asked.words["ref"]
        said = repository.said(sha)
        whole = (
            "failure" if any(one.state in ("failure", "error") for one in said) else "success" if said else "pending"
        )
        rows = [{**smallest("simple-commit-status"), **self._status_words(one)} for one in said]
        place = {**smallest("minimal-repository"), **self._repository_words(repository)}
        known = {"state": whole, "statuses": rows, "sha": sha, "total_count": len(rows), "repository": place}
        return {**smallest("combined-commit-status"), **known}

    def _log(self, asked: Asked) -> Any:
        job = asked.number("job_id")
        if job not in self._of(asked).builds:
            raise ForgeSaysNo(404, "Not Found")
        return 302, self.api(f"/logs/{asked.words['owner']}/{asked.words['repo']}/{job}").encode()

    def _stored_log(self, asked: Asked) -> Any:
        return self._of(asked).builds[asked.number("job_id")].log.encode()

    # shapes

    def _user(self, who: Account) -> dict[str, Any]:
        known = {"login": who.login, "id": who.ident, "type": "Bot" if who.bot else "User"}
        return {**smallest("simple-user"), **known}

    def _repository_words(self, repository: ServedRepository) -> dict[str, Any]:
        owner, _, name = repository.path.partition("/")
        return {
            "id": repository.ident,
            "full_name": repository.path,
            "name": name,
            "owner": self._user(self.account(owner)),
            "clone_url": self.web(f"{repository.path}.git"),
            "html_url": self.web(repository.path),
            "default_branch": repository.default_branch,
            "private": repository.private,
            "visibility": "private" if repository.private else "public",
            "topics": [],
            "has_discussions": False,
            **dict.fromkeys(("created_at", "updated_at", "pushed_at"), MOMENT),
        }

    def _full_repository(self, repository: ServedRepository) -> Any:
        return {**smallest("full-repository"), **self._repository_words(repository)}

    def _issue(self, repository: ServedRepository, one: ServedIssue) -> Any:
        page = self.web(f"{repository.path}/{'pull' if isinstance(one, ServedPull) else 'issues'}/{one.number}")
        text = one.text + "".join(
            f"\n\n![{name}]({self.web(f'user-attachments/files/1/{name}')})" for name in one.files
        )
        known: dict[str, Any] = {
            "number": one.number,
            "title": one.title,
            "body": text or None,
            "user": self._user(one.author),
            "state": one.state,
            "labels": [{"name": name} for name in one.labels],
            "html_url": page,
            "created_at": one.at,
            "updated_at": one.at,
            "author_association": "MEMBER",
        }
        if isinstance(one, ServedPull):
            links = dict.fromkeys(("diff_url", "html_url", "patch_url", "url"), page)
            known["pull_request"] = links
        return {**smallest("issue"), **known}

    def _pull(self, repository: ServedRepository, one: ServedPull, schema: str = "pull-request") -> Any:
        def side(of: ServedRepository, name: str, commit: str) -> dict[str, Any]:
            owner, place = of.path.partition("/")[0], {**smallest("repository"), **self._repository_words(of)}
            user = self._user(self.account(owner))
            return {"label": f"{owner}:{name}", "ref": name, "sha": commit, "repo": place, "user": user}

        known = self._issue(repository, one)
        del known["pull_request"]
        whole = smallest(schema)
        known = {name: value for name, value in known.items() if name in whole or name in ("body", "user")}
        known |= {
            "head": side(one.head_repository, one.head, one.head_commit),
            "base": side(repository, one.base, one.base_commit),
            "draft": one.draft,
            "merged_at": one.merged_at,
            "merge_commit_sha": one.merge_commit or None,
            "labels": [],
        }
        if schema == "pull-request":
            known["merged"] = bool(one.merge_commit)
        return {**whole, **known}

    def _note(self, repository: ServedRepository, number: int, one: Note) -> Any:
        known = {"id": one.ident, "body": one.text, "user": self._user(one.author), "created_at": one.at}
        page = self.web(f"{repository.path}/pull/{number}#issuecomment-{one.ident}")
        known |= {"html_url": page, "updated_at": one.at, "author_association": "MEMBER"}
        return {**smallest("issue-comment"), **known}

    def _line(self, repository: ServedRepository, pull: ServedPull, one: Note) -> Any:
        known = {"id": one.ident, "body": one.text, "user": self._user(one.author), "created_at": one.at}
        known |= {"path": one.path, "line": one.line, "original_line": one.line, "side": "RIGHT", "updated_at": one.at}
        known |= {"commit_id": pull.head_commit, "original_commit_id": one.commit, "pull_request_review_id": one.review}
        if one.reply_to is not None:
            known["in_reply_to_id"] = one.reply_to
        known["html_url"] = self.web(f"{repository.path}/pull/{pull.number}#discussion_r{one.ident}")
        return {**smallest("pull-request-review-comment"), **known, "author_association": "MEMBER"}

    def _one_review(self, repository: ServedRepository, pull: ServedPull, one: Note) -> Any:
        known = {"id": one.ident, "body": one.text, "user": self._user(one.author), "state": "COMMENTED"}
        known |= {"submitted_at": one.at, "commit_id": one.commit, "author_association": "MEMBER"}
        known["html_url"] = self.web(f"{repository.path}/pull/{pull.number}#pullrequestreview-{one.ident}")
        return {**smallest("pull-request-review"), **known}

    def _status_words(self, one: ServedStatus) -> dict[str, Any]:
        known = {"id": one.ident, "context": one.name, "state": one.state, "description": one.text}
        return {**known, "target_url": one.address or None, "created_at": one.at, "updated_at": one.at}

    def _status(self, repository: ServedRepository, one: ServedStatus) -> Any:
        return {**smallest("status"), **self._status_words(one), "creator": self._user(one.by)}

    # webhooks

    def hook(self, repository: ServedRepository, event: str, told: dict[str, Any]) -> tuple[str, Any] | None:
        event, said = self._said_of(repository, event, told)
        name = "-".join(filter(None, (event, said.get("action")))).replace("_", "-")
        if (least := smallest_hook(name)) is not None:
            said = completed(said, least)
            self._hook_problems += hook_problems(name, said)
        return event, said

    def _said_of(self, repository: ServedRepository, event: str, told: dict[str, Any]) -> tuple[str, Any]:
        about = {
            "repository": {**smallest("repository"), **self._repository_words(repository)},
            "sender": self._user(told["by"]),
        }
        if event == "push":
            branch = f"refs/heads/{told['branch']}"
            return "push", {"ref": branch, "before": told["before"], "after": told["after"], "commits": [], **about}
        if event == "issue":
            issue = self._issue(repository, told["issue"])
            return "issues", {"action": told["action"], "issue": issue, **about}
        if event == "pull":
            pull = told["pull"]
            shown = self._pull(repository, pull)
            return "pull_request", {"action": told["action"], "number": pull.number, "pull_request": shown, **about}
        if event == "status":
            one = told["status"]
            return "status", {"sha": one.commit, **self._status_words(one), **about}
        if event == "build":
            build = told["build"]
            job = {"id": build.ident, "name": build.name, "head_sha": build.commit, "head_branch": build.branch}
            job |= {"status": "completed", "conclusion": "failure"}
            return "workflow_job", {"action": "completed", "workflow_job": job, **about}
        thing, note = told["thing"], told["note"]
        if note.place == "conversation":
            shown, issue = self._note(repository, thing.number, note), self._issue(repository, thing)
            return "issue_comment", {"action": "created", "issue": issue, "comment": shown, **about}
        shown = self._pull(repository, thing, "pull-request-simple")
        if note.place == "review":
            review = {**self._one_review(repository, thing, note), "state": "commented"}
            return "pull_request_review", {"action": "submitted", "review": review, "pull_request": shown, **about}
        comment = self._line(repository, thing, note)
        return "pull_request_review_comment", {
            "action": "created",
            "comment": comment,
            "pull_request": shown,
            **about,
        }

    def signed(self, event: str, body: bytes, secret: str, ident: str) -> dict[str, str]:
        digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        return {"X-GitHub-Event": event, "X-GitHub-Delivery": ident, "X-Hub-Signature-256": f"sha256={digest}"}
