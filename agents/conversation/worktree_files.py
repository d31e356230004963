"""The files of a conversation in a worktree of the product: nobody's checkout is touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agents.conversation.contracts import FilesRefused, NotText
from agents.conversation.execution import LEFT
from agents.conversation.state import FileChange
from agents.workspace.git import GitError
from agents.workspace.inside import read_inside
from agents.workspace.worktree import Worktree
from sandbox.paths import regular_files


class WorktreeFiles:
    """Implements agents.conversation.contracts.Files."""

    def __init__(self, tree: Worktree) -> None:
        self.tree = tree

    def paths(self) -> Sequence[str]:
        found = (path for path, _, _ in regular_files(self.tree.path))
        return [path for path in found if not LEFT & set(path.split("/")[:-1])]

    def read(self, path: str) -> str | None:
        content = read_inside(self.tree.path, path)
        return None if content is None else text_of(path, content)

    glance = read

    def refusal(self, changes: Sequence[FileChange]) -> str:
        return ""

    def write(self, changes: Sequence[FileChange]) -> None:
        try:
            self.tree.write({change.path: change.new for change in changes if change.new is not None})
            for change in changes:
                if change.new is None:
                    self.tree.remove(change.path)
        except (GitError, OSError) as refused:
            raise FilesRefused(str(refused)) from None

    def folder(self) -> Path:
        return self.tree.path


def text_of(path: str, content: bytes) -> str:
    """The text of a file with the line ends it has. Raises NotText."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise NotText(f"'{path}' is not a text file ({len(content):,} bytes).")
    return text
