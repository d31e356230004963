"""The requirement that a failed build, or the trace of a program, is turned into."""

from __future__ import annotations

from agents.prompts.render import quoted
from agents.repair.build_log import CRASH, DEPENDENCY, DOCKER, LINT, BuildCause

LEFT_ALONE = (
    "No test is deleted, skipped or weakened, no check is silenced or made less strict, and no version that the "
    "failure is not about changes."
)


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
