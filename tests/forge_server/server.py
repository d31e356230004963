"""What the three forges share: https, tokens, pages, webhooks, and git's own http-backend."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import threading
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from tests.agents.workspace.git_server import TOKEN, GitServer
from tests.forge_server.world import Account, ForgeSaysNo, ServedRepository, clock


@dataclass(frozen=True)
class Asked:
    """One request to the API; `words` are the named parts of its path."""

    method: str
    path: str
    words: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    accepts: str
    who: Account

    def number(self, name: str = "number") -> int:
        return int(self.words[name])


@dataclass(frozen=True)
class SentHook:
    """A webhook as it went out."""

    event: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answered:
    """A request to the API and its answer, for checks afterwards."""

    method: str
    route: str
    path: str
    query: Mapping[str, str]
    body: Any
    status: int
    answer: Any
    headers: Mapping[str, str]


Route = tuple[str, str, Callable[..., Any]]


class ServedForge(GitServer):
    """One forge. A route answers with JSON, `(status, JSON)`, bytes, or raises ForgeSaysNo."""

    kind = ""
    prefix = ""
    page_words = ("per_page", "page")
    open_paths: Sequence[str] = ()

    def __init__(self, folder: Path, pem: Path) -> None:
        self.numbers, self._clock, self.lock = count(1_000), clock(), threading.RLock()
        self.accounts: dict[str, Account] = {}
        self.repositories: dict[str, ServedRepository] = {}
        self.calls: list[Answered] = []
        self.sent: list[SentHook] = []
        self.forced: list[tuple[int, Mapping[str, str], Any]] = []  # what the next calls get instead of an answer
        self.page_size = 30
        self._routes = [(method, _pattern(path), path, call) for method, path, call in self.routes()]
        super().__init__(folder, pem)
        self.host = self.address.removeprefix("https://")
        self.bot = self.account("aiswe-bot", bot=True, token=TOKEN)

    def routes(self) -> Sequence[Route]:
        raise NotImplementedError

    def error(self, no: ForgeSaysNo) -> Any:
        """The body of an error answer."""
        return {"message": no.message}

    def hook(self, repository: ServedRepository, event: str, told: dict[str, Any]) -> tuple[str, Any] | None:
        """The name and the payload of a webhook; None for what this forge does not tell."""
        raise NotImplementedError

    def signed(self, event: str, body: bytes, secret: str, ident: str) -> dict[str, str]:
        """The headers of a webhook."""
        raise NotImplementedError

    def undocumented(self) -> list[str]:
        """What of all calls so far is not as the forge documents it, where its documents are at hand."""
        return []

    # the world

    def now(self) -> str:
        return next(self._clock)

    def account(self, login: str, *, bot: bool = False, token: str = "") -> Account:
        if login not in self.accounts:
            self.accounts[login] = Account(next(self.numbers), login, token or f"{login}-token", bot)
        return self.accounts[login]

    def known(self, asked: Asked) -> Account:
        """The account that a path names."""
        if asked.words["username"] not in self.accounts:
            raise ForgeSaysNo(404, "Not Found")
        return self.accounts[asked.words["username"]]

    def repository(
        self, path: str, files: Mapping[str, str | None] | None = None, *, private: bool = False, branch: str = "main"
    ) -> ServedRepository:
        """A new repository with one commit."""
        git_dir = self.folder / f"{path}.git"
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q", "--bare", "-b", branch, str(git_dir)], check=True)
        made = ServedRepository(path, git_dir, self, self._happened)
        made.private, made.default_branch = private, branch
        made.commit(branch, files or {"README.md": "A shop.\n"}, "Begin")
        self.repositories[path] = made
        return made

    def fork(self, of: ServedRepository, owner: str) -> ServedRepository:
        """A copy below another owner."""
        path = f"{owner}/{of.path.rpartition('/')[2]}"
        git_dir = self.folder / f"{path}.git"
        git_dir.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", "--bare", str(of.git_dir), str(git_dir)], check=True)
        made = ServedRepository(path, git_dir, self, self._happened)
        made.default_branch = of.default_branch
        self.repositories[path] = made
        return made

    def found(self, path: str, who: Account | None = None) -> ServedRepository:
        if path not in self.repositories:
            raise ForgeSaysNo(404, "Not Found")
        return self.repositories[path]

    def web(self, path: str = "") -> str:
        return f"{self.address}/{path}"

    def api(self, path: str) -> str:
        return f"{self.address}{self.prefix}{path}"

    # webhooks

    def _happened(self, repository: ServedRepository, event: str, told: dict[str, Any]) -> None:
        for secret, address in repository.hooks:
            if (made := self.hook(repository, event, told)) is not None:
                self.send(made[0], made[1], secret, address)

    def send(self, event: str, payload: Any, secret: str, address: str = "", ident: str = "") -> SentHook:
        """Sign and send a webhook; to nobody when there is no address, and it is in `sent`."""
        body = json.dumps(payload).encode()
        headers = {"Content-Type": "application/json", **self.signed(event, body, secret, ident or str(uuid.uuid4()))}
        self.sent.append(SentHook(event, headers, body))
        if address:
            asked = urllib.request.Request(address, body, headers)
            threading.Thread(target=urllib.request.urlopen, args=(asked,), daemon=True).start()
        return self.sent[-1]

    # http

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        path, _, query = asked.path.partition("?")
        if not path.startswith(f"{self.prefix}/") and not path.startswith("/api/"):
            with self.lock:
                return self._git(asked, path)
        body = asked.rfile.read(int(asked.headers.get("Content-Length", 0)))
        with self.lock:
            status, headers, answer, route = self._api(asked, path.removeprefix(self.prefix), query, body)
        known = json.loads(body) if body else None
        given = dict(parse_qsl(query))
        self.calls.append(Answered(asked.command, route, path, given, known, status, answer, dict(asked.headers)))
        raw = answer if isinstance(answer, bytes) else b"" if answer is None else json.dumps(answer).encode()
        kind = "text/plain" if isinstance(answer, bytes) else "application/json"
        self._words(asked, status, **{"Content-Type": kind, **headers, "Content-Length": str(len(raw))})
        asked.wfile.write(raw)

    def _api(
        self, asked: BaseHTTPRequestHandler, path: str, query: str, body: bytes
    ) -> tuple[int, Mapping[str, str], Any, str]:
        given = dict(parse_qsl(query))
        who, route = self._who(asked), ""
        try:
            if not asked.path.startswith(f"{self.prefix}/"):
                raise ForgeSaysNo(404, "Not Found")
            if self.forced:
                return (*self.forced.pop(0), "")
            if who is None and path not in self.open_paths:
                raise ForgeSaysNo(401, "Bad credentials")
            for method, pattern, route, call in self._routes:
                if method == asked.command and (match := pattern.fullmatch(path)):
                    known = json.loads(body) if body else None
                    accepts = asked.headers.get("Accept", "")
                    one = Asked(method, path, match.groupdict(), given, known, accepts, who or self.account("nobody"))
                    found = call(one)
                    status, answer = found if isinstance(found, tuple) else (200, found)
                    if isinstance(answer, list):
                        return (status, *self._page(asked.path, given, answer), route)
                    headers = {"Location": answer.decode()} if status == 302 else {}
                    return status, headers, answer, route
            raise ForgeSaysNo(404, "Not Found")
        except ForgeSaysNo as no:
            return no.status, {}, self.error(no), route

    def _who(self, asked: BaseHTTPRequestHandler) -> Account | None:
        given = asked.headers.get("PRIVATE-TOKEN") or asked.headers.get("Authorization", "").partition(" ")[2]
        if asked.headers.get("Authorization", "").startswith("Basic "):
            given = base64.b64decode(given).decode().partition(":")[2]
        return next((one for one in self.accounts.values() if one.token == given), None)

    def _page(self, path: str, given: Mapping[str, str], rows: list[Any]) -> tuple[Mapping[str, str], list[Any]]:
        size_word, page_word = self.page_words
        size, at = min(int(given.get(size_word, self.page_size)), self.page_size), int(given.get(page_word, 1))
        part = rows[(at - 1) * size : at * size]
        if at * size >= len(rows):
            return {}, part
        bare = re.sub(rf"[?&]{page_word}=\d+", "", path)
        following = f"{self.address}{bare}{'&' if '?' in bare else '?'}{page_word}={at + 1}"
        return {"Link": f'<{following}>; rel="next"'}, part

    def _git(self, asked: BaseHTTPRequestHandler, path: str) -> None:
        name, _, verb = path.lstrip("/").partition(".git/")
        files = [
            files for place in self.repositories.values() for one in place.issues.values() for files in (one.files,)
        ]
        file = next((known[path.rpartition("/")[2]] for known in files if path.rpartition("/")[2] in known), None)
        if file is not None:
            self._words(asked, 200, **{"Content-Length": str(len(file))})
            asked.wfile.write(file)
            return None
        repository, who = self.repositories.get(name), self._who(asked)
        writes = "git-receive-pack" in asked.path
        if repository is None:
            return self._words(asked, 404)
        if who is None and (writes or repository.private):
            return self._words(asked, 401, **{"WWW-Authenticate": 'Basic realm="git"'})
        before = repository.branches()
        self._backend(asked, asked.path.lstrip("/"), "x" if writes else "")
        if writes and verb == "git-receive-pack" and who:
            repository.moved(before, who)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))
