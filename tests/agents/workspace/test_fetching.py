"""Code comes in from elsewhere: objects only, and nothing of the source runs or changes."""

import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agents.workspace import fetching
from agents.workspace.addresses import SourceRefused, parse_address, place_of
from agents.workspace.fetching import FetchLimits, PlainFile, RemoteAccess, clone_address, clone_folder, commit_files
from agents.workspace.repository import Repository
from tests.agents.workspace.by_hand import git
from tests.tables import each_row


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "a.py").write_text("A = 1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "branch", "other")
    return folder


def state_of(folder: Path) -> dict[str, bytes | float]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files} | {f"{path} at": path.stat().st_mtime for path in files}


def test_a_repository_becomes_a_bare_one_with_its_branches_as_upstream_s(source: Path, tmp_path: Path) -> None:
    found = clone_folder(source, tmp_path / "ours")
    ours = tmp_path / "ours"
    assert (found.branch, found.head) == ("trunk", git(source, "rev-parse", "HEAD"))
    refs = git(ours, "for-each-ref", "--format=%(refname)").split()
    assert refs == ["refs/heads/trunk", "refs/remotes/origin/other", "refs/remotes/origin/trunk"]
    assert Repository(ours, tmp_path / "trees", base="trunk").files(found.head) == ["a.py"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours", "source"]


def test_hooks_filters_and_settings_of_the_source_neither_run_nor_come_along(source: Path, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    for name in ("post-checkout", "pre-auto-gc", "reference-transaction", "post-index-change"):
        hook = source / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {flag}\n")
        hook.chmod(0o755)
    (source / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    for key in ("filter.evil.clean", "filter.evil.process", "core.fsmonitor", "uploadpack.packObjectsHook"):
        git(source, "config", key, f"sh -c 'echo {key} >> {flag}; cat'")
    (source / "a.py").write_text("A = 2\n")
    before = state_of(source)
    found = clone_folder(source, tmp_path / "ours")
    assert not flag.exists(), flag.read_text()
    assert state_of(source) == before
    assert "evil" not in (tmp_path / "ours" / "config").read_text()
    assert not (tmp_path / "ours" / "hooks").exists()
    assert found.notes == (
        "Left out: 1 edited file and 1 new file uncommitted in source. Commit them to bring them in.",
    )


def test_a_bare_repository_has_no_files_that_could_be_left_out(source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(source), "bare.git")
    assert clone_folder(tmp_path / "bare.git", tmp_path / "ours").notes == ()


def test_a_branch_that_is_not_there_is_refused_with_those_that_are(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match=r"no branch 'main'. There are: other, trunk"):
        clone_folder(source, tmp_path / "ours", "main")
    with pytest.raises(SourceRefused, match="not a valid branch name"):
        clone_folder(source, tmp_path / "ours", "--upload-pack=x")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
    assert clone_folder(source, tmp_path / "ours", "other").branch == "other"


def test_an_empty_repository_and_a_folder_that_is_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    with pytest.raises(SourceRefused, match="no commit yet"):
        clone_folder(tmp_path / "empty", tmp_path / "ours")
    (tmp_path / "plain").mkdir()
    with pytest.raises(SourceRefused, match="no git repository there"):
        clone_folder(tmp_path / "plain", tmp_path / "ours")


def test_a_shallow_clone_and_submodules_are_said(source: Path, tmp_path: Path) -> None:
    (source / "a.py").write_text("A = 2\n")
    git(source, "commit", "-aqm", "two")
    git(tmp_path, "clone", "-q", "--depth=1", source.as_uri(), "shallow")
    git(tmp_path / "shallow", "submodule", "--quiet", "add", source.as_uri(), "sub")
    git(tmp_path / "shallow", "commit", "-qm", "sub")
    found = clone_folder(tmp_path / "shallow", tmp_path / "ours")
    assert [note.split(":")[0] for note in found.notes] == ["It is a shallow clone", "It has submodules"]


def test_too_much_and_too_slow_end_with_a_sentence_and_leave_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceRefused, match="did not end within 0 s"):
        clone_folder(source, tmp_path / "ours", limits=FetchLimits(seconds=0))
    monkeypatch.setattr(fetching, "_size", lambda folder: 2_000_000)
    with pytest.raises(SourceRefused, match="more than 1 MB"):
        clone_folder(source, tmp_path / "ours", limits=FetchLimits(megabytes=1))
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_what_stands_at_the_target_is_never_replaced(source: Path, tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    with pytest.raises(SourceRefused, match="something at ours already"):
        clone_folder(source, tmp_path / "ours")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://example.org/a/b.git", "https://example.org/a/b.git"),
        ("ssh://git@example.org:2222/a", "ssh://git@example.org:2222/a"),
        ("git@example.org:a/b.git", "ssh://git@example.org/a/b.git"),
        ("https://[2606:4700::1111]/a", "https://[2606:4700::1111]/a"),
    ],
)
def test_https_and_ssh_addresses_are_understood(text: str, found: str) -> None:
    assert str(parse_address(text)) == found


@each_row(
    "text",
    [
        "http://example.org/a",
        "file:///etc",
        "git://example.org/a",
        "ext::sh -c id",
        "fd::7",
        "/etc",
        "ftp://example.org/a",
        "https://user:secret@example.org/a",
        "https://token@example.org/a",
        "ssh://git:secret@example.org/a",
        "ssh://-oProxyCommand=id/a",
        "ssh://-l@example.org/a",
        "ssh://git@example.org/-oProxyCommand=id",
        "https://example.org/a?b=c",
        "https://example.org/a b",
        "https://example.org/$(id)",
        "https:///a",
        "https://example.org:99999/a",
        "git@example.org:-oProxyCommand=id",
        "https://exa\nmple.org/a",
    ],
)
def test_other_addresses_are_refused_in_a_sentence_without_their_secret(text: str) -> None:
    with pytest.raises(SourceRefused) as refused:
        clone_address(parse_address(text), Path("/nonexistent/x"))
    assert str(refused.value).endswith(".")
    assert "secret" not in str(refused.value)


@each_row(
    "place",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "::ffff:192.168.0.1", "0.0.0.0", "224.0.0.1"],
)
def test_a_private_address_is_refused_unless_its_host_is_listed(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, None, None, "", ("93.184.215.14", port)), (0, None, None, "", (place, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    address = parse_address("https://inside.example/a")
    with pytest.raises(SourceRefused, match="private address"):
        place_of(address)
    assert place_of(address, ["INSIDE.example"]) == "93.184.215.14"


def test_credentials_go_to_their_host_alone_and_never_on_a_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[list[str], dict[str, str]]] = []

    def popen(argv: list[str], *, env: dict[str, str], **more: Any) -> Any:
        seen.append((argv, env))
        return real(["false"], env=env, **more) if argv[1] != "init" else real(argv, env=env, **more)

    real = subprocess.Popen
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, **_: [(0, 0, 0, "", ("93.184.215.14", port))])
    monkeypatch.setattr(fetching.subprocess, "Popen", popen)
    tokens = {"example.org": "sesame", "other.example": "elsewhere"}
    with pytest.raises(SourceRefused):
        clone_address(parse_address("https://example.org/a"), tmp_path / "ours", access=RemoteAccess(tokens=tokens))
    argv, env = seen[-1]
    settings = {
        env[f"GIT_CONFIG_KEY_{at}"]: env[f"GIT_CONFIG_VALUE_{at}"] for at in range(int(env["GIT_CONFIG_COUNT"]))
    }
    assert settings["http.followRedirects"] == "false"
    assert settings["protocol.allow"] == "never"
    assert env["GIT_ALLOW_PROTOCOL"] == "https"
    assert settings["http.curloptResolve"] == "example.org:443:93.184.215.14"
    assert settings["http.https://example.org/.extraHeader"].startswith("Authorization: Basic ")
    assert "sesame" not in " ".join(argv)
    assert "elsewhere" not in str(env)
    with pytest.raises(SourceRefused):
        clone_address(
            parse_address("ssh://git@example.org/a"),
            tmp_path / "ours",
            access=RemoteAccess(tokens=tokens, ssh_key="/k 'x'"),
        )
    command = seen[-1][1]["GIT_SSH_COMMAND"]
    assert "-o BatchMode=yes -o StrictHostKeyChecking=yes" in command
    assert "-o HostName=93.184.215.14 -o HostKeyAlias=example.org" in command
    assert "sesame" not in str(seen[-1])
    with pytest.raises(SourceRefused):
        clone_address(parse_address("ssh://git@example.org:2222/a"), tmp_path / "ours")
    command = seen[-1][1]["GIT_SSH_COMMAND"]
    assert "HostKeyAlias='[example.org]:2222'" in command  # as ssh-keyscan names it
    assert "-o IdentityFile=none" in command  # not the keys of whoever runs the server


