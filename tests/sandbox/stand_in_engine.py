"""Something on a socket that answers like a Docker engine as far as a test wants, and runs no container."""

from __future__ import annotations

import json
import os
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

VERSION = {"ApiVersion": "1.41", "Version": "20.10.0-stand-in", "MinAPIVersion": "1.12"}


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    engine: StandInEngine

    def handle_error(self, request: object, address: object) -> None:
        """A client that was killed is what tests are about."""


class StandInEngine:
    """`images` are those it claims to have, by name; `how` says what it does with an import, a load, a pull."""

    def __init__(self, folder: Path, **how: str) -> None:
        self.how, self.images = how, dict[str, dict[str, Any]]()
        self.importing, self.go_on = threading.Event(), threading.Event()
        self._socket = folder / "engine.sock"
        self.url = f"unix://{self._socket}"
        self._server = _Server(str(self._socket), _Handler)
        self._server.engine = self

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()
        os.unlink(self._socket)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def address_string(self) -> str:
        return "test"

    def _answer(self, document: Any, code: int = 200) -> None:
        data = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self, most: int = 1 << 40) -> int:
        """Read what is sent, up to `most` bytes."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return len(self.rfile.read(min(most, int(self.headers.get("Content-Length") or 0))))
        got = 0
        while (size := int(self.rfile.readline().strip() or b"0", 16)) and got < most:
            got += len(self.rfile.read(size))
            self.rfile.readline()
        return got

    def do_GET(self) -> None:
        path, images = urlsplit(self.path).path, self.server.engine.images
        name = path.partition("/images/")[2].removesuffix("/json")
        if path.endswith("/version"):
            self._answer(VERSION)
        elif path.endswith("/info"):
            self._answer({"Runtimes": {"runc": {}}})
        elif name in images:
            self._answer({"Id": "sha256:" + "0" * 64, "RepoTags": [name], "Config": images[name]})
        elif name:
            self._answer({"message": f"No such image: {name}"}, 404)
        else:
            self._answer("OK")

    def do_POST(self) -> None:
        parts, engine = urlsplit(self.path), self.server.engine
        asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if parts.path.endswith("/build"):
            self._body()
            self._answer({"error": "pull access denied for node", "errorDetail": {}})
        elif parts.path.endswith("/images/create") and asked.get("fromSrc") == "-":
            self._import(f"{asked['repo']}:{asked['tag']}")
        elif parts.path.endswith("/images/create"):
            self._answer({"message": "manifest unknown"}, 404)
        elif parts.path.endswith("/images/load"):
            self._body()
            if text := engine.how.get("load"):
                self._answer({"error": text})
            else:
                self._answer({"stream": "Loaded image: another:1"})
        else:
            self._body()
            self._answer({"message": "this engine runs no containers"}, 500)

    def _import(self, name: str) -> None:
        engine, how = self.server.engine, self.server.engine.how.get("import", "")
        self._body(1 if how == "dies" else 1 << 40)
        engine.importing.set()
        if how == "dies":
            self.connection.close()
        elif how == "refuses":
            self._answer({"message": "archive/tar: invalid tar header"}, 500)
        elif how == "fails late":
            self._answer({"error": "write /var/lib/docker: no space left on device", "errorDetail": {}})
        else:
            if how == "waits":
                engine.go_on.wait(60)
            engine.images[name] = {"User": "1000:1000"}
            self._answer({"status": "sha256:" + "1" * 64})
