"""The files of a project at any commit, and where each line of them comes from: task, requirement and thought."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.workspace import blame, export
from agents.workspace.git import GitError
from agents.workspace.store import LINK, SUBMODULE, Entries, Entry, Store
from projects.errors import NotFound
from projects.models import Event, Project, Requirement, Run, Task
from projects.services.audit.vocabulary import Thought
from projects.services.delivery.downloads import Download, branches, commit_of, git_dir_of

MOST_BYTES = 512 * 1024  # of a file that is shown; larger ones are downloaded
MOST_LINES = 5_000
MOST_README = 64 * 1024


@dataclass(frozen=True)
class Place:
    """A path at a commit; `at` is the branch or commit as the address names it."""

    project: Project
    at: str
    commit: str
    path: str = ""

    def below(self, name: str) -> str:
        """The address part of something in this folder."""
        return "/".join(part for part in (self.at, self.path, name) if part)


@dataclass(frozen=True)
class LineOrigin:
    """What one line comes from, as far as this project's own runs know it."""

    commit: str
    subject: str
    task: Task | None = None
    requirements: Sequence[Requirement] = ()
    run: int | None = None
    thought: int | None = None  # the event's number


@dataclass(frozen=True)
class FileView:
    """A file to be shown: its text, or `why` it is not; `origins` has one entry a line, or is empty."""

    entry: Entry
    text: str | None = None
    why: str = ""
    origins: Sequence[LineOrigin | None] = ()
    note: str = ""


@dataclass(frozen=True)
class FolderView:
    """A folder to be shown, folders in it without an entry, with the text of its README.md if it has one."""

    entries: dict[str, Entry | None]
    readme: str = ""


def place(project: Project, where: str) -> Place:
    """The commit and path that an address names: branch or commit, then the path. Raises NotFound."""
    named = [name for name in branches(project) if where == name or where.startswith(f"{name}/")]
    at = max(named, key=len, default=where.partition("/")[0])
    return Place(project, at, commit_of(project, at), where[len(at) :].strip("/"))


def look(where: Place) -> FolderView | FileView:
    """What is at a place. Raises NotFound."""
    entries = _entries(where)
    if entry := entries.get(where.path):
        return _file(where, entry)
    found = blame.folder_at(entries, where.path)
    if where.path and not found:
        raise _missing(where)
    readme = next((entry for name, entry in found.items() if entry and name.lower() == "readme.md"), None)
    shown = readme is not None and readme.is_file and readme.size <= MOST_README
    return FolderView(found, _content(where, readme).decode("utf-8", "replace") if readme and shown else "")


def _entries(where: Place) -> Entries:
    try:
        return Store(git_dir_of(where.project)).listing(where.commit).entries
    except GitError as broken:
        raise NotFound(f"{where.project.name} at {where.at}: {broken}.") from None


def _content(where: Place, entry: Entry) -> bytes:
    content = Store(git_dir_of(where.project)).contents([entry.hash]).get(entry.hash)
    if content is None:
        raise NotFound(f"{where.project.name} at {where.at}: object {entry.hash[:10]} is missing or damaged.")
    return content


def _missing(where: Place) -> NotFound:
    return NotFound(f"{where.project.name} at {where.at}: there is no file {where.path[:200]!r}.")


def _file(where: Place, entry: Entry) -> FileView:
    if entry.mode == SUBMODULE:
        return FileView(entry, why="This is a submodule: another repository, of which only the commit is noted here.")
    if entry.size > MOST_BYTES:
        return FileView(entry, why=f"This file has {entry.size:,} bytes; up to {MOST_BYTES:,} are shown.")
    content = _content(where, entry)
    if b"\0" in content:
        return FileView(entry, why="This is a binary file.")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return FileView(entry, why="This file is not UTF-8 text.")
    if entry.mode == LINK:
        return FileView(entry, why=f"This is a link to {text[:200]!r}.")
    if text.count("\n") > MOST_LINES:
        return FileView(entry, why=f"This file has more than {MOST_LINES:,} lines, and is not shown.")
    try:
        commits = blame.lines_of(git_dir_of(where.project), where.commit, where.path)
        return FileView(entry, text, origins=list(_origins(where.project, commits)))
    except GitError as slow:
        return FileView(entry, text, note=f"Where its lines come from is not shown: {slow}.")


def _origins(project: Project, commits: Sequence[str]) -> Iterator[LineOrigin | None]:
    told = blame.origins(git_dir_of(project), commits)
    # Trailers are text that anybody may write into a commit: they count where they name a run and task of this project.
    wanted = {int(one.run) for one in told.values() if one.run.isdecimal() and len(one.run) < 18}
    runs = set(Run.objects.filter(project=project, pk__in=wanted).values_list("pk", flat=True))
    rows = Task.objects.filter(run__in=runs).prefetch_related("requirements__document")
    tasks = {(task.run_id, task.key): task for task in rows}
    found = {}
    for sha, one in told.items():
        run = int(one.run) if one.run.isdecimal() and len(one.run) < 18 else None
        task = tasks.get((run, one.task)) if run is not None else None
        thought = _thought_before(task, one.event) if task else None
        asked = list(task.requirements.all()) if task else []
        found[sha] = LineOrigin(sha, one.subject, task, asked, task.run_id if task else None, thought)
    for sha in commits:
        yield found.get(sha)


def _thought_before(task: Task, event: str) -> int | None:
    """The last thought of a task before its commit, else the event that the commit names."""
    if not event.isdecimal() or len(event) > 17:
        return None
    rows = Event.objects.filter(task=task, type=Thought.type, seq__lte=int(event)).order_by("-seq")
    return rows.values_list("seq", flat=True).first()


def raw(where: Place) -> Download:
    """One file as it is. Raises NotFound."""
    entry = _entries(where).get(where.path)
    if entry is None or entry.mode == SUBMODULE:
        raise _missing(where)
    pieces = export.streamed(git_dir_of(where.project), "cat-file", "blob", entry.hash)
    return Download(where.path.rpartition("/")[2], "application/octet-stream", pieces)
