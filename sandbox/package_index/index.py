"""Reading package indexes: what they know about a name, and the files they hold. Nothing is installed here."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import IO, Any

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename

from sandbox.package_index.errors import IndexUnavailable

PYPI, NPM_REGISTRY = "https://pypi.org/simple/", "https://registry.npmjs.org/"
NONE = "none"
SECONDS = 30.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MAX_PAGE = 80 * 1024 * 1024
SIMPLE = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
AWAY = (OSError, http.client.HTTPException, ssl.SSLError)


def python_index() -> str:
    """The address of the index for Python packages; "none" when there is to be none."""
    return os.environ.get("AISWE_PYPI_INDEX", "").strip() or os.environ.get("PIP_INDEX_URL", "").strip() or PYPI


def npm_registry() -> str:
    """The address of the registry for npm packages; "none" when there is to be none."""
    return os.environ.get("AISWE_NPM_REGISTRY", "").strip() or NPM_REGISTRY


@dataclass(frozen=True)
class IndexFile:
    """A file that an index of Python packages offers."""

    name: str
    url: str
    version: str
    hashes: Mapping[str, str] = field(default_factory=dict)
    uploaded: datetime | None = None
    python: str = ""  # versions of Python it is for
    yanked: bool = False
    metadata: str = ""  # "true", or its hash, when its metadata can be fetched alone

    @property
    def wheel(self) -> bool:
        """True for what can be unpacked without building it."""
        return self.name.endswith(".whl")


@dataclass(frozen=True)
class Page:
    """All that an index tells about one Python package."""

    files: tuple[IndexFile, ...]
    status: str = ""  # "archived", "quarantined", "deprecated"


class IndexClient:
    """One index, spoken to over HTTP; a person's or a project's proxy settings are followed."""

    def __init__(self, address: str, seconds: float = SECONDS) -> None:
        """`address` may carry a user and a password; they are sent to this host only and never shown."""
        self._seconds = seconds
        parts = urllib.parse.urlsplit(address)
        self._host = parts.hostname or ""
        self._login = ""
        if parts.username:
            pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
            self._login = "Basic " + base64.b64encode(pair.encode()).decode()
        netloc = parts.netloc.rpartition("@")[2]
        self.address = urllib.parse.urlunsplit((parts.scheme, netloc, parts.path.rstrip("/") + "/", "", ""))
        self._off = address == NONE
        near = [urllib.request.ProxyHandler({})] if self._host in LOOPBACK else []  # no way around over a proxy
        self._opener = urllib.request.build_opener(_SafeRedirects(), *near)

    def page(self, name: str) -> Page | None:
        """The page of a Python package; None when the index knows no such name; raises IndexUnavailable."""
        url = urllib.parse.urljoin(self.address, f"{urllib.parse.quote(name)}/")
        found = self._text(url, SIMPLE)
        if found is None:
            return None
        text, kind, landed = found
        return _from_json(text, landed) if "json" in kind else _from_html(text, landed)

    def packument(self, name: str) -> dict[str, Any] | None:
        """What the npm registry tells about a package; None when it knows no such name; raises IndexUnavailable."""
        document = self.document(urllib.parse.quote(name, safe="@"))
        if document is not None and not isinstance(document, dict):
            raise IndexUnavailable(f"{self.address} answered about {name} with invalid JSON")
        return document if document and isinstance(document.get("versions"), dict) and document["versions"] else None

    def document(self, path: str, body: Any = None) -> Any:
        """The JSON at a path of this index, for `body` where it is asked with one; None when it has no such path.

        A path that begins with "../" is taken from the folder above. Raises IndexUnavailable.
        """
        data = None if body is None else json.dumps(body).encode()
        found = self._text(urllib.parse.urljoin(self.address, path), "application/json", data)
        try:
            return found and json.loads(found[0])
        except (ValueError, RecursionError):
            raise IndexUnavailable(f"{self.address} answered {path} with invalid JSON") from None

    def open(self, url: str, accept: str = "*/*", data: bytes | None = None) -> IO[bytes]:
        """A file's bytes as they arrive, or the answer to `data`.

        Raises IndexUnavailable, and FileNotFoundError when there is no such file.
        """
        if self._off:
            raise IndexUnavailable("no package index is configured")
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise IndexUnavailable(f"{self.address} points to {url[:80]!r}, which is not a web address")
        headers = {"Accept": accept, "User-Agent": "aiswe"} | ({"Content-Type": "application/json"} if data else {})
        request = urllib.request.Request(url, data, headers)  # noqa: S310
        if self._login and parts.hostname == self._host:
            request.add_unredirected_header("Authorization", self._login)
        try:
            return self._opener.open(request, timeout=self._seconds)  # type: ignore[no-any-return]  # typeshed says Any
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (404, 410):
                raise FileNotFoundError(url) from None
            raise IndexUnavailable(f"{self.address} answers with {error.code}") from None
        except (*AWAY, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise IndexUnavailable(f"{self.address} does not answer: {reason}") from None

    def _text(self, url: str, accept: str, data: bytes | None = None) -> tuple[str, str, str] | None:
        try:
            with self.open(url, accept, data) as answer:
                page = answer.read(MAX_PAGE + 1)
                kind = answer.headers.get("Content-Type", "")  # type: ignore[attr-defined]  # urlopen's answer has it
                landed = answer.geturl()  # type: ignore[attr-defined]  # urlopen's answer has it
        except FileNotFoundError:
            return None
        except AWAY as error:
            raise IndexUnavailable(f"{self.address} closed the connection: {error}") from None
        if len(page) > MAX_PAGE:
            raise IndexUnavailable(f"{self.address} answers with more than {MAX_PAGE >> 20} MB")
        return page.decode(errors="replace"), kind, landed


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows an index elsewhere on the web, but never from a protected connection to an open one."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        scheme = urllib.parse.urlsplit(newurl).scheme
        if scheme not in ("http", "https") or (req.type == "https" and scheme != "https"):
            raise urllib.error.URLError(f"it sends us to {newurl[:80]!r}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def times_of(document: dict[str, Any]) -> dict[str, Any]:
    """When an npm package's versions were uploaded, as the registry writes it."""
    found = document.get("time")
    return found if isinstance(found, dict) else {}


