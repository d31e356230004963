"""How an imported repository stands before anything is built on it: its layout, its packages, its tests."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from agents.engine.baseline import configured, first_setup, look, measure_suite
from agents.languages.layouts import RepositoryLayout
from agents.workspace.git import GitError
from agents.workspace.repository import Repository
from projects.engine.base_settings import SETTINGS_FILE, AnswerWanted, checked_edits, repository_settings
from projects.engine.sandboxes import fitted, name_for
from projects.engine.test_setups import setup_from, setup_to_json
from projects.errors import BadInput
from projects.models import Approval, Baseline, Project
from projects.services.accounts.rights import require
from projects.services.audit.sitelog import note
from projects.services.work.approval_requests import ask, close_questions
from projects.services.work.locks import lock_project
from projects.storage.packages import ProjectSupply, names_asked
from projects.storage.paths import repository_of
from projects.workers.queue import enqueue
from sandbox.base import PackageRefused, PackageSet, SandboxError, SandboxPreparing
from sandbox.package_index.errors import IndexUnavailable, NoSuchPackage, PackageUnlisted
from sandbox.package_index.names import Judgement, is_npm, plain_name
from sandbox.registry import open_backend

WAITS_FOR_IMAGE = "It waits for a sandbox"


def measure(project: Project, commit: str = "") -> Baseline:
    """Measure a commit, the newest of the base branch by default; what came of it is stored and returned.

    The tests are run twice, with what a person changed in the setup. The status is READY, UNUSABLE with the reason in
    `problem`, or still MEASURING while a person has not answered the question about packages.
    """
    commit = commit or repository_of(project).head()
    return measure_row(Baseline.objects.create(project=project, commit=commit, setup={"edited": edits_of(project)}))


def request_measure(project: Project, *, by: User, edits: Mapping[str, Any] | None = None) -> Baseline:
    """Have a worker measure the newest commit; `edits` replace what a person changed before. Raises NotAllowed."""
    require(by, project, "project.edit")
    changed = edits_of(project) if edits is None else checked_edits(edits)
    try:
        head = repository_of(project).head()
    except GitError:
        raise BadInput("There is no code to measure yet.") from None
    with transaction.atomic():
        row = Baseline.objects.create(project=project, commit=head, setup={"edited": changed})
        if edits is not None:
            note(by, "baseline.changed", project.slug, changed)
        enqueue("projects.jobs.measure_baseline", row.pk)
    return row


def measure_row(found: Baseline) -> Baseline:
    """Do what was asked for by a row that is MEASURING; see measure()."""
    if found.problem:  # of its last try; nobody else takes it up meanwhile
        found.problem = ""
        found.save(update_fields=["problem"])
    try:
        _measure(found, repository_of(found.project), found.setup.get("edited", {}))
    except AnswerWanted as asked:
        found.problem = str(asked)
    except BadInput as wrong:
        _unusable(found, f"{SETTINGS_FILE} cannot be used: {wrong}")
    except (PackageRefused, IndexUnavailable) as refused:
        _unusable(found, f"A package that its tests need cannot be had: {refused}.")
    except SandboxPreparing as soon:
        found.problem = f"{WAITS_FOR_IMAGE}: {soon}."
    except SandboxError as broken:
        _unusable(found, f"The sandbox cannot run them: {broken}.")
    found.save()
    if found.status == Baseline.Status.READY:
        close_questions("measured without an answer", project=found.project, kind=Approval.Kind.PACKAGE, run=None)
    return found


def waiting_for_image() -> list[int]:
    """The rows that could not be measured before there was a sandbox image."""
    waiting = Baseline.objects.filter(status=Baseline.Status.MEASURING, problem__startswith=WAITS_FOR_IMAGE)
    return list(waiting.values_list("pk", flat=True))


def edits_of(project: Project) -> dict[str, Any]:
    """What a person changed in the setup of the newest baseline."""
    before = project.baselines.first()
    return dict(before.setup.get("edited", {})) if before else {}


def _unusable(found: Baseline, problem: str) -> None:
    found.status, found.problem = Baseline.Status.UNUSABLE, problem


def _measure(found: Baseline, repository: Repository, edits: Mapping[str, Any]) -> None:
    spoken, layout = look(repository, found.commit, found.project.subfolder)
    if layout is None or spoken is None:
        return _unusable(
            found,
            "It holds no code whose tests can be run here: Python, or JavaScript and TypeScript with a package.json.",
        )
    found.layout = layout.to_json()
    said, wanted = repository_settings(found.project, repository, found.commit)
    edits = {**said, **edits}
    layout = replace(layout, needed=(*layout.needed, *wanted))
    setup = first_setup(layout.setup)
    found.setup = {**setup_to_json(setup), **edits, "edited": found.setup.get("edited", {})}
    if layout.problem and not edits:
        return _unusable(found, layout.problem)
    packages, fetched = _packages(found.project, layout)
    found.packages = packages
    plugins = spoken.test_plugins(fetched.folder) if fetched else []
    setup = replace(setup_from(found.setup), plugins=(*setup.plugins, *plugins))
    setup = configured(setup, repository, found.commit)
    backend = fitted(open_backend(name_for(found.project)), found.project, setup.suite_seconds)
    name = f"baseline-{found.pk}"
    try:
        tree = repository.worktree(name, found.commit)
        with backend.open(packages=fetched, label=name) as sandbox:
            came = measure_suite(spoken, sandbox, tree.path, setup)
    finally:
        repository.remove(name)
    found.tests, found.seconds = came.tests, came.seconds
    found.passing = zlib.compress(json.dumps(sorted(came.setup.passing)).encode())
    found.setup = {**setup_to_json(came.setup), **edits, "edited": found.setup.get("edited", {})}
    found.status = Baseline.Status.READY
    if came.problem:
        _unusable(found, came.problem)
    return None


def _packages(project: Project, layout: RepositoryLayout) -> tuple[list[str], PackageSet | None]:
    """What is fetched for the tests. Raises AnswerWanted, and PackageRefused for what cannot be had."""
    supply, refused = ProjectSupply(project), _refused_names(project)
    verdicts = {line: supply.check(line).judgement for line in (*layout.needed, *layout.useful)}
    asks = [plain_name(line) for line in layout.needed if verdicts[line] is Judgement.NEEDS_APPROVAL]
    if unknown := [name for name in asks if name not in refused]:
        _ask(project, unknown, "Its tests import them.")
    needed = [line for line in layout.needed if verdicts[line] is Judgement.ALLOWED]
    useful = [line for line in layout.useful if verdicts[line] is Judgement.ALLOWED]
    try:
        if useful:
            return [*needed, *useful], supply.fetch([*needed, *useful])
    except PackageRefused:
        pass  # what is only of use is worth no question
    try:
        return needed, supply.fetch(needed) if needed else None
    except PackageUnlisted as unlisted:
        if unknown := [name for name in unlisted.names if name not in refused]:
            _ask(project, unknown, f"{unlisted.reason}.")
        raise


def _refused_names(project: Project) -> set[str]:
    """Packages that a person said no to: the tests that need them are among the known failures."""
    found: set[str] = set()
    for row in Approval.objects.filter(project=project, kind=Approval.Kind.PACKAGE).order_by("pk"):
        names = set(names_asked(row))
        if row.status == Approval.Status.REJECTED:
            found |= names
        elif row.status == Approval.Status.APPROVED:
            found -= names
    return found


def _ask(project: Project, packages: Sequence[str], reason: str) -> None:
    """Ask once about all of them that exist; a yes allows each by its name. Raises AnswerWanted unless none does."""
    supply, facts = ProjectSupply(project), {}
    for name in packages:
        try:
            facts[name] = supply.look_up(name).to_json()
        except NoSuchPackage:
            continue  # the tests that need it are among the known failures
        except (PackageRefused, IndexUnavailable) as refused:
            facts[name] = {"problem": str(refused)}
    if not facts:
        return
    names = ", ".join(facts)
    ask(
        project,
        kind=Approval.Kind.PACKAGE,
        subject=names,
        title=f"Install {names} for the tests of {project.name}?"[:200],
        why=reason,
        on_yes="They are fetched and unpacked without running any of their code; then the tests are run again.",
        on_no="The tests that need them stay among the known failures.",
        payload={"packages": facts, "ecosystem": "npm" if any(map(is_npm, facts)) else "Python"},
    )
    raise AnswerWanted(f"Waits for an answer about packages: {names}.")


def accept_without_tests(project: Project, *, by: User) -> Baseline:
    """Go on with a repository whose tests cannot run; a person's decision. Raises NotAllowed and BadInput."""
    require(by, project, "project.edit")
    lock_project(project.pk)
    found = project.baselines.first()
    if found is None or found.status == Baseline.Status.READY:
        raise BadInput("Its tests can be run: there is nothing to accept.")
    found.status, found.accepted_by = Baseline.Status.ACCEPTED, by
    found.save(update_fields=["status", "accepted_by"])
    close_questions("accepted without tests", project=project, kind=Approval.Kind.PACKAGE, run=None)
    note(by, "baseline.accepted", project.slug, {"problem": found.problem[:300]})
    return found
