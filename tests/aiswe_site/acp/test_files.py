"""The files of an editor's folder: what is seen of it, and that nothing but the editor writes it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.conversation.contracts import FilesRefused, NotText
from agents.conversation.state import FileChange
from aiswe_site.acp.editor import EditorRefused
from aiswe_site.acp.files import NO_WRITING, EditorFiles
from aiswe_site.acp.sessions import workplace_of
from projects.errors import BadInput


class Buffers:
    """An editor that holds texts; it refuses to write what `refuses` names."""

    def __init__(self, *, can: bool = True, refuses: str = "") -> None:
        self.texts: dict[str, str] = {}
        self.reads = self.writes = can
        self.session, self.client, self.refuses = "s", self, refuses

    def ask(self, request: Coroutine[Any, Any, Any], **_: Any) -> Any:
        return asyncio.run(request)

    async def read_text_file(self, *, session_id: str, path: str) -> Any:
        if path not in self.texts:
            raise EditorRefused("not open")
        return SimpleNamespace(content=self.texts[path])

    async def write_text_file(self, *, session_id: str, path: str, content: str) -> None:
        if self.refuses and path.endswith(self.refuses):
            raise EditorRefused("it is locked")
        self.texts[path] = content


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    (place / "app").mkdir(parents=True)
    (place / "app" / "main.txt").write_text("one\n")
    (place / "README.md").write_text("# Read me\n")
    (place / "node_modules").mkdir()
    (place / "node_modules" / "x.js").write_text("x\n")
    (place / "picture.bin").write_bytes(b"\x00\x01")
    (place / "ignored.log").write_text("x\n")
    (place / ".gitignore").write_text("*.log\n")
    return place


def files_of(folder: Path, editor: Any = None) -> EditorFiles:
    return EditorFiles(editor or Buffers(), folder, folder.parent / "copy")


def as_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


def test_a_plain_folder_is_seen_without_what_tools_leave_behind(folder: Path) -> None:
    seen = [".gitignore", "README.md", "app/main.txt", "ignored.log", "picture.bin"]
    assert files_of(folder).paths() == seen


def test_of_a_checkout_what_git_ignores_is_left_alone(folder: Path) -> None:
    as_repository(folder)
    files = files_of(folder)
    assert files.paths() == [".gitignore", "README.md", "app/main.txt", "picture.bin"]
    with pytest.raises(NotText, match="the repository ignores it"):
        files.read("ignored.log")
    assert files_of(folder / "app").paths() == ["main.txt"]


def test_a_folder_that_the_repository_around_it_ignores_is_a_plain_one(folder: Path) -> None:
    as_repository(folder.parent)
    (folder.parent / ".gitignore").write_text("*\n")
    files = files_of(folder)
    assert "README.md" in files.paths()
    assert files.read("README.md") == "# Read me\n"


def test_a_repository_runs_nothing_when_it_is_looked_at(folder: Path) -> None:
    as_repository(folder)
    trap = folder.parent / "ran"
    subprocess.run(["git", "config", "core.fsmonitor", f"touch {trap}; false"], cwd=folder, check=True)
    files_of(folder).paths()
    assert not trap.exists()


def test_a_link_and_a_picture_are_no_text(folder: Path) -> None:
    (folder.parent / "outside.txt").write_text("theirs\n")
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    (folder / "up").symlink_to(folder.parent)
    files = files_of(folder)
    for path in ("link.txt", "up/outside.txt", "picture.bin"):
        with pytest.raises(NotText):
            files.read(path)
    assert "link.txt" not in files.paths()
    assert "is not written" in files.refusal([FileChange("up/new.txt", None, "x\n")])


def test_the_editor_calls_its_folder_as_it_likes(folder: Path) -> None:
    (folder.parent / "linked").symlink_to(folder)
    editor = Buffers()
    files = files_of(folder.parent / "linked", editor)
    files.write([FileChange("new.txt", None, "x\n")])
    assert list(editor.texts) == [str(folder.parent / "linked" / "new.txt")]


def test_an_editor_that_cannot_write_or_delete_is_not_asked_to(folder: Path) -> None:
    assert files_of(folder, Buffers(can=False)).refusal([FileChange("a.txt", None, "x\n")]) == NO_WRITING
    gone = FileChange("README.md", "# Read me\n", None)
    with pytest.raises(FilesRefused, match=r"delete README\.md there yourself"):
        files_of(folder).write([gone])
    assert (folder / "README.md").exists()


def test_what_was_typed_meanwhile_is_not_overwritten(folder: Path) -> None:
    editor = Buffers()
    editor.texts[str(folder / "README.md")] = "# Typed meanwhile\n"
    with pytest.raises(FilesRefused, match="changed in the editor meanwhile"):
        files_of(folder, editor).write([FileChange("README.md", "# Read me\n", "# Mine\n")])
    assert editor.texts == {str(folder / "README.md"): "# Typed meanwhile\n"}


def test_after_a_refusal_what_was_written_before_is_put_back(folder: Path) -> None:
    editor = Buffers(refuses="main.txt")
    changes = [FileChange("README.md", "# Read me\n", "# New\n"), FileChange("app/main.txt", "one\n", "two\n")]
    with pytest.raises(FilesRefused, match="it is locked"):
        files_of(folder, editor).write(changes)
    assert editor.texts == {str(folder / "README.md"): "# Read me\n"}


def test_the_copy_for_sandboxes_has_what_is_not_saved_and_follows_the_folder(folder: Path) -> None:
    editor = Buffers()
    files = files_of(folder, editor)
    files.write([FileChange("new.txt", None, "not on any disk\n")])
    editor.texts[str(folder / "README.md")] = "# Not saved\n"
    files.read("README.md")
    copy = files.folder()
    assert (copy / "new.txt").read_text() == "not on any disk\n"
    assert (copy / "README.md").read_text() == "# Not saved\n"
    assert (copy / "picture.bin").read_bytes() == b"\x00\x01"
    (folder / "picture.bin").unlink()
    (folder / "app" / "main.txt").write_text("longer than before\n")
    assert files.folder() == copy
    assert not (copy / "picture.bin").exists()
    assert (copy / "app" / "main.txt").read_text() == "longer than before\n"
    assert (folder / "README.md").read_text() == "# Read me\n"
    assert not (folder / "new.txt").exists()


def test_a_file_that_the_disk_does_not_give_is_left_alone_with_a_reason() -> None:
    with pytest.raises(NotText, match="'mem' cannot be read"):
        files_of(Path("/proc/self")).glance("mem")


@pytest.mark.parametrize("cwd", ["/", "~", "home", "home/repositories"])
def test_a_folder_of_a_persons_or_the_products_own_data_is_no_session(tmp_path: Path, settings: Any, cwd: str) -> None:
    settings.AISWE_HOME = tmp_path / "home"
    (tmp_path / "home" / "repositories").mkdir(parents=True)
    with pytest.raises(BadInput, match="open a project's folder"):
        workplace_of(str(Path.home() if cwd == "~" else tmp_path / cwd))


def test_of_the_products_data_in_a_folder_nothing_is_seen(folder: Path) -> None:
    own = folder / "data"
    own.mkdir()
    (own / "secret_key").write_text("a key\n")
    files = EditorFiles(Buffers(), folder, own / "copy", own)  # type: ignore[arg-type]  # stands in for an editor
    assert "data/secret_key" not in files.paths()
    with pytest.raises(NotText, match="leads out of the folder"):
        files.read("data/secret_key")
    assert files.refusal([FileChange("data/secret_key", "a key\n", "another\n")])
