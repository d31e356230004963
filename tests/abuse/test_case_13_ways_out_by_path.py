"""Case 13: `..`, absolute, encoded, NUL, Unicode and endless paths, symbolic and hard links, and folders that turn into
links.

Every place that takes a path from a model or from the sandbox is tried: replies, the worktree, files put into and taken
out of a sandbox, the copy of a folder into it. There is no download by path and no archive export in the product:
stored content is asked for by its hash (tests/dashboard). An audit hook of the interpreter counts files opened outside:
none.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.replies.paths import BadPath, check_path
from agents.workspace.git import GitError
from agents.workspace.inside import read_inside
from agents.workspace.store import Store
from agents.workspace.worktree import Worktree
from sandbox.base import PathRefused, Sandbox, SandboxError
from tests.abuse.traversal import spellings
from tests.tables import each_row

PATHS = spellings()
_watched: list[tuple[Path, list[str]]] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _watched or event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink"):
        return
    path = args[0]
    if isinstance(path, (str, bytes)):
        text = os.fsdecode(path)
        for root, seen in _watched:
            # Opened relative to a folder's descriptor, a name without a slash cannot leave that folder, unless it is
            # "..".
            inside = ("/" not in text and text != "..") or Path(os.path.realpath(text)).is_relative_to(root)
            if not inside:
                seen.append(text)


sys.addaudithook(_hook)


@contextlib.contextmanager
def watching(root: Path) -> Iterator[list[str]]:
    """Names of files touched outside `root` while the block lasts."""
    entry: tuple[Path, list[str]] = (root.resolve(), [])
    _watched.append(entry)
    try:
        yield entry[1]
    finally:
        _watched.remove(entry)


def test_there_are_more_than_a_hundred_spellings() -> None:
    assert len(PATHS) > 150
    assert any(len(path) >= 4_096 for path in PATHS)


@each_row("path", PATHS, ids=[str(number) for number in range(len(PATHS))])
def test_a_path_in_a_reply_is_refused_or_stays_inside(path: str) -> None:
    try:
        plain = check_path(path)
    except BadPath:
        return
    assert not plain.startswith("/")
    assert ".." not in plain.split("/")
    assert ".git" not in plain.lower().split("/")


def test_nothing_outside_a_worktree_is_opened_for_any_of_them(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b" / "tree"
    root.mkdir(parents=True)
    tree = Worktree(root, Store(tmp_path / "none"))
    with watching(root) as outside:
        for path in PATHS:
            with contextlib.suppress(GitError, OSError, UnicodeEncodeError, ValueError):
                tree.write({path: "got out"})
            with contextlib.suppress(OSError, UnicodeEncodeError, ValueError):
                read_inside(root, path)
    assert outside == []
    assert [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_relative_to(root)] == []


def test_links_in_a_worktree_lead_nowhere(tmp_path: Path) -> None:
    root, other = tmp_path / "tree", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (other / "secret.txt").write_text("secret")
    (root / "folder").symlink_to(other)
    (root / "file.txt").symlink_to(other / "secret.txt")
    os.link(other / "secret.txt", root / "hard.txt")
    tree = Worktree(root, Store(tmp_path / "none"))
    for path in ("folder/secret.txt", "folder/new.txt", "folder/deep/new.txt", "file.txt"):
        with pytest.raises(GitError, match="through a link"):
            tree.write({path: "got out"})
        assert read_inside(root, path) is None
    tree.write({"hard.txt": "mine"})  # the other end of a hard link keeps what it held
    assert (other / "secret.txt").read_text() == "secret"
    assert (root / "hard.txt").read_text() == "mine"
    assert sorted(path.name for path in other.iterdir()) == ["secret.txt"]


def test_a_folder_that_turns_into_a_link_again_and_again_is_never_followed(tmp_path: Path) -> None:
    root, other = tmp_path / "tree", tmp_path / "other"
    (root / "real").mkdir(parents=True)
    other.mkdir()
    (other / "x.txt").write_text("secret")
    place, done = root / "place", threading.Event()

    def swap() -> None:
        while not done.is_set():
            for target in (other, root / "real"):
                with contextlib.suppress(OSError):
                    (root / "next").symlink_to(target)
                    os.rename(root / "next", place)
            with contextlib.suppress(OSError):
                place.unlink()
                place.mkdir()
            with contextlib.suppress(OSError):
                place.rmdir()

    thread = threading.Thread(target=swap, daemon=True)
    thread.start()
    try:
        read = []
        for _ in range(400):
            with contextlib.suppress(GitError, OSError):
                Worktree(root, Store(tmp_path / "none")).write({"place/x.txt": "got out"})
            with contextlib.suppress(OSError):
                read.append(read_inside(root, "place/x.txt"))
            with contextlib.suppress(OSError):
                os.unlink(root / "real" / "x.txt")
    finally:
        done.set()
        thread.join(5)
    assert (other / "x.txt").read_text() == "secret"
    assert b"secret" not in read
    assert sorted(path.name for path in other.iterdir()) == ["x.txt"]


def test_files_put_into_a_sandbox_stay_in_its_workspace(box: Sandbox) -> None:
    taken = []
    for path in PATHS:
        try:
            box.put({path: b"got out"})
            taken.append(path)
        except SandboxError:
            continue  # refused before anything was sent, or inside by its file system
    found = box.exec(
        ["find", "/", "-xdev", "-name", "outside.txt", "-not", "-path", "/workspace/*", "-not", "-path", "/proc/*"]
    )
    assert found.out.strip() == ""
    assert "got out" not in box.exec(["cat", "/etc/passwd"]).out
    assert not [path for path in taken if path.startswith("/") or ".." in path.replace("\\", "/").split("/")]


def test_files_taken_out_of_a_sandbox_come_from_its_workspace(box: Sandbox, tmp_path: Path) -> None:
    made = box.exec(
        [
            "sh",
            "-c",
            "ln -s /etc etc; ln -s /etc/passwd pw; ln -s / root; ln -s ../../../../etc up; ln /etc/passwd "
            "hard || true; mkfifo pipe; ls",
        ]
    )
    assert "etc" in made.out
    inside = box.exec(["cat", "/etc/passwd"]).out.encode()
    for path in ("etc/passwd", "pw", "root/etc/passwd", "up/passwd", "pipe", "hard"):
        got: dict[str, bytes] = {}
        with contextlib.suppress(PathRefused, SandboxError):
            got = box.get([path])
        assert inside not in got.values()
        if path != "hard":
            with contextlib.suppress(PathRefused, SandboxError):
                box.put({f"{path}/x" if path != "pw" else path: b"got out"})
    assert "got out" not in box.exec(["sh", "-c", "cat /etc/passwd /etc/x 2>/dev/null"]).out
    for path in PATHS:
        with contextlib.suppress(PathRefused, SandboxError):
            assert all(b"root:" not in content for content in box.get([path]).values())


def test_a_copied_folder_takes_no_link_along(box: Sandbox, tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret.txt", tmp_path / "tree"
    secret.write_text("the host's secret")
    (folder / "sub").mkdir(parents=True)
    (folder / "plain.txt").write_text("plain")
    (folder / "link.txt").symlink_to(secret)
    (folder / "sub" / "up").symlink_to(tmp_path)
    box.mirror(folder)
    shown = box.exec(["sh", "-c", "find . -type f; cat link.txt sub/up/secret.txt 2>/dev/null"]).out
    assert "plain.txt" in shown
    assert "the host's secret" not in shown


def test_a_folder_swapped_inside_a_sandbox_is_never_followed(box: Sandbox) -> None:
    swap = (
        "import os, threading, time\n"
        "def swap():\n"
        "    end = time.time() + 6\n"
        "    while time.time() < end:\n"
        "        for make in (lambda: os.symlink('/etc', 'place'), lambda: os.mkdir('place')):\n"
        "            try:\n"
        "                os.path.islink('place') and os.unlink('place')\n"
        "                os.path.isdir('place') and os.rmdir('place')\n"
        "                make()\n"
        "            except OSError:\n"
        "                pass\n"
        "swap()\n"
    )
    worker = threading.Thread(target=lambda: box.exec(["python", "-c", swap], seconds=10), daemon=True)
    worker.start()
    read: list[bytes] = []
    for _ in range(25):
        with contextlib.suppress(PathRefused, SandboxError):
            read += box.get(["place/passwd"]).values()
        with contextlib.suppress(PathRefused, SandboxError):
            box.put({"place/aiswe-got-out": b"x"})
    worker.join(15)
    assert not [content for content in read if b"root:" in content]
    assert "aiswe-got-out" not in box.exec(["ls", "/etc"]).out
