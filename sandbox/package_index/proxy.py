"""An index on 127.0.0.1 for the length of one fetch: an installer sees the allowed indexes and nothing else."""

from __future__ import annotations

import html
import json
import secrets
import threading
import urllib.parse
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from sandbox.base import SandboxError
from sandbox.package_index.allowed_index import AllowedIndex
from sandbox.package_index.allowlist import NODE, PYTHON
from sandbox.package_index.errors import IndexUnavailable
from sandbox.package_index.index import AWAY, IndexClient

MAX_FETCH = 1024 * 1024 * 1024  # bytes of all files of one fetch
SIMPLE = "application/vnd.pypi.simple.v1+html"


class _ProxyServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An installer that disconnects early is not an error."""


class IndexProxy:
    """Serves `simple/` pages for pip and packuments for npm, with addresses that lead through itself.

    An address begins with a secret of this proxy, so that other users of the machine get nothing from it.
    """

    def __init__(self, indexes: Mapping[str, AllowedIndex]) -> None:
        self._indexes = indexes
        self._files: dict[str, tuple[IndexClient, str]] = {}
        self.troubles: list[SandboxError] = []
        self._left, self._lock = MAX_FETCH, threading.Lock()
        self._secret = secrets.token_urlsafe(16)
        self._server = _ProxyServer(("127.0.0.1", 0), self._handler())
        self._root = f"http://127.0.0.1:{self._server.server_address[1]}/{self._secret}"
        self.python, self.npm = f"{self._root}/simple/", f"{self._root}/npm/"  # the addresses to give to pip and npm
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="index-proxy", daemon=True
        )

    def upstream(self, url: str) -> tuple[IndexClient, str] | None:
        """Where a file that was offered under `url` really lies; None for an address that was never offered."""
        return self._files.get(url)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _offer(self, index: IndexClient, url: str, name: str) -> str:
        """A new address for a file, remembered: only what was offered can be fetched."""
        shown = f"{self._root}/file/{len(self._files)}/{urllib.parse.quote(name)}"
        self._files[shown] = (index, url)
        return shown

    def _has_room(self, size: int, *, taken: bool = False) -> bool:
        """Whether so many bytes may still come; an index that sends without end must not fill the disk."""
        with self._lock:
            self._left -= size if taken else 0
            return self._left >= (0 if taken else size)

    def _simple(self, name: str) -> bytes:
        allowed_index = self._indexes[PYTHON]
        page, index = allowed_index.page(name), allowed_index.index_of(name)
        rows = []
        for file in page.files:
            shown = self._offer(index, file.url, file.name)
            kind = "sha256" if "sha256" in file.hashes else next(iter(sorted(file.hashes)), "")
            given = {"href": shown + (f"#{kind}={file.hashes[kind]}" if kind else "")}
            if file.python:
                given["data-requires-python"] = file.python
            if file.yanked:
                given["data-yanked"] = ""
            if file.metadata:
                given["data-core-metadata"] = file.metadata
                self._files[shown + ".metadata"] = (index, file.url + ".metadata")
            words = " ".join(f'{key}="{html.escape(value, quote=True)}"' for key, value in given.items())
            rows.append(f"<a {words}>{html.escape(file.name)}</a>\n")
        head = '<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.0"></head><body>\n'
        return (head + "".join(rows) + "</body></html>").encode()

    def _packument(self, name: str) -> bytes:
        allowed_index = self._indexes[NODE]
        document, index = allowed_index.packument(name), allowed_index.index_of(name)
        short, offered = name.rpartition("/")[2], {}
        for version, manifest in document["versions"].items():
            dist = manifest["dist"]
            shown = self._offer(index, dist["tarball"], f"{short}-{version}.tgz")
            offered[version] = manifest | {"dist": dist | {"tarball": shown}}
        return json.dumps(document | {"versions": offered}).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class ProxyHandler(BaseHTTPRequestHandler):
            timeout = 60

            def do_GET(self) -> None:
                path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
                root = f"/{proxy._secret}/"
                if not path.startswith(root):
                    return self._say(404, b"")
                kind, _, rest = path[len(root) :].partition("/")
                try:
                    if kind == "simple":
                        return self._say(200, proxy._simple(rest.strip("/")), SIMPLE)
                    if kind == "npm":
                        return self._say(200, proxy._packument(rest.strip("/")), "application/json")
                    if kind == "file":
                        return self._file(f"http://{self.headers.get('Host')}{urllib.parse.urlsplit(self.path).path}")
                except (SandboxError, KeyError) as error:
                    return self._say(404, str(error).encode(errors="replace"), "text/plain; charset=utf-8")
                return self._say(404, b"")

            def do_HEAD(self) -> None:
                self.send_response(405)  # uv then reads a file's metadata from the whole of it
                self.end_headers()

            def _file(self, url: str) -> None:
                found = proxy.upstream(url)
                if found is None:
                    return self._say(404, b"never offered")
                try:
                    source = found[0].open(found[1])
                except (SandboxError, *AWAY) as error:
                    proxy.troubles.append(IndexUnavailable(f"a file that the index offered cannot be had: {error}"))
                    return self._say(502, str(error).encode(errors="replace"))
                with source:
                    length = source.headers.get("Content-Length") or ""  # type: ignore[attr-defined]  # urlopen's answer has headers
                    if not proxy._has_room(int(length) if length.isdigit() else 0):
                        return self._say(404, b"too much for one fetch")
                    self.send_response(200)
                    if length:
                        self.send_header("Content-Length", length)
                    self.end_headers()
                    while (piece := source.read(1 << 18)) and proxy._has_room(len(piece), taken=True):
                        self.wfile.write(piece)

            def _say(self, status: int, body: bytes, kind: str = "text/plain") -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """The allowed indexes keep the log."""

        return ProxyHandler
