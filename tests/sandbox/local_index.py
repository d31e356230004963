"""Package indexes on 127.0.0.1 that serve what a test puts on them: honest packages and poisoned ones."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
import urllib.parse
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from packaging.utils import canonicalize_name

LONG_AGO = datetime.now(UTC) - timedelta(days=2_000)


def wheel_bytes(name: str, files: Mapping[str, str], *, needs: str = "", version: str = "1.0") -> bytes:
    """A small wheel that pip accepts."""
    info, buffer = f"{name}-{version}.dist-info", io.BytesIO()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += f"Requires-Dist: {needs}\n" if needs else ""
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/METADATA", metadata)
        wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", wheel)
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


def tar_bytes(files: Mapping[str, str | bytes], links: Mapping[str, str] | None = None) -> bytes:
    """A packed archive, with symbolic links if wanted."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


class LocalIndex:
    """`simple/` for Python and `npm/` for Node, both on one port; counts what it is asked for."""

    def __init__(self, *, html: bool = False) -> None:
        self._html, self.asked = html, []
        self._pages: dict[str, list[dict[str, Any]]] = {}
        self._packuments: dict[str, dict[str, Any]] = {}
        self._files: dict[str, bytes] = {}
        self.status: dict[str, str] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def python(self) -> str:
        return f"{self.root}/simple/"

    @property
    def npm(self) -> str:
        return f"{self.root}/npm/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """From now on nobody answers."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def add_file(self, project: str, filename: str, data: bytes, *, uploaded: datetime | None = LONG_AGO) -> None:
        """Put a file on a Python package's page."""
        self._files[filename] = data
        entry: dict[str, Any] = {
            "filename": filename,
            "url": f"{self.root}/files/{filename}",
            "hashes": {"sha256": hashlib.sha256(data).hexdigest()},
        }
        if uploaded is not None:
            entry["upload-time"] = uploaded.isoformat()
        self._pages.setdefault(canonicalize_name(project), []).append(entry)

    def add_wheel(
        self,
        name: str,
        files: Mapping[str, str],
        *,
        needs: str = "",
        version: str = "1.0",
        uploaded: datetime | None = LONG_AGO,
    ) -> None:
        """Put a wheel on the index."""
        data = wheel_bytes(name, files, needs=needs, version=version)
        self.add_file(name, f"{name}-{version}-py3-none-any.whl", data, uploaded=uploaded)

    def lose(self, filename: str) -> None:
        """Keep a file on its page and serve it no more."""
        del self._files[filename]

    def swap(self, filename: str, data: bytes, *, on_page: bool) -> None:
        """Put other content under a file's name, with or without telling so on the page."""
        self._files[filename] = data
        if on_page:
            for entry in (entry for page in self._pages.values() for entry in page if entry["filename"] == filename):
                entry["hashes"] = {"sha256": hashlib.sha256(data).hexdigest()}

    def add_npm(
        self,
        name: str,
        files: Mapping[str, str],
        *,
        version: str = "1.0.0",
        uploaded: datetime = LONG_AGO,
        **manifest: Any,
    ) -> None:
        """Put an npm package on the registry; its tarball is made of `files` and the manifest."""
        given = {"name": name, "version": version, **manifest}
        data = tar_bytes(
            {"package/package.json": json.dumps(given), **{f"package/{path}": text for path, text in files.items()}}
        )
        self.add_tarball(name, version, data, given, uploaded=uploaded)

    def add_tarball(
        self, name: str, version: str, data: bytes, manifest: Mapping[str, Any], *, uploaded: datetime = LONG_AGO
    ) -> None:
        """Put any bytes on the registry as a release."""
        filename = f"{name.replace('/', '+')}-{version}.tgz"
        self._files[filename] = data
        document = self._packuments.setdefault(name, {"name": name, "versions": {}, "time": {}, "dist-tags": {}})
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        dist = {"tarball": f"{self.root}/files/{filename}", "integrity": integrity}
        document["versions"][version] = {**manifest, "name": name, "version": version, "dist": dist}
        document["time"][version] = uploaded.isoformat()
        document["dist-tags"]["latest"] = version

    def names_asked(self) -> set[str]:
        """The package names that anybody asked about."""
        parts = [path.split("/") for path in self.asked]
        return {"/".join(part[2:]).strip("/") for part in parts if part[1] in ("simple", "npm")}

    def _answer(self, path: str) -> tuple[bytes, str] | None:
        kind, _, rest = path[1:].partition("/")
        if kind == "files" and rest in self._files:
            return self._files[rest], "application/octet-stream"
        if kind == "npm" and rest in self._packuments:
            return json.dumps(self._packuments[rest]).encode(), "application/json"
        name = rest.strip("/")
        if kind == "simple" and name in self._pages:
            return self._page(self._pages[name], self.status.get(name, "active"))
        return None

    def _page(self, files: Sequence[Mapping[str, Any]], status: str) -> tuple[bytes, str]:
        if not self._html:
            document = {"meta": {"api-version": "1.4"}, "project-status": {"status": status}, "files": files}
            return json.dumps(document).encode(), "application/vnd.pypi.simple.v1+json"
        rows = "".join(
            f'<a href="../../files/{file["filename"]}#sha256={file["hashes"]["sha256"]}">{file["filename"]}</a><br/>\n'
            for file in files
        )
        head = f'<!DOCTYPE html><html><head><meta name="pypi:project-status" content="{status}"></head><body>'
        return (head + rows + "</body></html>").encode(), "text/html"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
                index.asked.append(path)
                body, kind = index._answer(path) or (b"", "")
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind or "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None: ...

        return Handler
