"""Reading indexes: both forms of page, what is known about a package, and indexes that misbehave."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from sandbox.package_index import facts
from sandbox.package_index.errors import IndexUnavailable
from sandbox.package_index.index import IndexClient
from tests.sandbox.local_index import LocalIndex
from tests.tables import each_row


@pytest.mark.parametrize("html", [False, True], ids=["json", "html"])
def test_a_page_is_read_in_both_forms(html: bool) -> None:
    with LocalIndex(html=html) as index:
        index.add_wheel("goodpkg", {"goodpkg.py": ""}, version="1.0")
        index.add_wheel("goodpkg", {"goodpkg.py": ""}, version="2.0rc1")
        index.add_file("goodpkg", "goodpkg-0.9.tar.gz", b"")
        index.add_file("goodpkg", "notes.txt", b"")
        index.status["goodpkg"] = "archived"
        page = IndexClient(index.python).page("goodpkg")
    assert page is not None
    assert [file.version for file in page.files] == ["1.0", "2.0rc1", "0.9"]
    assert page.files[0].url.startswith("http://127.0.0.1:")
    assert len(page.files[0].hashes["sha256"]) == 64
    known = facts.of_page(page, "here")
    assert (known.releases, known.version, known.status, known.built) == (3, "1.0", "archived", True)


def test_facts_warn_of_what_is_young_rare_unbuilt_or_runs_scripts() -> None:
    with LocalIndex() as index:
        index.add_file("newpkg", "newpkg-1.0.tar.gz", b"", uploaded=datetime.now(UTC) - timedelta(days=2))
        index.add_npm("trap", {}, scripts={"postinstall": "x"}, deprecated="use another")
        page, document = IndexClient(index.python).page("newpkg"), IndexClient(index.npm).packument("trap")
        assert IndexClient(index.npm).packument("nothing") is None
        assert IndexClient(index.python).page("nothing") is None
    assert page is not None
    assert document is not None
    assert facts.of_page(page, "").warnings() == [
        "It is 2 days old.",
        "It has 1 release.",
        "It has no wheel: it would have to be built, which is never done.",
    ]
    said = " ".join(facts.of_packument(document, "").warnings())
    assert "deprecated: use another" in said
    assert "Its installer would run postinstall" in said


class Answers:
    """A server that answers everything in one odd way, and remembers what it was told."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.seen: list[dict[str, str]] = []
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seen.append(dict(self.headers.items()))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def answering() -> Iterator[Any]:
    made: list[Answers] = []

    def make(*args: Any) -> Answers:
        made.append(Answers(*args))
        return made[-1]

    yield make
    for one in made:
        one.server.shutdown()
        one.server.server_close()


@each_row(
    ("status", "headers", "body"),
    [
        (500, {}, b""),
        (403, {}, b""),
        (302, {"Location": "file:///etc/passwd"}, b""),
        (302, {"Location": "ftp://127.0.0.1/x"}, b""),
        (200, {"Content-Type": "application/vnd.pypi.simple.v1+json"}, b"{broken"),
        (200, {"Content-Type": "application/vnd.pypi.simple.v1+json"}, b'{"files": 3}'),
    ],
)
def test_an_index_that_misbehaves_is_away_and_not_a_made_up_name(
    answering: Any, status: int, headers: dict[str, str], body: bytes
) -> None:
    with pytest.raises(IndexUnavailable):
        IndexClient(f"http://{answering(status, headers, body).address}/simple/").page("x")


def test_an_index_that_is_not_there_or_not_wanted_is_away() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    for where in (address, "none", "file:///etc/"):
        with pytest.raises(IndexUnavailable):
            IndexClient(where).page("x")
        with pytest.raises(IndexUnavailable):
            IndexClient(where).packument("x")


def test_a_password_goes_to_its_own_host_only_and_is_never_shown(answering: Any) -> None:
    server = answering(500, {}, b"")
    index = IndexClient(f"http://me:s%40cret@{server.address}/simple/")
    with pytest.raises(IndexUnavailable) as said:
        index.page("x")
    assert "cret" not in str(said.value)
    assert server.seen[0]["Authorization"] == "Basic " + base64.b64encode(b"me:s@cret").decode()
    with pytest.raises(IndexUnavailable):
        index.open(f"http://localhost:{server.address.rpartition(':')[2]}/file")
    assert "Authorization" not in server.seen[-1]
