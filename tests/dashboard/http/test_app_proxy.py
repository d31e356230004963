"""Requests to deployed applications, by their host names."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.http import app_proxy
from dashboard.http.app_proxy import AppProxy
from projects.models import BadRequest, Deployment, Project, Target, TrafficMinute
from projects.services.operations import traffic

pytestmark = pytest.mark.django_db(transaction=True)


class Application(BaseHTTPRequestHandler):
    """Answers with what it was asked, fails where it is asked to."""

    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "unix"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/die":
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if self.path == "/down":  # as sandbox.inside.forward says it
            self.send_response(502)
            self.send_header("x-aiswe", "down")
            self.send_header("content-length", "0")
            self.end_headers()
            return
        told = [f"{self.command} {self.path}", *(f"{name}: {value}" for name, value in self.headers.items())]
        text = "\n".join(told).encode() + b"\n" + body
        self.send_response(503 if self.path.startswith("/broken") else 200)
        self.send_header("content-length", str(len(text)))
        self.send_header("set-cookie", "a=b")
        self.send_header("connection", "keep-alive")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Deployment]:
    place = str(tmp_path / "app")
    with ThreadingUnixStreamServer(place, Application) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        project = Project.objects.create(name="Shop", slug="shop", created_by=User.objects.create(username="anna"))
        target = Target.objects.create(project=project, name="staging")
        row = Deployment.objects.create(target=target, number=1, commit="a" * 40, address={"socket": place})
        Target.objects.update(live=row, wanted=row)
        yield row
        server.shutdown()
        thread.join()


class Asked:
    """One request through the proxy, as an ASGI server makes it."""

    def __init__(
        self, *requests: tuple[str, str, bytes], host: str = "staging.shop.localhost:8000", client: str = "127.0.0.1"
    ):
        self.requests, self.host, self.client = requests, host, client
        self.sent: list[dict[str, Any]] = []

    def run(self) -> list[tuple[int, bytes]]:
        return asyncio.run(self._run())

    async def _run(self) -> list[tuple[int, bytes]]:
        proxy = AppProxy(self._dashboard)
        found = []
        for method, path, body in self.requests:
            self.sent = []
            bare, _, query = path.partition("?")
            headers = [
                (b"host", self.host.encode()),
                (b"cookie", b"theirs=1"),
                (b"content-type", b"text/plain"),
                (b"connection", b"close"),
                (b"x-other", b"kept"),
            ]
            scope = {
                "type": "http",
                "method": method,
                "path": bare,
                "raw_path": bare.encode(),
                "query_string": query.encode(),
                "headers": headers,
                "client": (self.client, 1),
            }

            async def receive(body: bytes = body) -> dict[str, Any]:
                return {"type": "http.request", "body": body}

            async def send(message: dict[str, Any]) -> None:
                self.sent.append(message)

            await proxy(scope, receive, send)
            found.append((self.sent[0]["status"], b"".join(message.get("body", b"") for message in self.sent)))
        if proxy.writing is not None:
            await proxy.writing
        return found

    async def _dashboard(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b"dashboard"})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_proxy, "WRITE_SECONDS", 0.0)


def test_a_request_is_handed_on_and_its_answer_handed_back(live: Deployment) -> None:
    asked = Asked(("POST", "/a%20b?c=d", b"hello"))
    ((status, body),) = asked.run()
    assert status == 200
    assert body.startswith(b"POST /a%20b?c=d\n")
    assert body.endswith(b"\nhello")
    assert b"host: staging.shop.localhost:8000" in body.lower()
    assert b"x-other: kept" in body.lower()
    assert b"x-forwarded-proto: http" in body.lower()
    names = [name.lower() for name, _ in asked.sent[0]["headers"]]
    assert b"set-cookie" in names
    assert b"connection" not in names


def test_what_happened_is_counted_by_the_minute(live: Deployment) -> None:
    Asked(("GET", "/", b""), ("GET", "/broken", b""), ("GET", "/", b"")).run()
    metrics = traffic.metrics(live)
    assert (metrics.requests, metrics.errors) == (3, 1)
    assert metrics.p95_ms is not None
    assert sum(sum(row.buckets) for row in TrafficMinute.objects.all()) == 3


def test_what_failed_is_kept_without_what_identifies_its_sender(live: Deployment) -> None:
    ((broken, _), (died, text)) = Asked(("POST", "/broken?q=1", b"price=3"), ("GET", "/die", b"")).run()
    assert (broken, died, text) == (503, 502, b"The application ended without an answer.")
    first, second = BadRequest.objects.order_by("pk")
    assert (first.method, first.path, first.body, first.status) == ("POST", "/broken?q=1", "price=3", 503)
    assert first.headers == {"content-type": "text/plain"}
    assert (second.path, second.status) == ("/die", None)


def test_no_more_are_kept_than_a_minute_allows(live: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_proxy, "BAD_A_MINUTE", 3)
    Asked(*[("GET", "/broken", b"")] * 8).run()
    assert BadRequest.objects.count() in (3, 4, 5, 6)  # the minute may change in between
    assert traffic.metrics(live).errors == 8


@pytest.mark.parametrize(
    "host", ["localhost:8000", "127.0.0.1:8000", "shop.localhost", "a.b.c.localhost", "staging.shop.example.org"]
)
def test_other_hosts_are_the_dashboard_s(live: Deployment, host: str) -> None:
    assert Asked(("GET", "/", b""), host=host).run() == [(299, b"dashboard")]


def test_where_nothing_is_live_that_is_said(live: Deployment) -> None:
    ((status, text),) = Asked(("GET", "/", b""), host="real.shop.localhost").run()
    assert status == 502
    assert b"Nothing is deployed at this address" in text
    assert not BadRequest.objects.exists()


def test_another_machine_reaches_no_application_under_localhost(live: Deployment, settings: Any) -> None:
    assert Asked(("GET", "/", b""), client="192.0.2.7").run()[0][0] == 403
    settings.APPS_DOMAIN = "apps.example.org"
    assert Asked(("GET", "/", b""), host="staging.shop.apps.example.org", client="192.0.2.7").run()[0][0] == 200
    settings.APPS_DOMAIN = ""
    assert Asked(("GET", "/", b"")).run() == [(299, b"dashboard")]


def test_a_body_without_end_is_refused(live: Deployment) -> None:
    assert Asked(("POST", "/", b"x" * (app_proxy.MOST_BODY + 1))).run()[0][0] == 413


def test_a_path_that_climbs_out_is_refused_and_neither_counted_nor_kept(live: Deployment) -> None:
    assert Asked(("GET", "/a/..%2f..%2fapi", b"")).run()[0][0] == 400
    assert not BadRequest.objects.exists()


def test_a_request_that_met_nobody_is_counted_and_not_kept(live: Deployment, tmp_path: Path) -> None:
    ((down, _),) = Asked(("GET", "/down", b"")).run()
    Deployment.objects.update(address={"socket": str(tmp_path / "gone")})
    ((gone, _),) = Asked(("GET", "/", b"")).run()
    assert (down, gone) == (502, 502)
    assert traffic.metrics(live).errors == 2
    assert not BadRequest.objects.exists()
