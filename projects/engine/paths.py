"""Where things lie on disk; everything below AISWE_HOME."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from agents.workspace.git import CommitSettings
from agents.workspace.repository import Repository
from projects.models import Project, Run


def home() -> Path:
    """The folder that holds all the product writes."""
    return Path(settings.AISWE_HOME)


def repository_path(project: Project) -> Path:
    """A project's repository."""
    return home() / "repositories" / project.slug


def repository_of(project: Project, run: Run | None = None) -> Repository:
    """A project's repository with its worktrees: at the branch of a run, or at the base branch."""
    return Repository(
        repository_path(project),
        home() / "worktrees" / project.slug,
        base=project.base_branch,
        line=f"aiswe/run-{run.pk}" if run is not None and run.kind == Run.Kind.BUILD else "",
        updates_base=project.updates_base,
        settings=CommitSettings(**project.commit_settings),
    )


def ensure_repository(project: Project, run: Run | None = None) -> Repository:
    """The repository, seen to be usable; a new one is only made for a project that began nothing and imported nothing.

    Raises RepositoryDamaged.
    """
    begun = Run.objects.filter(project=project).exclude(base_commit="").exists()
    repository = repository_of(project, run)
    repository.ensure(project.name, new=not begun and not project.source)
    return repository


def scenarios_folder() -> Path:
    """Recordings that ship with the product."""
    return Path(settings.BASE_DIR) / "agents" / "llm" / "scenarios"


def scenario_path(name: str) -> Path:
    """A recording by name (shipped with the product) or by folder."""
    given = Path(name)
    return given if given.is_absolute() else scenarios_folder() / name
