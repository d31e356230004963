"""The files of an editor's folder: read as the editor has them, written by the editor alone."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from agents.conversation.contracts import FilesRefused, NotText
from agents.conversation.execution import LEFT
from agents.conversation.state import FileChange
from agents.conversation.worktree_files import text_of
from agents.replies.paths import BadPath, check_path
from agents.workspace.git import GitError, git
from agents.workspace.inside import read_inside
from aiswe_site.acp.editor import Editor, EditorRefused

MOST_FILES = 20_000
LARGEST_COPIED = 20_000_000  # bytes; a larger file is left out of a sandbox's copy
NO_WRITING = "The editor does not let agents write files (fs/write_text_file): nothing is written."
NO_DELETING = "An editor cannot be asked to delete a file: delete {} there yourself."


class EditorFiles:
    """Implements agents.conversation.contracts.Files. Nothing in the folder is ever written from here.

    `given` is the folder as the editor calls it, `root` the same without links, `copy` a place of the product's own,
    `own` the product's data, of which nothing is seen.
    """

    def __init__(self, editor: Editor, given: Path, copy: Path, own: Path | None = None) -> None:
        self.editor, self.given, self.root, self.copy = editor, given, given.resolve(), copy
        self._own = own or copy
        self._met: set[str] = set()  # what went through the editor: it may hold more than the disk

    def paths(self) -> Sequence[str]:
        """What git tracks or would: in a plain folder all but what tools leave behind."""
        folders: dict[str, bool] = {}

        def is_own(path: str) -> bool:
            above = path.rpartition("/")[0]
            if above not in folders:
                place = os.path.join(self.root, above)
                folders[above] = not LEFT & set(above.split("/")) and _is_real(place) and not self._is_hidden(place)
            return folders[above] and _is_plain(path) and _is_regular(f"{self.root}/{path}")

        unsaved = {path for path in self._met if not os.path.lexists(self.root / path)}
        return sorted({*islice(filter(is_own, self._listed()), MOST_FILES), *unsaved})

    def read(self, path: str) -> str | None:
        """As the editor has it, with what is not saved yet; from the disk where it does not say."""
        there = self._is_file(path)
        if there and path not in self._met and path not in self._listed(path):
            raise NotText(f"'{path}' is left alone: the repository ignores it.")
        if not there and self._is_link_or_out(path):
            raise NotText(f"'{path}' is a link, or leads out of the folder.")
        if (text := self._from_editor(path)) is not None:
            return text
        return self._from_disk(path) if there else None

    def glance(self, path: str) -> str | None:
        """From the disk: an editor may open whatever it is asked for."""
        return self.read(path) if path in self._met else self._from_disk(path)

    def refusal(self, changes: Sequence[FileChange]) -> str:
        """Why the editor cannot make these changes."""
        if not self.editor.writes:
            return NO_WRITING
        gone = [change.path for change in changes if change.new is None]
        if gone:
            return NO_DELETING.format(", ".join(gone[:5]))
        bad = [change.path for change in changes if not _is_plain(change.path) or self._is_link_or_out(change.path)]
        return f"'{bad[0]}' is a link, or leads out of the folder: it is not written." if bad else ""

    def write(self, changes: Sequence[FileChange]) -> None:
        """Have the editor write them all, or none: what was written before a refusal is put back."""
        if trouble := self.refusal(changes):
            raise FilesRefused(trouble)
        for change in changes:
            if _lines_of(self.read(change.path)) != _lines_of(change.old):
                raise FilesRefused(f"{change.path} was changed in the editor meanwhile: read it again.")
        done: list[FileChange] = []
        for change in changes:
            try:
                self._write(change.path, change.new or "")
            except EditorRefused as refused:
                left = self._put_back(done)
                raise FilesRefused(f"The editor did not write {change.path}: {refused}.{left}") from None
            done.append(change)

    def folder(self) -> Path:
        """A copy for sandboxes, brought up to date."""
        wanted = set(self.paths())
        self.copy.mkdir(parents=True, exist_ok=True)
        for path in list(_walked(self.copy)):
            if path not in wanted:
                (self.copy / path).unlink(missing_ok=True)
        for path in wanted:
            self._take(path)
        return self.copy

    def close(self) -> None:
        """Take the copy away."""
        shutil.rmtree(self.copy, ignore_errors=True)

    def place(self, path: str) -> str:
        """The path as the protocol wants it: absolute."""
        return str(self.given / path)

    def _write(self, path: str, text: str) -> None:
        session, client = self.editor.session, self.editor.client
        self.editor.ask(
            client.write_text_file(session_id=session, path=self.place(path), content=text), to_the_end=True
        )
        self._met.add(path)

    def _put_back(self, done: Sequence[FileChange]) -> str:
        left = []
        for change in done:
            try:
                if change.old is not None:
                    self._write(change.path, change.old)
            except EditorRefused:
                left.append(change.path)
            else:
                left += [change.path] if change.old is None else []
        return f" Look at {', '.join(left)}: written before, and still there." if left else ""

    def _from_editor(self, path: str) -> str | None:
        if not self.editor.reads:
            return None
        session, client = self.editor.session, self.editor.client
        try:
            answer = self.editor.ask(client.read_text_file(session_id=session, path=self.place(path)))
        except EditorRefused:
            return None
        self._met.add(path)
        return answer.content

    def _from_disk(self, path: str) -> str | None:
        try:
            content = read_inside(self.root, path)
        except OSError as problem:
            raise NotText(f"'{path}' cannot be read: {problem.strerror}.") from None
        return None if content is None else text_of(path, content)

    def _take(self, path: str) -> None:
        """Bring one file of the copy up to date."""
        source, target = self.root / path, self.copy / path
        text = self._from_editor(path) if path in self._met else None
        there = source.stat() if source.is_file() else None
        if text is None and (there is None or there.st_size > LARGEST_COPIED or _same(there, target)):
            return
        try:
            content = text.encode() if text is not None else read_inside(self.root, path)
        except OSError:
            content = None  # what this account may not read is not in the copy
        if content is None:
            return
        if target.is_dir():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        if there is not None:
            target.chmod(stat.S_IMODE(there.st_mode) | stat.S_IWUSR | stat.S_IRUSR)
            if text is None:
                os.utime(target, ns=(there.st_atime_ns, there.st_mtime_ns))

    def _listed(self, only: str = "") -> Iterator[str]:
        """What git tracks or would, of one file when it is named; in a plain folder everything."""
        top = next((one for one in (self.root, *self.root.parents) if (one / ".git").exists()), None)
        if top is not None:
            below = self.root.relative_to(top).as_posix()
            words = ("ls-files", "-z", "-c", "-o", "--exclude-standard", "--deduplicate", "--", f"{below}/{only}")
            try:
                listed = git(top, *words, options=("--literal-pathspecs",)).stdout.split("\0")
            except GitError:
                pass  # what is no repository, or not ours, is a plain folder
            else:
                found = [one.removeprefix(f"{below}/") for one in listed if one]
                if found or only:
                    yield from found or self._listed()
                    return
                # A folder that the repository around it ignores is a plain one.
        yield from _walked(self.root)

    def _is_file(self, path: str) -> bool:
        return _is_regular(f"{self.root}/{path}") and not self._is_link_or_out(path)

    def _is_link_or_out(self, path: str) -> bool:
        place = self.root / path
        return place.is_symlink() or not _is_real(str(place.parent)) or self._is_hidden(place)

    def _is_hidden(self, place: str | Path) -> bool:
        return Path(place).is_relative_to(self._own)


def _is_real(folder: str) -> bool:
    """Whether no link is on the way to a folder, or to where it would be."""
    return os.path.realpath(folder) == folder.rstrip("/")


def _is_regular(place: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(place).st_mode)
    except OSError:
        return False


def _same(there: os.stat_result, target: Path) -> bool:
    copied = target.stat() if target.is_file() else None
    return copied is not None and (copied.st_size, copied.st_mtime_ns) == (there.st_size, there.st_mtime_ns)


def _lines_of(text: str | None) -> list[str] | None:
    """What counts of a text: an editor may show other line ends than the disk has."""
    return None if text is None else text.splitlines()


def _walked(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in LEFT)
        yield from ((Path(folder) / name).relative_to(root).as_posix() for name in sorted(names))


@lru_cache(2 * MOST_FILES)
def _is_plain(path: str) -> bool:
    try:
        return check_path(path) == path
    except BadPath:
        return False
