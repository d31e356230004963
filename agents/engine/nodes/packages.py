"""Packages: what the code needs is found, judged, fetched, and written into the repository (SWE-FR-05, SWE-NFR-04)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.engine.contracts import ApprovalAnswer, TaskContext
from agents.engine.nodes.removals import as_imported
from agents.engine.state import TaskState, files_of, key_of
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import ErrorRaised, SystemNotice
from agents.languages.registry import language_of_task, languages
from sandbox.base import PackageRefused, PackageSet
from sandbox.package_index.errors import NoSuchPackage, PackageUnlisted
from sandbox.package_index.names import NPM, Judgement, base_packages, plain_name

ROUNDS = 12  # of finding dependencies that a person must be asked about
WORDS = 600


@dataclass
class PackageDecision:
    """Packages to install, files to write beside the candidate, and refusals the coder must add_messages of."""

    packages: list[str]
    files: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Unknown:
    """A requirement that nobody has judged yet."""

    plain: str
    line: str
    reason: str
    look_alikes: tuple[str, ...]


@dataclass
class _Needs:
    """What the task wants, by plain name, and by language what of it no manifest names yet."""

    wanted: dict[str, str]
    unlisted: dict[str, list[str]]
    idle: set[str] = field(default_factory=set)  # planned and imported by nobody: worth no question


def settle_packages(state: TaskState, ctx: TaskContext, attempt: int) -> PackageDecision:
    """Decide what the sandbox gets, and fetch it.

    A name that the index does not know goes back to the coder without asking anybody: a model made it up. Raises
    Waiting while a person has not answered for an unknown name, and IndexUnavailable while no index answers.
    """
    needs = _needs(state, ctx)
    settled, unknown = PackageDecision(packages=[]), []
    for plain, line in sorted(needs.wanted.items()):
        verdict = ctx.supply.check(line)
        if verdict.judgement is Judgement.REFUSED:
            settled.refused.append(f"Package {line}: {verdict.reason}")
        elif verdict.judgement is Judgement.ALLOWED:
            settled.packages.append(line)
        elif plain not in needs.idle:
            unknown.append(_Unknown(plain, line, verdict.reason, verdict.look_alikes))
    settled.packages += _ask(state, ctx, attempt, settled, unknown)
    if not settled.refused:
        fetched = _fetch(state, ctx, attempt, settled)
        if fetched is not None:
            _write_lists(state, ctx, attempt, needs, settled, fetched)
    return settled


def _needs(state: TaskState, ctx: TaskContext) -> _Needs:
    everything = files_of(state["candidate"])
    # A module that the task was to write and did not is a failing test, and no package.
    paths = as_imported(ctx, {*everything, *ctx.repository.files(state["base"]), *state["task"].get("files", [])})
    spoken = language_of_task(state["task"])
    lines = filter(None, map(spoken.requirement, state["candidate"]["packages"]))
    given = {plain_name(line): line for line in lines}
    needs = _Needs(dict(given), {})
    before = {path: text for path in everything if (text := ctx.repository.read(state["base"], path)) is not None}
    for language in languages():
        found = language.needs(everything, paths, _text_of(state, ctx, language.manifest), given, before)
        needs.wanted |= found.wanted
        needs.unlisted[language.name] = found.unlisted
        needs.idle |= found.idle
    base = {*base_packages(), *(plain_name(line) for line in ctx.test_packages)}
    for name, unlisted in needs.unlisted.items():
        needs.unlisted[name] = [line for line in unlisted if plain_name(line) not in base]
    needs.wanted = {plain: line for plain, line in needs.wanted.items() if plain not in base}
    return needs


def _text_of(state: TaskState, ctx: TaskContext, path: str, base: str = "") -> str:
    """A file as the candidate has it; "" when there is none."""
    return state["candidate"]["files"].get(path, ctx.repository.read(base or state["base"], path) or "") if path else ""


def _ask(
    state: TaskState,
    ctx: TaskContext,
    attempt: int,
    settled: PackageDecision,
    unknown: Sequence[_Unknown],
    *,
    together: bool = False,
) -> list[str]:
    """Ask people about unknown names, each by itself or all `together`; the lines that they allowed.

    Nobody is asked when one of the names was refused or made up: the coder will write something else. All questions are
    put before the first answer is waited for. Raises Waiting and IndexUnavailable.
    """
    known = [(one, _facts(state, ctx, attempt, settled, one)) for one in unknown]
    if settled.refused:
        return [one.line for one, facts in known if facts is not None]  # judged again with the next try
    allowed, waiting = [], []
    for group in [known] if together else [[one] for one in known]:
        answer, lines = _answer(state, ctx, dict(group)), [one.line for one, _ in group]
        if answer == "approved":
            allowed += lines
        elif answer == "pending":
            waiting += lines
        else:
            settled.refused += [f"Package {line}: a person refused it; do without it" for line in lines]
    if waiting:
        raise Waiting(WaitReason.PACKAGE_CONSENT, ", ".join(waiting))
    return allowed


def _facts(state: TaskState, ctx: TaskContext, attempt: int, settled: PackageDecision, one: _Unknown) -> Any:
    """What the index knows; None, with a word for the coder, for a made-up name."""
    try:
        return ctx.supply.look_up(one.line)
    except NoSuchPackage:
        settled.refused.append(_made_up(one.line, one.look_alikes))
        error = ErrorRaised(
            summary=f"There is no package {one.line}: the coder is told",
            message=f"The index knows no package {one.line}. A model made it up.",
            tool="packages",
            next_steps=[],
        )
        ctx.event_log.emit(error, attempt=attempt, key=key_of(state, f"made-up/{one.plain}"))
    except PackageRefused as refusal:
        settled.refused.append(f"Package {refusal}")
    return None


def _answer(state: TaskState, ctx: TaskContext, asked: Mapping[_Unknown, Any]) -> ApprovalAnswer:
    """What people said to these names, given with what the index knows of them."""
    task, (one, *more) = state["task"], asked
    lines, names = ", ".join(each.line for each in asked), ", ".join(each.plain for each in asked)
    words = [f"{each.line}: {word}" if more else word for each, facts in asked.items() for word in facts.warnings()]
    return ctx.task_store.ask(
        kind="package",
        subject=names,
        title=f"Install the package{'s' * bool(more)} {lines}?"[:200],
        why=" ".join([f"{task['key']} wants {'them' if more else 'it'}. {_sentence(one.reason)}", *words])[:4000],
        on_yes="It is fetched and unpacked without running any of its code, and given to this project's sandboxes.",
        on_no="The coder is told to continue without it.",
        payload={
            "packages": {each.plain: facts.to_json() for each, facts in asked.items()},
            "ecosystem": "npm" if one.plain.startswith(NPM) else "Python",
            "look_alikes": [like for each in asked for like in each.look_alikes],
            "wanted": _wanted_by(state, one.plain),
        },
    )


def _made_up(line: str, look_alikes: tuple[str, ...]) -> str:
    hint = f" Did you mean {', '.join(look_alikes)}?" if look_alikes else ""
    return (
        f"Package {line}: there is no such package; do not invent names.{hint} "
        "Use what exists, or the standard library; a module of your own needs its file."
    )


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:] + "."


def _wanted_by(state: TaskState, plain: str) -> dict[str, Any]:
    """Why a package is wanted: the task, its requirements, and the model's own words, which are only a claim."""
    task = state["task"]
    rows = [
        {"key": row.get("key", ""), "text": str(row.get("text", ""))[:300]} for row in task.get("requirements", [])[:5]
    ]
    coder = state["conversation"]["coder"]
    said = next((turn["content"] for turn in reversed(coder) if turn["role"] == "assistant"), "")
    prose = re.sub(r"```.*?(```|\Z)", " ", said, flags=re.DOTALL)
    name = plain.removeprefix(NPM)
    about = [line.strip() for line in prose.splitlines() if name.lower() in line.lower()]
    return {
        "task": f"{task['key']} {task['title']}",
        "requirements": rows,
        "words": " ".join(" ".join(about or [prose]).split())[:WORDS],
    }


