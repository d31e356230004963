"""The opening of a conversation: the task, and of the repository what is most useful for it, within a budget."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from agents.checks.compose_services import compose_services
from agents.checks.configuration import is_dockerfile
from agents.context import existing_files
from agents.context.compaction import COMPACT_AT
from agents.context.files import STEP_TOKENS, Wanted
from agents.context.index import shared
from agents.engine.contracts import TaskContext
from agents.engine.nodes.common import is_long, lessons_text, one_line, system_turn, task_facts
from agents.engine.nodes.libraries import OFFERED_TOKENS, offered
from agents.engine.nodes.missing import may_ask
from agents.engine.nodes.removals import base_files, removable, tests_folder, tests_of, told_paths
from agents.engine.state import TaskState
from agents.languages.problems import is_library
from agents.languages.registry import language_of_task
from agents.llm.base import Message
from agents.llm.tokens import count_messages
from agents.personas import Persona
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render
from agents.repair.traces import read_problems

FAILING = 6  # tests named in a prompt
_PAGES = re.compile(r"^docs?/|\.(?:md|markdown|rst|adoc|txt)$", re.IGNORECASE)
_KUBERNETES = re.compile(r"kubernetes|kustomiz|\bk8s\b", re.IGNORECASE)
_README = re.compile(r"readme(?:\.\w+)?", re.IGNORECASE)


def opening(state: TaskState, ctx: TaskContext, persona: Persona, step: str, **more: Any) -> list[Message]:
    """System prompt and first message of a conversation: byte-stable, so that the model's cache is reused."""
    task, is_test, about = state["task"], tests_of(state, ctx), about_of(state["task"])
    is_coder = persona.name == "coder"
    # The coder's tests come to it under a heading of their own, read-only.
    files = [path for path in task.get("files", []) if not (is_coder and is_test(path))]
    there = base_files(state, ctx, files)[0]
    own = there if is_coder else {}
    nearest = nearest_tests(state, ctx, files)
    message = partial(
        render,
        "task.head",
        **{**task_facts(task, ctx), "files": files},
        tests_go="" if is_coder or any(map(is_test, there)) else tests_folder(state, ctx),
        installed=[re.split(r"[^\w.-]", line)[0] for line in ctx.test_packages] if not is_coder else [],
        servers=servers_of(state, ctx),
        container_files=container_files(files if is_coder else (), about),
        removable=removable(state, ctx, [path for path in (*files, *nearest) if is_test(path) != is_coder]),
        note=note_of(task),
        lessons=lessons_text(state["memory"]["lessons"]),
        failing=_failing(ctx, {*files, *nearest}, about),
        tests=more.get("tests", ""),
        avoid=label(more.get("avoid", ""), Source.TESTS),
        may_ask=more.get("may_ask", is_coder and may_ask(state)),
    )
    system = system_turn(persona, ctx, task)
    left = (
        room_beside(ctx, persona, [system, as_turn("user", message(existing="", long=list(own)))])
        - OFFERED_TOKENS * is_coder
    )
    passed = frames_of(task)
    entry = [path for path in passed if not is_test(path)][:1]
    tests = nearest_tests(state, ctx, [*files, *entry]) if entry else nearest
    asked = [state["sub_task"]["path"]] if state.get("sub_task") else []
    wanted = Wanted(
        own=(*files, *asked, *_readme(state, ctx)),
        tests=() if is_coder else tuple(path for path in tests if path not in state["candidate"]["tests"]),
        about=f"{task['title']}\n{task.get('description', '')}",
        wishes="\n".join([task.get("expects", ""), wishes_of(task), *(f"`{one}`" for one in passed.values())]),
        examples=task.get("passages", ""),
        tokens=left,
        told=tuple(told_paths(ctx)),
        calls=is_coder,
    )
    shown = existing_files(ctx.repository, state["base"], wanted, ctx.knowledge.meaning)
    existing = [shown.text]
    if is_coder:
        existing.append(offered(state, ctx, about, own, shown.nearness))
    # What is shown in parts cannot be sent whole.
    long = [path for path, text in own.items() if is_long(text, path) or path in shown.parts]
    labels = {"task": task["key"], "approach": state["counters"]["approach"], "step": step}
    return [system, as_turn("user", message(existing=joined(existing), long=long), **labels)]


