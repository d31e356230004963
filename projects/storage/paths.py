"""Where things lie on disk; everything below AISWE_HOME."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from agents.workspace.git import CommitSettings
from agents.workspace.guide import GUIDE, guide
from agents.workspace.repository import FirstCommit, Repository
from projects.models import Project, Run


def home() -> Path:
    """The folder that holds all the product writes."""
    return Path(settings.AISWE_HOME)


def repository_path(project: Project) -> Path:
    """A project's repository."""
    return home() / "repositories" / project.slug


def repository_of(project: Project, run: Run | None = None, *, merging: bool = False) -> Repository:
    """A project's repository with its worktrees: at the branch of a run or chat, or at the base branch.

    What is merged in a run moves the base branch where the project says so; a chat does only while it is `merging`.
    """
    kind = run.kind if run is not None else ""
    word = {Run.Kind.BUILD: "run", Run.Kind.CHAT: "chat"}.get(Run.Kind(kind)) if kind else None
    return Repository(
        repository_path(project),
        home() / "worktrees" / project.slug,
        base=project.base_branch,
        line=f"aiswe/{word}-{run.pk}" if run is not None and word else "",
        updates_base=project.updates_base and (merging or kind != Run.Kind.CHAT),
        settings=CommitSettings(**project.commit_settings),
    )


def ensure_repository(project: Project, run: Run | None = None) -> Repository:
    """The repository, seen to be usable; a new one is only made for a project that began with nothing.

    Raises RepositoryDamaged.
    """
    begun = Run.objects.filter(project=project).exclude(base_commit="").exists()
    repository = repository_of(project, run)
    planned = [path for files in run.tasks.values_list("files", flat=True) for path in files] if run is not None else []
    first = None if repository.is_there() else FirstCommit(guide_of(project, planned))
    repository.ensure(project.name, new=not begun and not project.source and not project.recipe, first=first)
    return repository


def guide_of(project: Project, paths: Iterable[str]) -> dict[str, str]:
    """The guide for those who work on a repository that begins with these files, or is to have them, by its path."""
    return {GUIDE: guide(project.name, project.base_branch, project.house_rules, paths)}


def scenarios_folder() -> Path:
    """Recordings that ship with the product."""
    return Path(settings.BASE_DIR) / "agents" / "llm" / "scenarios"


def scenario_path(name: str) -> Path:
    """A recording by name (shipped with the product) or by folder."""
    given = Path(name)
    return given if given.is_absolute() else scenarios_folder() / name