def moment(text: Any) -> datetime | None:
    """A time as indexes write it; None for anything else."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def version_of(filename: str) -> str:
    """The version in a file's name; "" for what is neither a wheel nor a source archive."""
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except (InvalidWheelFilename, InvalidSdistFilename):
        return ""


def _from_json(text: str, base: str) -> Page:
    try:
        document = json.loads(text)
        status = document.get("meta", {}).get("project-status") or document.get("project-status", {}).get("status")
        files = [
            IndexFile(
                str(entry["filename"]),
                urllib.parse.urljoin(base, str(entry["url"])),
                version_of(str(entry["filename"])),
                {str(kind): str(value) for kind, value in entry.get("hashes", {}).items()},
                moment(entry.get("upload-time")),
                str(entry.get("requires-python") or ""),
                bool(entry.get("yanked")),
                _metadata(entry.get("core-metadata")),
            )
            for entry in document["files"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise IndexUnavailable(f"{base} answered with something that is not a package page") from None
    return Page(tuple(file for file in files if file.version), str(status or "") if status != "active" else "")


def _metadata(value: Any) -> str:
    if isinstance(value, dict) and value.get("sha256"):
        return f"sha256={value['sha256']}"
    return "true" if value else ""


def _from_html(text: str, base: str) -> Page:
    links = _Links()
    links.feed(text)
    files = []
    for given in links.found:
        url, _, fragment = urllib.parse.urljoin(base, given.get("href") or "").partition("#")
        name = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
        kind, _, digest = fragment.partition("=")
        files.append(
            IndexFile(
                name,
                url,
                version_of(name),
                {kind: digest} if digest else {},
                moment(given.get("data-upload-time")),
                given.get("data-requires-python") or "",
                "data-yanked" in given,
                given.get("data-core-metadata") or "",
            )
        )
    return Page(tuple(file for file in files if file.version), links.status)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.status = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.found.append(given)
        if tag == "meta" and given.get("name") == "pypi:project-status" and given.get("content") != "active":
            self.status = given.get("content") or ""
