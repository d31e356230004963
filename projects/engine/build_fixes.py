"""From the log of a failed build to a run that fixes it: read, repeated in the sandbox, planned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from agents.engine.baseline import configured
from agents.engine.nodes.rebuilt import EVENT
from agents.engine.rebuild import Builder, Rebuilt
from agents.engine.said_changes import COMPARED, said_changes
from agents.languages.registry import DEFAULT, language, main_language
from agents.repair.build_log import CRASH, BuildCause, read_log
from agents.workspace.git import GitError
from agents.workspace.worktree import Worktree
from projects.engine.sandboxes import fitted, name_for
from projects.engine.test_setups import packages_of, test_setup_of
from projects.errors import BadInput
from projects.models import Baseline, Event, Project, RequirementDocument, Run
from projects.services.accounts.rights import require
from projects.services.audit.sitelog import note
from projects.services.delivery.changes import changes_between
from projects.services.planning.build_words import acceptance_of, requirement_of
from projects.services.planning.request_work import REQUEST, starts_at
from projects.services.planning.small_work import plan_document, small_document
from projects.services.work.locks import lock_project
from projects.storage.packages import ProjectSupply
from projects.storage.paths import repository_of
from projects.workers.queue import enqueue
from sandbox.base import Sandbox
from sandbox.paths import regular_files
from sandbox.registry import open_backend

JOB = "projects.build_jobs.repeat_build"
MOST_BYTES = 64 * 1024 * 1024  # of a log
NOTHING_SAID = f"Nothing was found in {COMPARED}; lock files and other ways to name versions are not compared."
NOT_SEEN = "What the log says failed was not seen to fail here"


@dataclass(frozen=True)
class Fix:
    """What a log led to: its cause, the document of the fix, and the run that plans it once the failure was seen."""

    cause: BuildCause
    document: RequirementDocument
    run: Run | None = None

    @property
    def why(self) -> str:
        """Why a person decides; "" when nobody has to."""
        return str(self.document.start.get("said", "")) if self.run is None else ""


def fix_log(project: Project, log: str, *, by: User, source: str, later: bool = True, request: int = 0) -> Fix:
    """Make a document of what failed in a log and have it repeated, and fixed when it fails here too.

    `source` says where the log is from: pasted, a file, a check of a forge. It is repeated by a worker, or unless
    `later` in this call. `request` is our number of the pull request on whose branch it failed. Raises NotAllowed and
    BadInput (no code, no failure in the log).
    """
    require(by, project, "run.start")
    try:
        repository = repository_of(project)
        paths = repository.files(repository.base_head())
    except GitError:
        raise BadInput("There is no code yet that could be fixed.") from None
    cause = read_log(log, paths)
    if cause is None:
        raise BadInput("Nothing in this log looks like a failure: paste the part with the first error.")
    with transaction.atomic():
        lock_project(project.pk)
        number = RequirementDocument.every.filter(project=project).count() + 1
        document = small_document(
            project,
            requirement_of(cause),
            name=f"BUILD-{number}",
            by=by,
            acceptance=acceptance_of(cause, ""),
            start={"source": source[:200], "cause": cause.to_json()} | ({REQUEST: request} if request else {}),
        )
        told = {"document": document.version, "cause": cause.sentence[:300], "source": source[:200]}
        note(by, "build.log_read", project.slug, told)
        if later:
            enqueue(JOB, document.pk)
    return Fix(cause, document, None if later else repeat(document))


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


def said_in(run: Run) -> list[str]:
    """What a run's result takes back of pins, tests and checks, in sentences."""
    repository = repository_of(run.project, run)
    base, head = run.base_commit, repository.head()
    paths = changes_between(run.project, base, head).paths if base else ()
    before, after = ({path: repository.read(at, path) or "" for path in paths} for at in (base, head))
    asked = frozenset(run.document.start.get("asked", ())) if run.document else frozenset[str]()
    return said_changes(before, after, asked)


def request_section(run: Run, quote: Callable[[str], str] = str) -> str:
    """The part of a pull request's text about the failed build that its run fixed, in Markdown; "" for other runs.

    `quote` makes words of logs, manifests and code harmless where they are shown.
    """
    start = run.document.start if run.document is not None else {}
    if not start:
        return ""
    lines, cause = [], start.get("cause")
    if cause:
        lines += ["### The failed build", "", f"- Cause: {quote(BuildCause(**cause).sentence)}"]
        seen = (
            f"seen to fail before the change: {quote(start['title'])}"
            if start.get("reproduced")
            else "not seen to fail here"
        )
        lines.append(f"- Repeated: {seen}")
    last = Event.objects.filter(run=run, payload__has_key=EVENT).order_by("-seq").first()
    if last is not None:
        found = last.payload[EVENT]
        how = {True: "passes", False: "fails", None: "proves nothing"}[found["ok"]]
        lines.append(f"- After the change: {quote(found['title'])} {how}")
        if chosen := found["chosen"]:
            lines.append(f"- The resolver chose: {quote(', '.join(chosen[:40]))}{', …' if len(chosen) > 40 else ''}")
    said = said_in(run)
    lines += ["", "### What it takes back", "", *(f"- {quote(line)}" for line in said[:50])]
    return "\n".join([*lines, *([] if said else [NOTHING_SAID])]).strip()