def container_files(files: Sequence[str], about: str) -> dict[str, bool]:
    """Which container files a task writes, whose rules its coder is told."""
    yaml = any(path.endswith((".yaml", ".yml")) for path in files)
    return {
        "docker": any(map(is_dockerfile, files)),
        "kubernetes": yaml and bool(_KUBERNETES.search("\n".join([about, *files]))),
    }


def servers_of(state: TaskState, ctx: TaskContext) -> list[str]:
    """Servers that run while the tests do, each with the variable that has its address."""
    found, _ = compose_services(lambda path: ctx.repository.read(state["base"], path))
    kinds = {service.kind: service for service in (*found, *ctx.test_setup.services)}
    return [f"{one.facts.name} (os.environ[{next(iter(one.environment()))!r}])" for one in kinds.values()]


def note_of(task: Mapping[str, Any]) -> Material:
    """What a person added. Code and findings that it quotes are in fences which name their source."""
    note = task.get("note", "")
    quoted = {one for one in (Source.MODEL, Source.TOOLS) if f"from={one}" in note}
    return Material(note, {Source.PERSON, *quoted} if note else ())


def about_of(task: Mapping[str, Any]) -> str:
    """The task in words, for finding code that fits it."""
    rest = (task.get(name, "") for name in ("description", "expects"))
    return "\n".join([task["title"], *rest, wishes_of(task)])


def wishes_of(task: Mapping[str, Any]) -> str:
    """The texts of the requirements that a task serves."""
    return "\n".join(str(requirement.get("text", "")) for requirement in task.get("requirements", []))


def frames_of(task: Mapping[str, Any]) -> dict[str, str]:
    """The files that a traceback in a requirement leads through, each with its functions: where a test has to begin."""
    found = dict[str, str]()
    for frame in (frame for problem in read_problems(wishes_of(task)) for frame in problem.frames):
        if not is_library(frame.file) and frame.function.isidentifier():
            found[frame.file] = f"{found.get(frame.file, '')} {frame.function}".strip()
    return found


def _failing(ctx: TaskContext, paths: Collection[str], about: str) -> Material:
    """Tests in these files, or that the task names, which fail before it changes anything; a line each."""
    words, messages = set(re.findall(r"\w+", about)), ctx.test_setup.known_messages
    names = {one: one.rpartition("::")[2].partition("[")[0] for one in ctx.test_setup.known_failures}
    near = [one for one, name in names.items() if name in words or one.partition("::")[0] in paths]
    found = sorted(near, key=lambda one: (names[one] not in words, one))
    lines = [f"{one}: {one_line(messages.get(one, ''))[:200]}".rstrip(": ") for one in found[:FAILING]]
    lines += [f"… and {len(found) - FAILING} more"] if len(found) > FAILING else []
    return label("\n".join(lines), Source.TESTS)


def room_beside(ctx: TaskContext, persona: Persona, messages: Sequence[Message]) -> int:
    """Tokens that one call of this persona may take beside these messages and its answer."""
    window = ctx.provider(persona.name).window
    return min(STEP_TOKENS, int(COMPACT_AT * window), window - persona.max_tokens) - count_messages(messages)


def _readme(state: TaskState, ctx: TaskContext) -> list[str]:
    """The page that a repository begins with, for a task about documentation."""
    task = state["task"]
    if task.get("kind") != "docs" and not any(map(_PAGES.search, task.get("files", []))):
        return []
    return [path for path in ctx.repository.files(state["base"]) if _README.fullmatch(path)][:1]


def nearest_tests(state: TaskState, ctx: TaskContext, paths: Sequence[str]) -> list[str]:
    """Existing test files that are called like one of these files or mention it, the nearest first."""
    language, is_test = language_of_task(state["task"]), tests_of(state, ctx)
    words = {language.import_word(path) for path in paths if language.owns(path) and not is_test(path)} - {""}
    if not words:
        return []
    index = shared.index(ctx.repository, state["base"])
    near = {}
    for path in ctx.repository.files(state["base"]):
        if language.owns(path) and is_test(path) and path not in paths:
            alike = re.sub(r"^test_|[._-](?:test|spec)$|_test$", "", language.import_word(path)) in words
            mentions = index.symbols[path].mentions if path in index.symbols else {}
            if alike or words & mentions.keys():
                near[path] = (not alike, -sum(mentions.get(word, 0) for word in words), path)
    return sorted(near, key=lambda path: near[path])
