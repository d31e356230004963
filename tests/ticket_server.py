"""A ticket server of our own that answers on the documented routes of Jira Cloud (REST API, version 3), over https.

Written from the documentation; not compared with a real site. It keeps what it was sent in `asked`.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

WHO, TOKEN = "ada@example.org", "sesame-open"
STEPS = {"11": ("Start", "In Progress"), "31": ("Done", "Done")}


def paragraph(*words: str) -> dict[str, Any]:
    """A paragraph of a document, a line for each of the words."""
    content: list[dict[str, Any]] = []
    for line in words:
        content += [{"type": "hardBreak"}] if content else []
        content.append({"type": "text", "text": line})
    return {"type": "paragraph", "content": content}


def document(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    """An Atlassian document; words become paragraphs."""
    content = [paragraph(block) if isinstance(block, str) else block for block in blocks]
    return {"type": "doc", "version": 1, "content": content}


def bullets(*items: str) -> dict[str, Any]:
    """A list of such a document."""
    return {"type": "bulletList", "content": [{"type": "listItem", "content": [paragraph(item)]} for item in items]}


def heading(words: str, level: int = 2) -> dict[str, Any]:
    """A heading of such a document."""
    return {"type": "heading", "attrs": {"level": level}, "content": [{"type": "text", "text": words}]}


class TicketServer:
    """One site. `behave` makes it misbehave: a status, "elsewhere" (redirects) or "no step" (is taken)."""

    def __init__(self, pem: Path, port: int = 0) -> None:
        self.forget()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nothing on the console."""

            def do_GET(self) -> None:
                server.answer(self)

            do_POST = do_GET

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._http.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.port = self._http.server_address[1]
        self.address = f"https://localhost:{self.port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def forget(self) -> None:
        """Have no tickets, and behave."""
        self.tickets, self.files = dict[str, dict[str, Any]](), dict[str, bytes]()
        self.asked, self.comments = list[tuple[str, str, Any]](), dict[str, list[Any]]()
        self.behave: int | str = ""

    def add(self, key: str, summary: str, description: Any = None, **fields: Any) -> None:
        """A ticket; `files` are its attachments by name."""
        files = []
        for name, content in fields.pop("files", {}).items():
            ident = str(10_000 + len(self.files))
            self.files[ident] = content
            # As the real one does; the client must not go where an answer says.
            address = f"https://elsewhere.example/rest/api/3/attachment/content/{ident}"
            files.append({"id": ident, "filename": name, "size": len(content), "content": address})
        self.tickets[key] = {
            "summary": summary,
            "description": description,
            "labels": [],
            "status": {"name": "To Do", "statusCategory": {"key": "new"}},
            "creator": {"accountId": "5b10", "displayName": "Jane Doe", "accountType": "atlassian"},
            "updated": "2026-05-04T10:20:30.000+0200",
            "timeoriginalestimate": None,
            "attachment": files,
            **fields,
        }

    def close(self) -> None:
        """Stop it."""
        self._http.shutdown()
        self._http.server_close()

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        """One answer."""
        parts = urlsplit(asked.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        body = json.loads(asked.rfile.read(int(asked.headers.get("Content-Length") or 0)) or b"null")
        self.asked.append((f"{asked.command} {asked.path}", asked.headers.get("Authorization", ""), body))
        expected = "Basic " + base64.b64encode(f"{WHO}:{TOKEN}".encode()).decode()
        if self.behave == "elsewhere":
            self._send(asked, 302, {}, Location="https://elsewhere.example/login")
        elif isinstance(self.behave, int):
            self._send(
                asked, self.behave, {"errorMessages": ["no"]}, **({"Retry-After": "7"} if self.behave != 403 else {})
            )
        elif asked.headers.get("Authorization") != expected:
            self._send(asked, 401, {"errorMessages": ["Client must be authenticated to access this resource."]})
        else:
            self._send(asked, *self._found(asked.command, parts.path, query, body))

    def _found(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        missing = (
            404,
            {"errorMessages": ["Issue does not exist or you do not have permission to see it."], "errors": {}},
        )
        if path == "/rest/api/3/field":
            named = {"summary": "Summary", "customfield_10042": "Acceptance Criteria", "customfield_10050": "Team"}
            return 200, [{"id": ident, "name": name} for ident, name in named.items()]
        if path == "/rest/api/3/search/jql":
            return self._search(body)
        if match := re.fullmatch(r"/rest/api/3/attachment/content/(\d+)", path):
            if query.get("redirect") != "false":
                return 303, {}
            return (200, self.files[match[1]]) if match[1] in self.files else missing
        match = re.fullmatch(r"/rest/api/3/issue/([A-Z]+-\d+)(/comment|/transitions)?", path)
        if match is None or match[1] not in self.tickets:
            return missing
        key, what = match[1], match[2]
        if what == "/comment":
            self.comments.setdefault(key, []).append(body["body"])
            return 201, {"id": "1"}
        if what == "/transitions" and method == "GET":
            return 200, {"transitions": [{"id": i, "name": n, "to": {"name": to}} for i, (n, to) in STEPS.items()]}
        if what == "/transitions" and self.behave == "no step":
            return 400, {"errorMessages": [], "errors": {"resolution": "Resolution is required."}}
        if what == "/transitions":
            to = STEPS[body["transition"]["id"]][1]
            category = {"key": "done" if to == "Done" else "indeterminate"}
            self.tickets[key]["status"] = {"name": to, "statusCategory": category}
            return 204, b""
        return 200, self._shown(key, query.get("fields", "").split(","))

    def _shown(self, key: str, fields: list[str]) -> dict[str, Any]:
        return {"key": key, "fields": {name: value for name, value in self.tickets[key].items() if name in fields}}

    def _search(self, body: Any) -> tuple[int, Any]:
        """`project = KEY` finds tickets; pages are of two, whatever was asked for, as a site may decide."""
        found = re.match(r"project\s*=\s*(\w+)", body["jql"])
        if found is None:
            return 400, {"errorMessages": ["Error in the JQL Query: the query is unbounded."], "errors": {}}
        keys = [key for key in self.tickets if key.startswith(f"{found[1]}-")]
        start = int(body.get("nextPageToken", "0"))
        answer: dict[str, Any] = {"issues": [self._shown(key, body["fields"]) for key in keys[start : start + 2]]}
        more = start + 2 < len(keys)
        return 200, answer | ({"nextPageToken": str(start + 2)} if more else {}) | {"isLast": not more}

    @staticmethod
    def _send(asked: BaseHTTPRequestHandler, status: int, body: Any, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        asked.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            asked.send_header(name, value)
        asked.end_headers()
        asked.wfile.write(content)
