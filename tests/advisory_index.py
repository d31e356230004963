"""A stand-in for a package index that offers advisories: PyPI's JSON pages and npm's bulk list, on 127.0.0.1."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


class AdvisoryIndex:
    """What the stand-in says, and what it was asked. A package that it does not name is unknown to it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.python: dict[str, dict[str, Any]] = {}  # "name/version" → page
        self.npm: dict[str, list[dict[str, Any]]] | None = {}  # name → advisories; None: it offers none
        self.npm_licences: dict[str, Any] = {}  # "name/version" → licence
        self.instead = b""  # what it answers to everything
        self.asked: list[str] = []

    def knows(self, name: str, version: str, *vulnerabilities: dict[str, Any], licence: str = "MIT") -> None:
        """Let it know a Python release."""
        page = {"info": {"name": name, "license_expression": licence}, "vulnerabilities": list(vulnerabilities)}
        self.python[f"{name}/{version}"] = page


@contextmanager
def advisory_index() -> Iterator[AdvisoryIndex]:
    """Serve a stand-in for the length of a block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append(self.path)
            kind, _, rest = self.path.strip("/").partition("/")
            if kind == "pypi":
                self._say(index.python.get(rest.removesuffix("/json")))
            elif (licence := index.npm_licences.get(unquote(self.path.strip("/")))) is not None:
                self._say({"license": licence})
            else:
                self._say(None)

        def do_POST(self) -> None:
            index.asked.append(self.path)
            wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._say(None if index.npm is None else {name: index.npm[name] for name in wanted if name in index.npm})

        def _say(self, document: Any) -> None:
            body = index.instead or json.dumps(document).encode()
            self.send_response(404 if document is None and not index.instead else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index = AdvisoryIndex(f"http://127.0.0.1:{server.server_address[1]}/")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
