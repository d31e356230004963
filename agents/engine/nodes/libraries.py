"""What a task's libraries offer, shown before code is written, and names they do not have, found before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.context import apis
from agents.context import libraries as offers
from agents.context.documents import documentation
from agents.context.meaning import Asking, Nearness
from agents.engine.contracts import TaskContext
from agents.engine.nodes.removals import as_imported
from agents.engine.state import TaskState, files_of, key_of
from agents.events.effects import SystemNotice
from agents.languages.registry import language_of_task
from agents.prompts.provenance import Material, Source, joined, label
from agents.replies.apply import Applied
from sandbox.base import SandboxError

OFFERED_TOKENS = 2_000  # of documentation and signatures together


def absent(state: TaskState, ctx: TaskContext, applied: Applied) -> list[str]:
    """Reasons to ask again, each naming file, line, what is missing and what is close; none when it cannot be told.

    That a language could not be checked, because the sandbox has no runtime of it, goes on the record once a task.
    """
    if "apis" in ctx.switched_off or not applied.files:
        return []
    there = as_imported(ctx, [*ctx.repository.files(state["base"]), *files_of(state["candidate"]), *applied.files])
    scope = _scope(ctx)
    try:
        found, unchecked = apis.shared.problems(applied.files, paths=there, sandbox=ctx.at_hand, scope=scope)
    except SandboxError:
        return []  # the test run will meet it and say so
    for language in unchecked:
        task = state["task"]
        notice = SystemNotice(
            summary=f"Names in {language.title} were not checked: the sandbox has no "
            f"{language.runtime or language.title}",
            text="Whether its libraries have what the code calls is left to the tests.",
        )
        key = f"{task['key']}/g{task.get('generation', 1)}/no-{language.name}"
        ctx.event_log.emit(notice, attempt=state["counters"]["attempt"], key=key)
    return found


def offered(
    state: TaskState, ctx: TaskContext, about: str, own: Mapping[str, str], near_code: Nearness | None = None
) -> Material:
    """Documentation that fits the task, and signatures of what its libraries offer, each under its heading.

    `own` are the files that the task changes; what its tests use counts too. How it was found, and how code was
    (`near_code`), goes on the record.
    """
    task, known = state["task"], ctx.knowledge
    docs = Material("", ())
    near: list[Nearness | None] = []
    if known.docs is not None:
        found = documentation(known.docs, ctx.project, " ".join([about, *task.get("packages", [])]), known.meaning)
        docs = found.text
        near.append(found.nearness)
    asked = Asking(known.meaning) if known.meaning is not None else None
    signatures = _signatures(state, ctx, about, own, asked)
    if known.meaning is not None:
        near += [asked.found if asked else None, near_code]
        _record(state, ctx, known.meaning.model, [each for each in near if each is not None])
    return joined([docs, signatures])


def _record(state: TaskState, ctx: TaskContext, model: str, near: Sequence[Nearness]) -> None:
    """Say whether code and documentation were found by meaning, or why not."""
    if not near:
        return  # all of it was shown, so nothing had to be found
    compared = sum(like is not None for each in near for like in each.alike)
    made, problem = sum(each.made for each in near), next((each.problem for each in near if each.problem), "")
    words = f"Compared {compared} pieces with the task by meaning ({model})"
    if problem:
        words = f"{words}, the rest by words: {problem}" if compared else f"Found by words alone ({model}): {problem}"
    details = {"model": model, "compared": compared, "embedded": made, "problem": problem}
    notice = SystemNotice(summary=words, outcome="" if problem else "ok", text=words, details=details)
    ctx.event_log.emit(notice, attempt=state["counters"]["attempt"], key=key_of(state, "retrieval"))


def _signatures(
    state: TaskState, ctx: TaskContext, about: str, own: Mapping[str, str], near: Asking | None
) -> Material:
    """Signatures of what a task's libraries offer; empty without libraries or when it cannot be told."""
    if "apis" in ctx.switched_off:
        return Material("", ())
    files, task = {**own, **state["candidate"]["tests"]}, state["task"]
    language = language_of_task(task)
    paths = as_imported(
        ctx, [*ctx.repository.files(state["base"]), *state["candidate"]["tests"], *task.get("files", [])]
    )
    modules = language.libraries(files, task.get("packages", []), paths)[: offers.MODULES]
    if not modules:
        return Material("", ())
    try:
        lines = offers.shared.signatures(
            language, modules, about, files, sandbox=ctx.at_hand, scope=_scope(ctx), near=near
        )
    except SandboxError:
        return Material("", ())  # the test run will meet it and say so
    return joined(["Library signatures:", label(lines, Source.PACKAGE)]) if lines else Material("", ())


def _scope(ctx: TaskContext) -> str:
    """What is installed in the sandbox at hand, as a word to remember answers by."""
    return f"{ctx.backend.name} {' '.join(ctx.at_hand_packages)}"
