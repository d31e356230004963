"""Applications that stay up in a bubblewrap sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from sandbox.base import SandboxLimits
from sandbox.hosting.base import HostingError, Release, Seen
from sandbox.hosting.bubblewrap import BubblewrapHost
from tests.needs import missing

pytestmark = pytest.mark.bubblewrap

APP = """
import os, socket, subprocess, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class App(BaseHTTPRequestHandler):
    def do_GET(self):
        said = b"hello"
        if self.path == "/die":
            print("dying", flush=True)
            os._exit(3)
        if self.path == "/orphan":
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
        if self.path == "/out":
            try:
                socket.create_connection(("1.1.1.1", 80), timeout=2)
                said = b"out"
            except OSError as error:
                said = str(error).encode()
        if self.path == "/much":
            print("x" * 300_000 + "end", flush=True)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass

print("up", os.environ.get("MODE"), flush=True)
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), App).serve_forever()
"""


@pytest.fixture
def host() -> Iterator[BubblewrapHost]:
    made = BubblewrapHost()
    if problem := made.problem():
        missing(problem)
    yield made
    made.close()


@pytest.fixture
def release(tmp_path: Path) -> Release:
    (tmp_path / "app.py").write_text(APP)
    return Release("shop-1", tmp_path, ("python", "app.py"), {"MODE": "plain"}, limits=SandboxLimits(memory_mb=256))


def ask(host: BubblewrapHost, name: str, path: str = "/") -> httpx.Response:
    transport = httpx.HTTPTransport(uds=host.address(name).socket)
    with httpx.Client(transport=transport, base_url="http://app", timeout=120) as client:
        return client.get(path)


def up(host: BubblewrapHost, name: str) -> bool:
    try:
        return ask(host, name).status_code == 200
    except httpx.HTTPError:
        return False


def until(wanted: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_application_answers_and_nothing_of_it_gets_out(host: BubblewrapHost, release: Release) -> None:
    host.start(release)
    until(lambda: up(host, "shop-1"))
    assert ask(host, "shop-1").text == "hello"
    assert "unreachable" in ask(host, "shop-1", "/out").text
    seen = host.look("shop-1")
    assert (seen.state, seen.restarts, seen.exit_code) == ("running", 0, None)
    assert host.logs("shop-1").text == "up plain\n"


def test_a_crash_is_counted_and_it_comes_up_again_with_the_log_of_both(host: BubblewrapHost, release: Release) -> None:
    host.start(release)
    until(lambda: up(host, "shop-1"))
    before = host.logs("shop-1").position
    with pytest.raises(httpx.HTTPError):
        ask(host, "shop-1", "/die")
    until(lambda: host.look("shop-1").restarts == 1 and up(host, "shop-1"))
    assert host.look("shop-1").exit_code == 3
    assert host.logs("shop-1", before).text == "dying\nup plain\n"


def test_while_it_is_down_requests_are_told_so(host: BubblewrapHost, release: Release) -> None:
    host.start(Release("shop-2", release.folder, ("python", "-c", "import time; time.sleep(1000)")))
    answer = ask(host, "shop-2")
    assert (answer.status_code, answer.headers["x-aiswe"]) == (502, "down")


def test_a_restart_that_was_asked_for_is_no_crash(host: BubblewrapHost, release: Release) -> None:
    host.start(release)
    until(lambda: up(host, "shop-1"))
    ask(host, "shop-1", "/orphan")
    host.restart("shop-1")
    until(lambda: up(host, "shop-1"))
    assert host.look("shop-1").restarts == 0
    assert host.logs("shop-1").text == "up plain\nup plain\n"


def test_of_much_output_the_end_is_kept_and_the_loss_told(host: BubblewrapHost, release: Release) -> None:
    host.start(release)
    until(lambda: up(host, "shop-1"))
    ask(host, "shop-1", "/much")
    until(lambda: host.logs("shop-1", 290_000).text.endswith("end\n"))
    first = host.logs("shop-1", 0)
    assert first.lost
    assert len(first.text) == 64 * 1024
    assert not host.logs("shop-1", first.position).lost


@pytest.mark.parametrize("command", [("no-such-program",), ("python", "no_such_file.py")])
def test_what_cannot_start_says_why(host: BubblewrapHost, release: Release, command: tuple[str, ...]) -> None:
    host.start(Release("shop-3", release.folder, command))
    until(lambda: host.look("shop-3").restarts >= 1)
    assert "No such file or directory" in host.logs("shop-3").text


def test_a_release_that_takes_too_much_memory_is_ended_and_said(host: BubblewrapHost, release: Release) -> None:
    hog = ("python", "-c", "import time\nkept = []\nwhile True:\n    kept.append(bytearray(8 << 20)); time.sleep(0.01)")
    host.start(Release("hog", release.folder, hog, limits=SandboxLimits(memory_mb=128)))
    until(lambda: host.look("hog").restarts >= 1)
    assert host.look("hog").exit_code != 0


def test_after_a_stop_nothing_is_there(host: BubblewrapHost, release: Release) -> None:
    host.start(release)
    place = Path(host.address("shop-1").socket)
    host.stop("shop-1")
    host.stop("shop-1")
    assert host.look("shop-1") == Seen("gone")
    assert (host.names(), place.parent.exists()) == ([], False)
    with pytest.raises(HostingError, match="does not run here"):
        host.logs("shop-1")


def test_without_a_command_the_way_out_is_named(host: BubblewrapHost, release: Release) -> None:
    with pytest.raises(HostingError, match="no start command is known; name one"):
        host.start(Release("shop-1", release.folder, ()))


def test_a_long_folder_for_temporary_files_does_not_stand_in_the_way(
    host: BubblewrapHost, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    host.start(release)
    until(lambda: up(host, "shop-1"))
    assert len(host.address("shop-1").socket) < 108
