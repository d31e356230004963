"""Any commit of a project as a file: zip, tar.gz, bundle or the patch of one task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents.workspace import export
from agents.workspace.git import GitError, git, is_branch_name
from projects.errors import BadInput, NotFound
from projects.models import Project, Run, Task
from projects.storage.paths import repository_of

FORMATS = tuple(export.FORMATS)
RESULTS = "aiswe/run-"  # the branch of a run's results


@dataclass(frozen=True)
class Download:
    """A file that is made while it is sent; `pieces` may raise GitError and is closed by whoever reads it."""

    name: str
    type: str
    pieces: Iterator[bytes]


def git_dir_of(project: Project) -> Path:
    """The folder with git's files. Raises NotFound while nothing was built or imported."""
    folder = repository_of(project).git_dir
    if not (folder / "HEAD").is_file():
        raise NotFound(f"{project.name} has no code yet: it begins with the first build.")
    return folder


def branches(project: Project) -> dict[str, str]:
    """The branches of a project and the commits they stand at; {} while there is no repository."""
    try:
        folder = git_dir_of(project)
    except NotFound:
        return {}
    rows = git(folder, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads").stdout.splitlines()
    named = (row.split(" ", 1) for row in rows)
    return {name: sha for sha, name in named if is_branch_name(name)}


def commit_of(project: Project, revision: str = "") -> str:
    """The full hash of a branch or commit; of the base branch by default. Raises NotFound."""
    folder = git_dir_of(project)
    try:
        return export.commit_at(folder, revision or repository_of(project).head())
    except GitError as unknown:
        raise NotFound(f"{project.name}: {unknown}.") from None


def result_of(run: Run) -> str:
    """The commit that a build ended with, or stands at; "" when it merged nothing."""
    branch = branches(run.project).get(f"{RESULTS}{run.pk}")
    if branch:
        return branch
    merged = run.tasks.filter(status=Task.Status.MERGED).exclude(commit="")
    return merged.order_by("-finished_at", "-ordinal").values_list("commit", flat=True).first() or ""


def download(project: Project, form: str, revision: str = "") -> Download:
    """A commit as a file. Raises NotFound, and BadInput for a format or a tree that cannot be exported."""
    if form not in export.FORMATS:
        raise BadInput(f"Unknown format {form[:20]!r}: choose {', '.join(FORMATS)}.")
    folder, commit = git_dir_of(project), commit_of(project, revision)
    name = f"{project.slug}-{commit[:10]}.{form}"
    if form == "bundle":
        branch = revision if revision in branches(project) else project.base_branch
        return Download(name, export.TYPES[form], export.bundle_of(folder, commit, branch))
    try:
        export.entries(folder, commit)  # refused before the first byte is sent
    except GitError as refused:
        raise BadInput(f"{project.name}: {refused}.") from None
    return Download(name, export.TYPES[form], export.FORMATS[form](folder, commit))


def patch_of(task: Task) -> Download:
    """The commit of one merged task as `git am` takes it. Raises NotFound."""
    if not task.commit:
        raise NotFound(f"{task.key} is not merged: it has no commit to take over.")
    commit = commit_of(task.run.project, task.commit)
    options = ("--stdout", "--full-index", "--binary", "--no-ext-diff", "--no-textconv", "--no-signature")
    text = export.streamed(git_dir_of(task.run.project), "format-patch", "-1", *options, commit)
    return Download(f"{task.run.project.slug}-{task.key}.patch", "text/x-patch; charset=utf-8", text)
