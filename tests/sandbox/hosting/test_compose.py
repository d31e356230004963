"""Applications that stay up in containers of a Docker engine."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from sandbox.base import SandboxLimits
from sandbox.docker import connect
from sandbox.hosting.base import HostingError, Log, Release, Seen
from sandbox.hosting.compose import ComposeHost
from sandbox.images import image_name
from sandbox.registry import load_backend
from tests.needs import missing

pytestmark = [pytest.mark.docker, pytest.mark.networks]
T = TypeVar("T")

APP = """
import json, os, socket, sys, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def reach(place):
    host, _, port = place.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=3)
        return "reached"
    except OSError as error:
        return str(error)

class App(BaseHTTPRequestHandler):
    def do_GET(self):
        what, _, more = self.path[1:].partition("?")
        said = "hello"
        if what == "die":
            print("dying", flush=True)
            os._exit(3)
        if what == "reach":
            said = reach(more)
        if what == "print":
            for number in range(int(more)):
                print(number, flush=True, file=sys.stderr if number % 3 == 0 else sys.stdout)
        if what == "has":
            said = str(os.path.exists(more))
        if what == "who":
            said = open("/proc/self/status").read()
        if what == "write":
            try:
                open(more, "w")
            except OSError as error:
                said = str(error)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_):
        pass

print("up", os.environ.get("MODE"), flush=True)
ThreadingHTTPServer(("", int(os.environ["PORT"])), App).serve_forever()
"""
LEFT_OUT = "secret.txt"
LAST: deque[str] = deque(maxlen=5)  # what up() saw, for a test that gives up


@pytest.fixture
def installation(tmp_path: Path) -> str:
    """A name that no other test's releases have."""
    return str(tmp_path)