def test_plain_files_become_a_first_commit_byte_for_byte(tmp_path: Path) -> None:
    files = [
        PlainFile(".gitignore", b"*.log\n"),
        PlainFile(".gitattributes", b"* text=auto eol=crlf\n"),
        PlainFile("kept.log", b"one\r\ntwo\n"),
        PlainFile('odd "name"\\ ü', b"\x00\xff"),
        PlainFile("run", b"#!/bin/sh\n", "100755"),
        PlainFile("link", b"run", "120000"),
    ]
    found = commit_files(files, tmp_path / "ours", "", "Import of x")
    ours = tmp_path / "ours"
    rows = git(ours, "-c", "core.quotePath=false", "ls-tree", "-r", "-z", found.head).split("\0")
    assert {row.split("\t")[1]: row.split()[0] for row in rows if row} == {file.path: file.mode for file in files}
    held = Repository(ours, tmp_path / "trees")
    blobs = held.blobs(found.head)
    assert held.contents([blobs["kept.log"].hash]) == {blobs["kept.log"].hash: b"one\r\ntwo\n"}


@each_row(
    ("said", "means"),
    [
        ("To ssh://h/r\n ! [rejected] 7a401c93b5 -> run-1 (fetch first)", "nothing is ever forced"),
        ("To ssh://h/r\n ! [rejected] 9d302f -> run-1 (non-fast-forward)", "nothing is ever forced"),
        ("fatal: unable to access 'https://h/r/': The requested URL returned error: 403", "Access is refused"),
        ("fatal: unable to update url base: HTTP 302", "redirect"),
        ("fatal: unable to access 'https://h/r/403/301/': Could not resolve host: h", "does not answer"),
        (
            "Host key for h has changed and ...\r\nHost key verification failed.",
            "another key than the one that is known",
        ),
        ("No ED25519 host key is known for h ...\r\nHost key verification failed.", "ssh-keyscan"),
        ('Load key "k": bad permissions\r\nPermission denied (publickey).', "chmod 600"),
    ],
)
def test_digits_of_a_commit_are_no_answer_of_a_server(said: str, means: str) -> None:
    assert means in fetching._in_words(said)
