"""From the log of a failed build to a document that asks for its fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from agents.prompts.render import quoted
from agents.repair.build_log import CRASH, DEPENDENCY, DOCKER, LINT, BuildCause, read_log
from agents.workspace.git import GitError
from projects.errors import BadInput
from projects.models import Project, RequirementDocument, Run
from projects.services.accounts.rights import require
from projects.services.audit.sitelog import note
from projects.services.planning.request_work import REQUEST
from projects.services.planning.small_work import small_document
from projects.services.work.locks import lock_project
from projects.storage.paths import repository_of
from projects.workers.queue import enqueue

JOB = "projects.build_jobs.repeat_build"
MOST_BYTES = 64 * 1024 * 1024  # of a log
LEFT_ALONE = (
    "No test is deleted, skipped or weakened, no check is silenced or made less strict, and no version that the "
    "failure is not about changes."
)
Repeat = Callable[[RequirementDocument], Run | None]  # the run that plans the fix, when the failure was seen here


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


def fix_log(
    project: Project, log: str, *, by: User, source: str, request: int = 0, repeat: Repeat | None = None
) -> Fix:
    """Make a document of what failed in a log and have it repeated, and fixed when it fails here too.

    `source` says where the log is from: pasted, a file, a check of a forge. `request` is our number of the
    pull request on whose branch it failed. A worker repeats it, unless `repeat` is given, which does so in this call.
    Raises NotAllowed and BadInput (no code, no failure in the log).
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
        if repeat is None:
            enqueue(JOB, document.pk)
    return Fix(cause, document, repeat(document) if repeat else None)


def requirement_of(cause: BuildCause) -> str:
    """What is to be done, with the diagnosis; what the log printed is quoted."""
    if cause.kind == CRASH:
        first = f"The program must not end with this error: {cause.message}"
    else:
        first = f"The build must not fail with this {cause.kind}: {cause.message}"
    where = f"The log names {cause.place} (reported by {cause.tool})." if cause.place else f"{cause.tool} reported it."
    parts = [first, where, *_how(cause)]
    if cause.command:
        parts.append(f"The log says that this was run: {cause.command}")
    if cause.excerpt:
        parts += ["What was printed:", quoted(cause.excerpt, "text")]
    return "\n\n".join(parts)


def _how(cause: BuildCause) -> list[str]:
    if cause.kind == DEPENDENCY:
        return [f"Change {cause.file or 'the manifest'} alone, as little as makes its requirements fit together."]
    if cause.kind == DOCKER:
        return ["Change the Dockerfile or add what it misses, whichever the failure is about."]
    return ["Change the code alone, as little as the rule asks for."] if cause.kind == LINT else []


def acceptance_of(cause: BuildCause, check: str) -> list[str]:
    """How it is seen to be done; `check` is what was seen to fail here, "" for nothing."""
    if check:
        return [f"What failed passes: `{check}`.", LEFT_ALONE]
    return ["A regression test fails without the fix.", LEFT_ALONE]
