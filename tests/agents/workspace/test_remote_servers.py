"""Fetching from and pushing to a real server over https: what it says is put in words that name the address."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.workspace.addresses import SourceRefused, parse_address
from agents.workspace.fetching import Fetched, FetchLimits, RemoteAccess, clone_address
from agents.workspace.pushing import push_commit
from tests.agents.workspace.by_hand import git
from tests.agents.workspace.git_server import TOKEN, GitServer, certificate

HERE = RemoteAccess(["localhost"])
KNOWN = RemoteAccess(["localhost"], {"localhost": TOKEN, "127.0.0.1": "elsewhere"})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    served = tmp_path / "served"
    served.mkdir()
    git(served, "init", "-q", "--bare", "-b", "trunk", "shop.git")
    tree = git(served / "shop.git", "mktree")
    commit = git(served / "shop.git", "commit-tree", tree, "-m", "one")
    git(served / "shop.git", "update-ref", "refs/heads/trunk", commit)
    pem = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    running = GitServer(served, pem)
    yield running
    running.close()


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return tmp_path / "ours" / "shop"


def fetch(server: GitServer, kind: str, ours: Path, access: RemoteAccess = HERE, **limits: float) -> Fetched:
    address = parse_address(f"{server.address}/{kind}/shop.git")
    return clone_address(address, ours, access=access, limits=FetchLimits(**limits))  # type: ignore[arg-type]  # seconds


def test_a_repository_comes_in_with_the_token_of_its_host_and_its_results_go_out(server: GitServer, ours: Path) -> None:
    found = fetch(server, "closed", ours, KNOWN)
    assert found.branch == "trunk"
    push_commit(ours, parse_address(f"{server.address}/closed/shop.git"), found.head, "aiswe/run-1", KNOWN)
    other = git(ours, "commit-tree", f"{found.head}^{{tree}}", "-m", "on a newer base")
    with pytest.raises(SourceRefused, match="nothing is ever forced: rename or delete"):
        push_commit(ours, parse_address(f"{server.address}/closed/shop.git"), other, "aiswe/run-1", KNOWN)
    refs = git(server.folder / "shop.git", "for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    assert refs == [f"{found.head} refs/heads/aiswe/run-1", f"{found.head} refs/heads/trunk"]


@pytest.mark.parametrize(
    ("kind", "access", "means"),
    [
        ("closed", HERE, "Access is refused: check AISWE_GIT_TOKENS"),
        ("closed", RemoteAccess(["localhost"], {"localhost": "wrong"}), "Access is refused: check AISWE_GIT_TOKENS"),
        ("closed", RemoteAccess(["localhost"], {"other.example": TOKEN}), "Access is refused"),
        ("403", HERE, "Access is refused"),
        ("404", HERE, "There is no git repository there"),
        ("200", HERE, "this is the address of a page"),
        ("429", HERE, "busy or in trouble: try again later"),
        ("503", HERE, "busy or in trouble: try again later"),
        ("moved", KNOWN, "a redirect, which is not followed"),
        ("open", RemoteAccess(), "AISWE_GIT_HOSTS"),
    ],
)
def test_what_a_server_answers_is_said_with_the_address_and_a_way_out(
    server: GitServer, ours: Path, kind: str, access: RemoteAccess, means: str
) -> None:
    with pytest.raises(SourceRefused) as refused:
        fetch(server, kind, ours, access)
    said = str(refused.value)
    assert said.startswith(f"{server.address}/{kind}/shop.git: ")
    assert means in said
    assert TOKEN not in said
    assert not any(path.startswith("/open") for path, _ in server.seen)
    assert list(ours.parent.glob("*")) == []


def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(
    server: GitServer, ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(SourceRefused, match=r"certificate is not trusted .* SSL_CERT_FILE"):
        fetch(server, "closed", ours, KNOWN)
    assert server.seen == []


def test_a_server_that_hangs_is_left_and_nothing_of_it_stays(server: GitServer, ours: Path) -> None:
    with pytest.raises(SourceRefused, match=r"did not end within 1 s\. .*AISWE_IMPORT_SECONDS"):
        fetch(server, "hangs", ours, seconds=1)
    assert list(ours.parent.glob("*")) == []
