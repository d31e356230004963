"""Stock git clients, and downloads, against the real server."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import socket
import subprocess
import urllib.error
import urllib.request
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server import Site
from tests.waiting import eventually

pytestmark = pytest.mark.slow
PACK = "application/x-git-upload-pack-request"


@pytest.fixture(scope="module")
def code(site: Site, story: dict[str, Any]) -> dict[str, Any]:
    return site.do("code", megabytes=8)


def git(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """A stock client that asks nobody."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "HOME": str(folder)}
    return subprocess.run(["git", *argv], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def address(site: Site, story: dict[str, Any], token: str = "", project: str = "project") -> str:
    secret = f"git:{token}@" if token else ""
    return f"{site.url.replace('http://', f'http://{secret}')}/p/{story[project]}/repository.git"


def ask(url: str, token: str = "", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        named["Authorization"] = f"Basic {b64encode(f'x:{token}'.encode()).decode()}"
    request = urllib.request.Request(url, body, named)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()


@pytest.mark.parametrize("version", ["0", "2"])
@pytest.mark.parametrize("person", ["ada", "victor"])
def test_a_member_clones_with_a_token(
    site: Site, story: dict[str, Any], code: dict[str, Any], tmp_path: Path, person: str, version: str
) -> None:
    where = address(site, story, code["tokens"][person])
    done = git(tmp_path, "-c", f"protocol.version={version}", "clone", "-q", where, "cloned")
    assert done.returncode == 0, done.stderr
    assert git(tmp_path / "cloned", "rev-parse", "HEAD").stdout.strip() == code["commit"]
    assert git(tmp_path / "cloned", "fsck", "--strict").returncode == 0
    assert (tmp_path / "cloned" / "app" / "todos.py").read_text().startswith('"""To-dos."""')


def test_a_shallow_clone_is_deepened(site: Site, story: dict[str, Any], code: dict[str, Any], tmp_path: Path) -> None:
    where = address(site, story, code["tokens"]["ada"])
    assert git(tmp_path, "clone", "-q", "--depth=1", where, "cloned").returncode == 0
    assert git(tmp_path / "cloned", "fetch", "-q", "--unshallow").returncode == 0
    assert git(tmp_path / "cloned", "rev-list", "--count", "HEAD").stdout.strip() == "2"


@pytest.mark.parametrize(
    ("person", "words"),
    [("", "could not read Username"), ("stranger", "not found"), ("wrong", "Authentication failed"), ("writer", "403")],
)
def test_nobody_else_clones(
    site: Site, story: dict[str, Any], code: dict[str, Any], tmp_path: Path, person: str, words: str
) -> None:
    token = code["tokens"].get(person, f"aiswe_{'0' * 10}_{'a' * 43}" if person else "")
    done = git(tmp_path, "clone", "-q", address(site, story, token), "cloned")
    assert done.returncode != 0
    assert words in done.stderr
    assert not (tmp_path / "cloned").exists()


def test_a_project_of_others_and_no_project_are_answered_alike(
    site: Site, story: dict[str, Any], code: dict[str, Any]
) -> None:
    token = code["tokens"]["victor"]
    query = "/info/refs?service=git-upload-pack"
    others = ask(address(site, story, project="other") + query, token)
    assert others == ask(f"{site.url}/p/999999/repository.git{query}", token)
    assert others[0] == 404


def test_nothing_is_pushed_and_files_are_not_served_one_by_one(
    site: Site, story: dict[str, Any], code: dict[str, Any], tmp_path: Path
) -> None:
    where, token = address(site, story, code["tokens"]["ada"]), code["tokens"]["ada"]
    assert git(tmp_path, "clone", "-q", where, "cloned").returncode == 0
    pushed = git(tmp_path / "cloned", "push", "-q", "origin", "HEAD:refs/heads/mine")
    assert pushed.returncode != 0
    bare = address(site, story)
    for path in ("/info/refs", "/info/refs?service=git-receive-pack"):
        assert ask(bare + path, token)[0] == 403
    for path in ("/HEAD", "/config", "/objects/info/packs", "/git-receive-pack", "/git-upload-pack/../config"):
        assert ask(bare + path, token)[0] == 404, path


def test_what_is_not_announced_stays_hidden(
    site: Site, story: dict[str, Any], code: dict[str, Any], tmp_path: Path
) -> None:
    folder = next((site.home / "repositories").rglob("HEAD")).parent
    for name in ("refs/aiswe/kept", "refs/remotes/origin/main", "refs/heads/aiswe/run-1", "refs/tags/v1"):
        assert git(folder, "update-ref", name, code["commit"]).returncode == 0
    listed = git(tmp_path, "ls-remote", address(site, story, code["tokens"]["ada"])).stdout
    assert "refs/heads/aiswe/run-1" in listed
    assert "refs/tags/v1" in listed
    assert "refs/aiswe" not in listed
    assert "refs/remotes" not in listed


def test_bodies_may_be_packed_but_not_grow_without_bound(
    site: Site, story: dict[str, Any], code: dict[str, Any]
) -> None:
    where, token = address(site, story) + "/git-upload-pack", code["tokens"]["ada"]
    flush = gzip.compress(b"0000")
    assert ask(where, token, flush, Content_Type=PACK, Content_Encoding="gzip")[0] == 200
    bomb = gzip.compress(bytes(20 * 1024 * 1024))
    status, words = ask(where, token, bomb, Content_Type=PACK, Content_Encoding="gzip")
    assert (status, words) == (400, b"The request body is too large.\n")
    assert ask(where, token, b"not gzip", Content_Type=PACK, Content_Encoding="gzip")[0] == 400
    assert ask(where, token, b"0000", Content_Type="text/plain")[0] == 415


def _at_work(site: Site) -> list[str]:
    """The git processes in the folders of this site."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(site.home / "repositories"):
                found.append((process / "cmdline").read_text())
    return found


@contextlib.contextmanager
def _begun(site: Site, story: dict[str, Any], code: dict[str, Any]) -> Iterator[socket.socket]:
    """A client that asked for the whole repository, and reads nothing."""
    want = f"0032want {code['commit']}\n00000009done\n".encode()
    secret = b64encode(f"x:{code['tokens']['ada']}".encode()).decode()
    lines = [
        f"POST /p/{story['project']}/repository.git/git-upload-pack HTTP/1.1",
        f"Host: 127.0.0.1:{site.port}",
        f"Authorization: Basic {secret}",
        f"Content-Type: {PACK}",
        f"Content-Length: {len(want)}",
    ]
    with socket.create_connection(("127.0.0.1", site.port), 30) as client:
        client.sendall("\r\n".join([*lines, "", ""]).encode() + want)
        yield client


def test_a_client_that_leaves_takes_its_processes_along(
    site: Site, story: dict[str, Any], code: dict[str, Any]
) -> None:
    for _ in range(6):  # more than are served at once: seats that are not given back would be missed
        with _begun(site, story, code) as client:
            assert client.recv(12).startswith(b"HTTP/1.1 200")
    assert eventually(lambda: _at_work(site) == [])
    query = "/info/refs?service=git-upload-pack"
    assert ask(address(site, story) + query, code["tokens"]["ada"])[0] == 200


@pytest.mark.parametrize("form", ["zip", "tar.gz", "bundle"])
def test_downloads_are_files_with_the_right(site: Site, story: dict[str, Any], code: dict[str, Any], form: str) -> None:
    where = f"{site.url}/p/{story['project']}/code.{form}"
    request = urllib.request.Request(where, headers={"Cookie": f"aiswe_session={story['viewer']}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        body = answer.read()
        assert answer.headers["Content-Disposition"].endswith(f'-{code["commit"][:10]}.{form}"')
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if form == "zip":
        assert "app/todos.py" in zipfile.ZipFile(io.BytesIO(body)).namelist()
    assert len(body) > 1_000_000