def _fetch(state: TaskState, ctx: TaskContext, attempt: int, settled: PackageDecision) -> PackageSet | None:
    """Fetch what was decided; asks about dependencies on no list. None when one was refused or none is needed."""
    asked: set[str] = set()
    for _ in range(ROUNDS if settled.packages else 0):
        named: set[str] = set()
        try:
            return ctx.packages(settled.packages)
        except PackageUnlisted as unlisted:
            new = [name for name in unlisted.names if name not in asked]
            asked.update(new)
            reason = f"{unlisted.reason} ({', '.join(settled.packages)} needs it)"
            if not new:
                settled.refused.append(f"Package {unlisted}")
            unknown = [_Unknown(name, name, reason, ctx.supply.check(name).look_alikes) for name in new]
            _ask(state, ctx, attempt, settled, unknown, together=True)
        except PackageRefused as refusal:
            settled.refused.append(f"Package {refusal}")
            named = {plain_name(name) for name in refusal.name.split(", ")}
        if settled.refused:
            settled.packages = _without(state, settled.packages, named)
            return None
    if settled.packages:
        names = ", ".join(settled.packages)
        settled.refused.append(f"Packages {names}: they pull in too many unlisted packages")
        settled.packages = _without(state, settled.packages, set())
    return None


def _without(state: TaskState, packages: Sequence[str], named: set[str]) -> list[str]:
    """What the next try begins with: what cannot be had is not wanted again unless its code names it again.

    A refusal that names none of them is of what they bring along; then only what the plan asked for stays.
    """
    kept = [line for line in packages if plain_name(line) not in named]
    spoken = language_of_task(state["task"])
    planned = {plain_name(spoken.requirement(name)) for name in state["task"].get("packages", [])}
    return kept if len(kept) < len(packages) else [line for line in packages if plain_name(line) in planned]


def _write_lists(
    state: TaskState, ctx: TaskContext, attempt: int, needs: _Needs, settled: PackageDecision, fetched: PackageSet
) -> None:
    """Add what only the imports named to the manifests."""
    added: list[str] = []
    for language in languages():
        if unlisted := needs.unlisted[language.name]:
            manifest = _text_of(state, ctx, language.manifest)
            lock = fetched.locks.get(language.lock, "")
            text, names = language.with_packages(manifest, unlisted, lock, files_of(state["candidate"]))
            if names:
                settled.files[language.manifest] = text
                added += names
    if added:
        notice = SystemNotice(
            summary=f"{' and '.join(sorted(settled.files, reverse=True))}: added {', '.join(added)}",
            text="Found by the code's imports.",
            details={"added": added},
        )
        ctx.event_log.emit(notice, attempt=attempt, key=key_of(state, "requirements"))


def lock_files(state: TaskState, ctx: TaskContext, base: str) -> dict[str, str | None]:
    """What the commit holds as lock files: all of the base and what this task fetched, with hashes; None for none.

    They are the product's to write: whatever the candidate holds under these names is replaced.
    """
    packages = state["candidate"]["packages"]
    locks = ctx.packages(packages).locks if packages else {}
    found: dict[str, str | None] = {}
    for language in languages():
        if language.lock:
            old = found[language.lock] = ctx.repository.read(base, language.lock)
            if language.lock in locks:
                manifest = _text_of(state, ctx, language.manifest, base)
                found[language.lock] = language.merged_lock(old or "", locks[language.lock], manifest)
    return found
