"""Where a project uses a package: lines of its code and lists, tasks that name it, and earlier answers about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agents.languages.registry import language_of
from agents.workspace.git import GitError
from agents.workspace.store import Store
from projects.errors import NotFound
from projects.models import Approval, Project, Task
from projects.services.delivery.downloads import git_dir_of
from projects.services.work.approval_requests import stored_subject
from projects.storage.paths import repository_of

MOST_FILES, MOST_BYTES, MOST_LINES = 600, 100_000, 12
LISTS = frozenset({"package.json", "pyproject.toml", "setup.cfg", "requirements.txt", "requirements-dev.txt"})


@dataclass(frozen=True)
class PackageUse:
    """One line that names a package."""

    path: str
    line: int
    text: str


def naming(names: Iterable[str]) -> re.Pattern[str]:
    """What a line of code looks like that imports one of the packages; by their own names, which is a custom alone."""
    words = sorted({form for name in names for form in (name, name.replace("-", "_"), name.removeprefix("npm:"))})
    any_of = "|".join(map(re.escape, filter(None, words))) or r"(?!)"
    return re.compile(
        rf"^\s*(?:import|from)\s+(?:{any_of})(?![\w-])|(?:require\(|from\s|import\s)\s*['\"](?:{any_of})(?:['\"/])",
        re.IGNORECASE,
    )


def lines_that_need(text: str, names: Sequence[str]) -> list[str]:
    """Lines of a reply that import one of the packages."""
    wanted = naming(names)
    return list(dict.fromkeys(line.strip()[:200] for line in text.splitlines() if wanted.search(line)))[:MOST_LINES]


def uses_of(project: Project, names: Sequence[str]) -> list[PackageUse]:
    """Lines at the head of the project's base that import one of the packages or list it; none without code."""
    try:
        store, head = Store(git_dir_of(project)), repository_of(project).head()
        entries = store.listing(head).entries
        paths = [path for path, one in entries.items() if one.is_file and one.size <= MOST_BYTES and _is_read(path)]
        texts = store.contents([entries[path].hash for path in paths[:MOST_FILES]])
    except (NotFound, GitError):
        return []
    code, found = naming(names), list[PackageUse]()
    listed = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE)
    for path in paths[:MOST_FILES]:
        wanted = listed if PurePosixPath(path).name in LISTS else code
        text = texts.get(entries[path].hash, b"").decode("utf-8", "replace")
        rows = enumerate(text.splitlines(), 1)
        found += [PackageUse(path, number, row.strip()[:200]) for number, row in rows if wanted.search(row)]
    return found[:MOST_LINES]


def _is_read(path: str) -> bool:
    plain = PurePosixPath(path)
    return language_of(path) is not None or plain.name in LISTS


def tasks_naming(project: Project, names: Sequence[str], but: Task | None = None) -> list[Task]:
    """Other tasks whose plan names one of the packages."""
    plain = {name.lower() for name in names}
    rows = Task.objects.filter(run__project=project).exclude(packages=[]).order_by("-run_id", "ordinal")
    words = re.compile(r"[\w.@/-]+")
    named = [
        row for row in rows if plain & {one[0].lower() for item in row.packages if (one := words.match(str(item)))}
    ]
    return [row for row in named if but is None or row.pk != but.pk][:MOST_LINES]


def earlier_answers(approval: Approval) -> list[Approval]:
    """What people answered about exactly these packages before, in this project."""
    rows = Approval.objects.filter(
        project=approval.project, kind=approval.kind, subject=stored_subject(approval.subject), decided_by__isnull=False
    )
    return list(rows.exclude(pk=approval.pk).select_related("decided_by", "run").order_by("-decided_at")[:5])