@pytest.fixture
def host(docker_engine: str, installation: str) -> Iterator[ComposeHost]:
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    made = ComposeHost(installation)
    if problem := made.problem():
        missing(problem)
    yield made
    for name in made.names():
        made.stop(name)
    assert left_of(installation) == []


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """A small application, built from the image of the sandboxes."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    (folder / LEFT_OUT).write_text("not for the image")
    (folder / ".dockerignore").write_text(f"{LEFT_OUT}\n")
    write_dockerfile(folder, "")
    return Release("shop-1", folder, (), {"MODE": "plain"}, limits=SandboxLimits(memory_mb=256, disk_mb=16))


def write_dockerfile(folder: Path, more: str) -> None:
    start = '\nCOPY . /app\nWORKDIR /app\nCMD ["python", "app.py"]\n'
    (folder / "Dockerfile").write_text(f"FROM {image_name()}{start}{more}\n")


def left_of(installation: str) -> list[str]:
    """What the engine has with this label."""
    client = connect()
    try:
        ours: Any = {"label": f"aiswe.app={installation}"}
        found = [*client.api.containers(all=True, filters=ours), *client.api.networks(filters=ours)]
        return [str(one["Id"]) for one in (*found, *client.api.images(filters=ours))]
    finally:
        client.close()


def ask(host: ComposeHost, path: str = "/", name: str = "shop-1", seconds: float = 120) -> httpx.Response:
    with httpx.Client(base_url=host.address(name).url, timeout=seconds, trust_env=False) as client:
        return client.get(path)


def up(host: ComposeHost, name: str = "shop-1") -> bool:
    seen = host.look(name)
    assert not seen.stuck, seen.detail
    if seen.state != "running":
        LAST.append(str(seen))
        return False
    try:
        answer = ask(host, name=name, seconds=20)
    except httpx.HTTPError as error:
        LAST.append(f"{error!r} while {seen}")
        return False
    LAST.append(f"{answer.status_code} {dict(answer.headers)} while {seen}")
    return answer.status_code == 200


def until(wanted: Callable[[], T], seconds: float = 150.0) -> T:
    """The first true value of `wanted`."""
    end = time.monotonic() + seconds
    LAST.clear()
    while not (found := wanted()):
        assert time.monotonic() < end, "\n".join(LAST)
        time.sleep(0.1)
    return found


def exited(host: ComposeHost, restarts: int) -> Seen | None:
    """The state between two starts, seen once: an instant later it may run again."""
    seen = host.look("shop-1")
    return seen if seen.state == "exited" and seen.restarts >= restarts else None


def whole_log(host: ComposeHost, after: int = 0) -> Log:
    """All there is now, piece by piece."""
    time.sleep(0.3)  # the last instant is held back
    text = ""
    while (log := host.logs("shop-1", after)).text:
        assert not log.lost
        text, after = text + log.text, log.position
    return Log(text, after)


def test_an_application_is_built_and_answers_shut_in(host: ComposeHost, release: Release) -> None:
    host.start(release)
    assert host.look("shop-1").state == "starting"
    assert host.address("shop-1").url.startswith("http://127.0.0.1:")
    until(lambda: up(host))
    assert ask(host).text == "hello"
    assert whole_log(host).text == "up plain\n"
    seen = host.look("shop-1")
    assert (seen.state, seen.ready, seen.restarts, seen.exit_code) == ("running", None, 0, None)
    assert seen.memory_mb is not None
    assert seen.cpu_seconds is not None
    assert 1 < seen.memory_mb < 256
    assert seen.cpu_seconds > 0
    status = dict(line.split(":\t", 1) for line in ask(host, "/who").text.splitlines())
    assert (int(status["CapEff"], 16), int(status["CapBnd"], 16), status["NoNewPrivs"]) == (0, 0, "1")
    assert "Read-only" in ask(host, "/write?/app/new").text
    assert ask(host, "/write?/tmp/new").text == "hello"
    assert ask(host, "/has?/app/app.py").text == "True"
    assert ask(host, f"/has?/app/{LEFT_OUT}").text == "False"


def test_no_way_leads_out_of_it(host: ComposeHost, release: Release) -> None:
    host.start(release)
    until(lambda: up(host))
    client = connect()
    try:
        (network,) = client.api.networks(filters={"label": "aiswe.release=shop-1"})
        (front,) = client.api.networks(names=[f"{network['Name'].removesuffix('-shop-1')}-front"])
    finally:
        client.close()
    gateways = [one["IPAM"]["Config"][0]["Gateway"] for one in (network, front)]
    with socket.create_server(("0.0.0.0", 0)) as listener:
        port = listener.getsockname()[1]
        socket.create_connection((gateways[1], port), timeout=3).close()  # the machine itself reaches it
        for place in (*(f"{gateway}:{port}" for gateway in gateways), "1.1.1.1:80", "example.com:80"):
            assert ask(host, f"/reach?{place}").text != "reached"
    assert ask(host, f"/reach?app:{release.port}").text == "reached"


def test_a_crash_is_counted_and_the_log_goes_on(host: ComposeHost, release: Release) -> None:
    host.start(release)
    until(lambda: up(host))
    before = whole_log(host)
    with pytest.raises(httpx.HTTPError):
        ask(host, "/die")
    until(lambda: host.look("shop-1").restarts and up(host))
    assert host.look("shop-1").exit_code == 3
    after = whole_log(host, before.position)
    assert after.text.startswith("dying\nup plain\n")
    assert host.logs("shop-1", after.position) == Log("", after.position)


def test_much_output_comes_in_order_piece_by_piece(host: ComposeHost, release: Release) -> None:
    host.start(release)
    until(lambda: up(host))
    before = whole_log(host)
    ask(host, "/print?40000")
    printed = whole_log(host, before.position).text
    assert sorted(map(int, printed.split())) == list(range(40_000))
    assert len(host.logs("shop-1").text) <= 64 * 1024


def test_a_loop_of_crashes_shows_the_last_words(host: ComposeHost, release: Release) -> None:
    host.start(replace(release, command=("python", "-c", "import sys; sys.exit('no database')")))
    until(lambda: host.look("shop-1").restarts)
    assert ask(host).headers["x-aiswe"] == "down"
    seen = until(lambda: exited(host, 3))
    assert seen
    assert (seen.exit_code, seen.detail, seen.stuck) == (1, "ended with exit code 1: no database", False)


def test_one_that_ends_well_is_started_again_too(host: ComposeHost, release: Release) -> None:
    host.start(replace(release, command=("true",)))
    seen = until(lambda: exited(host, 2))
    assert seen
    assert seen.detail == "ended with exit code 0"


def test_two_releases_do_not_see_each_other(host: ComposeHost, release: Release) -> None:
    host.start(release)
    host.start(replace(release, name="shop-2", environment={"MODE": "second"}))
    until(lambda: up(host) and up(host, "shop-2"))
    assert host.names() == ["shop-1", "shop-2"]
    client = connect()
    try:
        places = [
            one["IPAddress"]
            for label in ("aiswe.release=shop-2", "aiswe.part=relay")
            for found in client.api.containers(filters={"label": [label]})
            for one in found["NetworkSettings"]["Networks"].values()
        ]
    finally:
        client.close()
    answers = {place: ask(host, f"/reach?{place}:{release.port}").text for place in places}
    assert sorted(answers.values()).count("reached") == 1, answers  # its own relay
    host.stop("shop-1")
    assert ask(host, name="shop-2").text == "hello"
    assert host.logs("shop-2").text in ("", "up second\n")


def test_too_much_memory_is_named(host: ComposeHost, release: Release) -> None:
    hog = "kept = []\nwhile True: kept.append(bytearray(8 << 20))"
    host.start(replace(release, command=("python", "-c", hog), limits=SandboxLimits(memory_mb=64)))
    until(lambda: host.look("shop-1").restarts >= 1 and host.look("shop-1").exit_code)
    until(lambda: "more memory than it may" in host.look("shop-1").detail)


@pytest.mark.parametrize(("check", "ready"), [("true", True), ("echo no table; false", False)])
def test_the_health_check_of_the_image_decides(host: ComposeHost, release: Release, check: str, ready: bool) -> None:
    write_dockerfile(release.folder, f"HEALTHCHECK --interval=1s --retries=1 CMD {check}")
    host.start(release)
    until(lambda: host.look("shop-1").state == "running")
    assert host.look("shop-1").ready is not None
    until(lambda: host.look("shop-1").ready is ready and host.look("shop-1").detail != "no check passed yet")
    assert host.look("shop-1").detail == ("" if ready else "no table")


@pytest.mark.parametrize("user", ["root", "0:0", "00"])
def test_root_of_an_image_is_an_ordinary_user_here(host: ComposeHost, release: Release, user: str) -> None:
    write_dockerfile(release.folder, f"USER {user}")
    host.start(release)
    until(lambda: up(host))
    assert "Uid:\t10001\t10001" in ask(host, "/who").text


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("USER 0\nRUN echo toor:x:0:0::/:/bin/sh >> /etc/passwd\nUSER toor", "its user toor is root"),
        ("USER nobody-knows", "its user nobody-knows is not in the image's /etc/passwd"),
        ("ADD https://example.com/x /x", "has ADD, which may fetch; use COPY"),
        ("RUN echo compiling && exit 7", "the image was not built: The command '/bin/sh -c echo compiling && exit 7'"),
        ("RUN python -c \"import socket; socket.create_connection(('1.1.1.1', 80), 3)\"", "the image was not built"),
    ],
)
def test_what_cannot_start_says_why(host: ComposeHost, release: Release, more: str, problem: str) -> None:
    write_dockerfile(release.folder, more)
    host.start(release)
    until(lambda: host.look("shop-1").state == "exited")
    seen = host.look("shop-1")
    assert problem in seen.detail
    assert seen.stuck
    log = host.logs("shop-1")
    assert log.text.startswith("Step 1/") or more.startswith("ADD")
    assert ("compiling" in log.text) == ("compiling" in more)
    assert host.logs("shop-1", log.position) == Log("", log.position)


def test_an_image_is_run_as_it_is_and_kept(host: ComposeHost, release: Release) -> None:
    serve = ("python", "-m", "http.server", str(release.port))
    host.start(replace(release, image=image_name(), command=serve))
    until(lambda: up(host))
    host.stop("shop-1")
    client = connect()
    try:
        assert client.images.get(image_name())
    finally:
        client.close()


def test_an_image_that_cannot_be_had_says_so(host: ComposeHost, release: Release) -> None:
    host.start(replace(release, image="localhost:9/aiswe-no-such-image:1"))
    until(lambda: host.look("shop-1").state == "exited")
    assert "aiswe-no-such-image" in host.look("shop-1").detail


def test_another_process_takes_over_what_runs(host: ComposeHost, release: Release, installation: str) -> None:
    host.start(release)
    until(lambda: up(host))
    position = whole_log(host).position
    later = ComposeHost(installation)
    assert later.names() == ["shop-1"]
    assert ask(later).text == "hello"
    later.restart("shop-1")
    until(lambda: up(later))
    assert later.look("shop-1").restarts == 0
    assert whole_log(later, position).text == "up plain\n"
    assert ComposeHost(f"{installation}-other").names() == []
    assert ComposeHost(f"{installation}-other").look("shop-1") == Seen("gone")
    load_backend("docker").reap()  # of the sandboxes
    later.stop("shop-1")
    later.stop("shop-1")
    assert left_of(installation) == []
    assert host.look("shop-1") == Seen("gone")
    with pytest.raises(HostingError, match="does not run here"):
        host.logs("shop-1")


def test_a_start_that_was_interrupted_is_not_waited_for(host: ComposeHost, release: Release, installation: str) -> None:
    write_dockerfile(release.folder, "RUN sleep 5")
    host.start(release)
    assert ComposeHost(installation).look("shop-1").state == "exited"
    host.stop("shop-1")
    until(lambda: left_of(installation) == [])
    time.sleep(8)  # what is left of the build ends
    assert left_of(installation) == []


def test_without_a_dockerfile_the_way_out_is_named(host: ComposeHost, release: Release) -> None:
    (release.folder / "Dockerfile").unlink()
    with pytest.raises(HostingError, match="add one, name an image, or deploy to the embedded host"):
        host.start(release)
    assert host.names() == []


@pytest.mark.parametrize(
    ("address", "problem"),
    [("unix:///nowhere/docker.sock", "no Docker engine answers"), ("tcp://192.0.2.7:2375", "is on another machine")],
)
def test_without_an_engine_here_it_says_what_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, problem: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    assert problem in ComposeHost("x").problem()
    if "nowhere" in address:
        with pytest.raises(HostingError, match=problem):
            ComposeHost("x").names()
