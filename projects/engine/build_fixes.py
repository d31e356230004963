"""Repeating in the sandbox what a log says failed, and planning the fix of what does fail here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from django.db import transaction

from agents.engine.baseline import configured
from agents.engine.rebuild import Builder, Rebuilt
from agents.languages.registry import DEFAULT, language, main_language
from agents.repair.build_log import CRASH, BuildCause
from agents.workspace.worktree import Worktree
from projects.engine.sandboxes import fitted, name_for
from projects.engine.test_setups import packages_of, test_setup_of
from projects.models import Baseline, Project, RequirementDocument, Run
from projects.services.planning.build_logs import acceptance_of
from projects.services.planning.request_work import starts_at
from projects.services.planning.small_work import plan_document
from projects.services.work.locks import lock_project
from projects.storage.packages import ProjectSupply
from projects.storage.paths import repository_of
from sandbox.base import Sandbox
from sandbox.paths import regular_files
from sandbox.registry import open_backend

NOT_SEEN = "What the log says failed was not seen to fail here"


def repeat(document: RequirementDocument) -> Run | None:
    """Repeat the failure of a document, and plan the fix when it is seen; else a person decides by confirming it.

    A program's trace needs no repetition: the test that is written first repeats it. Raises what the sandbox raises.
    """
    cause, project, by = document.start["cause"], document.project, document.created_by
    if by is None or document.status != RequirementDocument.Status.EXTRACTED:
        return None
    repository, name = repository_of(project), f"build-{document.pk}"
    tree = repository.worktree(name, starts_at(document) or repository.base_head())
    try:
        with ExitStack() as opened:
            found = _builder(project, tree, opened).repeat(cause)
    finally:
        repository.remove(name)
    if found.ok is not False and cause["kind"] != CRASH:
        leave_to_a_person(document, found.said or f"{found.title} passes on {project.base_branch}.", found)
        return None
    with transaction.atomic():
        lock_project(project.pk)
        document.refresh_from_db(from_queryset=RequirementDocument.every.select_for_update(no_key=True))
        if document.status != RequirementDocument.Status.EXTRACTED:
            return None  # somebody decided while it was repeated
        seen = found.ok is False
        document.start |= found.to_json() | {"reproduced": seen, "check": found.title if seen else ""}
        document.notes = [*document.notes, f"Seen to fail here: {found.title}." if seen else "A test repeats it first."]
        document.save(update_fields=["start", "notes"])
        wanted = acceptance_of(BuildCause(**cause), found.title if seen else "")
        document.requirements.update(acceptance=wanted)
        return plan_document(document, by=by)


def leave_to_a_person(document: RequirementDocument, why: str, found: Rebuilt | None = None) -> None:
    """Nothing is planned before a person confirms the document, who is told why."""
    document.start |= (found.to_json() if found else {}) | {"reproduced": False, "said": why}
    document.notes = [*document.notes, f"{NOT_SEEN}; confirm it to have it fixed all the same. {why}"[:1000]]
    document.save(update_fields=["start", "notes"])


def _builder(project: Project, tree: Worktree, opened: ExitStack) -> Builder:
    from sandbox.container_build import try_container  # on use: it takes the Docker client along

    baseline, repository = Baseline.usable(project), repository_of(project)
    there = [path for path, _, _ in regular_files(tree.path)]
    named = str(baseline.layout.get("language", "")) if baseline else main_language(there)
    spoken = language(named or DEFAULT)

    def sandbox(packages: Sequence[str]) -> Sandbox:
        wanted = [*packages_of(project), *packages]
        fetched = ProjectSupply(project).fetch(wanted) if wanted else None
        backend = fitted(open_backend(name_for(project)), project)
        return opened.enter_context(backend.open(packages=fetched, label=tree.path.name))

    setup = configured(test_setup_of(project), repository)
    return Builder(tree.path, sandbox, ProjectSupply(project), spoken, setup, try_container)
