"""What a change takes away: definitions that the task does not want gone, and existing files as git has them."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any

from agents.engine.contracts import TaskContext
from agents.engine.state import TaskState, files_of
from agents.languages.definitions import CannotMerge, DefinitionSpan, without
from agents.languages.registry import language_of, language_of_task
from agents.languages.suites import owner_of_test, test_changes
from agents.replies.apply import Applied
from agents.replies.keeping import gone_from
from agents.replies.paths import BadPath, check_path
from agents.replies.types import Reply
from agents.workspace.blame import lines_of, origins
from agents.workspace.git import GitError

_REMOVES = re.compile(
    r"\b(?:remov|delet|drop|renam|replac|mov(?:e|ed|es|ing)\b|retir|deprecat|obsolete|inlin|split|merg|extract|"
    r"rid of|no longer|instead of|rewrit|chang\w+ the name)",
    re.IGNORECASE,
)
_TAKEN_OUT = re.compile(
    r"\b(?:remov|delet|drop|retir)\w*\s+(?:(?:the|its|old|unused|function|method|class|helper|constant)\s+)*`?([\w.]*\w)",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[\w$#]+(?:\.[\w$#]+)*")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def sentences_of(task: Mapping[str, Any]) -> list[str]:
    """What the task says, sentence by sentence, with the words of its requirements and of people."""
    rows = task.get("requirements", [])
    wanted = [str(part) for row in rows for part in (row.get("text", ""), *row.get("acceptance", []))]
    parts = [str(task.get(name, "")) for name in ("title", "description", "expects", "note")]
    return [sentence for part in (*parts, *wanted) for sentence in _SENTENCE.split(part)]


def removal_words(task: Mapping[str, Any]) -> Callable[[str], bool]:
    """Tells whether the task wants a definition gone: a sentence that speaks of removing names it."""
    removing = "\n".join(sentence for sentence in sentences_of(task) if _REMOVES.search(sentence))
    return partial(names_definition, removing)


def mentions(text: str, name: str) -> bool:
    """True when the text holds this name as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def names_definition(text: str, name: str) -> bool:
    """True when the text names a definition, given with what it is in or without; a test in words by all of them."""
    if " > " in name or not _DOTTED.fullmatch(name):
        return mentions(text, name.rpartition(" > ")[2])
    return mentions(text, name.rpartition(".")[2])


def paths_of(reply: Reply) -> set[str]:
    """The files that a reply speaks of, as far as their paths can be used."""
    found, parts = set(), [part.path for part in reply.files] + [part.path for part in reply.edits]
    for path in (*parts, *(path for path, _ in reply.removals)):
        try:
            found.add(check_path(path))
        except BadPath:
            continue
    return found


def base_files(state: TaskState, ctx: TaskContext, paths: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """Texts of these files at the task's base with their own line ends, and the paths of those that hold no text."""
    blobs = ctx.repository.blobs(state["base"])
    there = {path: blobs[path].hash for path in paths if path in blobs}
    contents = ctx.repository.contents(sorted(set(there.values())))
    texts, odd = {}, set()
    for path, name in there.items():
        try:
            texts[path] = contents[name].decode("utf-8")
        except (KeyError, UnicodeDecodeError):
            odd.add(path)
    return texts, odd


def tests_of(state: TaskState, ctx: TaskContext) -> Callable[[str], bool]:
    """Tells which files are tests, as the test runner of this repository sees them."""
    main, told, runner = language_of_task(state["task"]), told_paths(ctx), ctx.test_setup.language

    def is_test(path: str) -> bool:
        spoken = owner_of_test(path, main)
        return spoken.is_test(path, told if runner in ("", spoken.name) else ())

    return is_test


def told_paths(ctx: TaskContext) -> list[str]:
    """The folders and files that the test runner of this repository is told to run."""
    words = [word.removeprefix("./").rstrip("/") for word in ctx.test_setup.arguments]
    return [word for word in words if not word.startswith("-")]


def _runs(path: str, told: Sequence[str]) -> bool:
    return not told or "." in told or any(path == one or path.startswith(f"{one}/") for one in told)


def tests_folder(state: TaskState, ctx: TaskContext) -> str:
    """Where new tests go: beside most of those that the repository has and its runner is told; `.` is its top."""
    told, language = told_paths(ctx), language_of_task(state["task"])
    there = ctx.repository.files(state["base"])
    tests = [path for path in there if language.owns(path) and language.is_test(path) and _runs(path, told)]
    folders = Counter(path.rpartition("/")[0] or "." for path in tests)  # not those of data
    return next((path for path, _ in folders.most_common(1)), next((one for one in told if one not in there), "tests"))


def where_tests_run(reply: Reply, state: TaskState, ctx: TaskContext) -> Reply:
    """A tester's reply with its new files in a folder that the runner is told; elsewhere they would never run."""
    told, there, folder = told_paths(ctx), ctx.repository.files(state["base"]), tests_folder(state, ctx)

    def place(path: str) -> str:
        beside = f"{folder}/{path.rpartition('/')[2]}"
        return path if path in there or _runs(path, told) or not _runs(beside, told) else beside

    files = [replace(part, path=place(part.path)) for part in reply.files]
    return replace(reply, files=files, edits=[replace(part, path=place(part.path)) for part in reply.edits])


def as_imported(ctx: TaskContext, paths: Iterable[str]) -> list[str]:
    """The paths, and once more as they look from each folder that tests import from."""
    known = list(paths)
    roots = [f"{root.strip('/')}/" for root in ctx.test_setup.python_path]
    return known + [path.removeprefix(root) for root in roots for path in known if path.startswith(root)]


def unknown_imports(state: TaskState, ctx: TaskContext, applied: Applied) -> list[str]:
    """Reasons to ask the tester again: modules that its tests import and that nothing brings.

    Nobody else can answer for them: the coder writes the files of the task only.
    """
    language, task = language_of_task(state["task"]), state["task"]
    there = [
        *ctx.repository.files(state["base"]),
        *files_of(state["candidate"]),
        *applied.files,
        *task.get("files", []),
    ]
    manifest = ctx.repository.read(state["base"], language.manifest) or "" if language.manifest else ""
    packages = [*state["candidate"]["packages"], *ctx.test_packages, *language.listed(manifest)]
    own = ", ".join(task.get("files", [])) or "none named"
    return [
        f"{path}: there is no module {name} here, and no package of this task brings it (files of the task: {own})"
        for path, text in applied.files.items()
        for name in language.unknown_modules({path: text}, as_imported(ctx, [*there, *task.get("files", [])]), packages)
    ]


def cannot_run(applied: Applied, base: Mapping[str, str]) -> list[str]:
    """Reasons to ask the tester again: its tests do not compile, or use a name that nothing in their file defines."""
    reasons = []
    for path, text in applied.files.items():
        if (language := language_of(path)) is None:
            continue
        known = {name for _, name in language.undefined_names(base.get(path, ""))}
        lines = {name: line for line, name in reversed(language.undefined_names(text)) if name not in known}
        reasons += [f"{path}:{line}: {name} is neither defined nor imported" for name, line in lines.items()]
        reasons += filter(None, [language.syntax_error(path, text)])
    return reasons


def removed_names(state: TaskState, ctx: TaskContext) -> dict[str, list[str]]:
    """By path the public names that the candidate's code takes away, and what the coder insisted on taking away."""
    is_test, candidate = tests_of(state, ctx), state["candidate"]
    files = {path: text for path, text in candidate["files"].items() if not is_test(path)}
    found = {}
    for path, old in base_files(state, ctx, files)[0].items():
        language, insisted = language_of(path), candidate["removed"].get(path, [])
        gone = gone_from(language, path, old, files[path]) if language is not None else None
        if language is None or gone is None:
            names = list(insisted)
        else:
            names = [one.title for one in gone if one.title in insisted or _is_public(one)]
            left = language.exported_names(files[path])
            names += [
                f"{name} in {language.export_list}" for name in sorted(language.exported_names(old) - left) if left
            ]
        if names:
            found[path] = names
    return found


def _is_public(one: DefinitionSpan) -> bool:
    return one.role != "overload" and not any(part.startswith("_") for part in one.name.split("."))


def changed_tests(state: TaskState, ctx: TaskContext) -> dict[str, dict[str, tuple[str, str]]]:
    """By path what the candidate alters or drops in test files of the base."""
    tests, language = state["candidate"]["tests"], language_of_task(state["task"])
    if state["task"].get("tests_given"):
        return {}  # a person brought them
    found = {
        path: test_changes(language, path, old, tests[path]) for path, old in base_files(state, ctx, tests)[0].items()
    }
    return {path: changes for path, changes in found.items() if changes}


def only_added(
    state: TaskState, ctx: TaskContext, applied: Applied, judged: str, removed: Collection[tuple[str, str]] = ()
) -> list[str]:
    """Make a tester's answer one that adds: what it changes in files of the base stays as it was.

    New tests are merged into the file or, where their helpers differ, put into a new file. `judged` are the words of an
    adjudication: tests that they name may change, as may those that the task's words name or whose file they name, and
    those that were written for a requirement which the task serves again; a person is asked later. `removed` are paths
    and names of what the reply takes out.
    Returns reasons to ask the tester again.
    """
    may_go = removal_words(state["task"])
    reasons = []
    for path, old in base_files(state, ctx, applied.files)[0].items():
        changes = test_changes(language_of_task(state["task"]), path, old, applied.files[path])
        gone = came_with_dropped(state, ctx, {path: old})
        free = {name for name in changes if name in gone or may_go(name) or names_definition(judged, name)}
        if free == changes.keys() or _may_change(state, ctx, applied, path, old, changes, free, removed):
            continue
        if not _put_beside(state, ctx, applied, path, old, changes):
            names = ", ".join(sorted(changes))[:300]
            reasons.append(f"{path}: its tests stay as they are ({names}); answer with new tests, in a new file.")
    return reasons


def _may_change(
    state: TaskState,
    ctx: TaskContext,
    applied: Applied,
    path: str,
    old: str,
    changes: Mapping[str, tuple[str, str]],
    free: Set[str],
    removed: Collection[tuple[str, str]],
) -> bool:
    """Whether the task names the file, or serves all that changes in it again; what is left out then stays.

    `free` are names that may change in any case.
    """
    language, served = language_of_task(state["task"]), _served_before(state, ctx, path, old)
    named = any(mentions(sentence, path) for sentence in sentences_of(state["task"]))
    if not named and not served.issuperset(changes):
        return False
    left_out = {name for name in changes if not changes[name][1]}
    free = free | {name for name in left_out & served if (path, name) in removed}
    pruned = without(old, _spans(path, old), left_out & free)
    left_out -= free
    with contextlib.suppress(CannotMerge):
        some = 2 * len(left_out) > len(language.definitions(path, old) or [])  # it holds what changes alone
        if some or not served.issuperset(left_out):
            applied.files[path] = language.merged(path, pruned, applied.files[path])
        return True
    return False


def _put_beside(
    state: TaskState, ctx: TaskContext, applied: Applied, path: str, old: str, changes: Mapping[str, tuple[str, str]]
) -> bool:
    """Take the new tests alone, into the file or into a new one; False when there are none."""
    language = language_of_task(state["task"])
    new = applied.files.pop(path)
    part = language.new_part(old, new, helpers=False)
    try:
        made = language.merged(path, state["candidate"]["tests"].get(path, old), part) if part else ""
    except CannotMerge:
        made = ""
    tests = {one.name for text in (old, new) for one in _spans(path, text) if one.is_test}
    helpers = [name for name, (_, text) in changes.items() if text and name not in tests]
    if made and not helpers and not test_changes(language, path, old, made):
        applied.files[path] = made
        return True
    alone = language.new_part(old, new, helpers=True) if part else ""
    if alone:
        name = free_name(path, {*ctx.repository.files(state["base"]), *applied.files})
        applied.files[name], applied.moved[name] = alone, path
    return bool(alone)


def what_became_of_tests(
    state: TaskState, ctx: TaskContext, applied: Applied, sent: Mapping[str, str]
) -> dict[str, str]:
    """By existing test file the names that a tester's answer takes away or alters, or that it was merged if it was."""
    language, found = language_of_task(state["task"]), {}
    for path, old in base_files(state, ctx, applied.files)[0].items():
        changes = test_changes(language, path, old, applied.files[path])
        gone = [name for name, (_, text) in changes.items() if not text]
        altered = [name for name in changes if name not in gone]
        told = [f"{word}: {', '.join(names)}" for word, names in (("removed", gone), ("changed", altered)) if names]
        if told:
            found[path] = f"of the existing tests {'; '.join(told)}"
        elif applied.files[path] != sent.get(path):
            found[path] = "new tests were added; tests that exist stay as they are"
    return found


def without_removed(reply: Reply, there: Mapping[str, str], may_go: Callable[[str], bool]) -> dict[str, str]:
    """The files without the definitions that the reply removes by name and that may go."""
    cut = {}
    for path in dict.fromkeys(path for path, _ in reply.removals if path in there):
        names = {name for at, name in reply.removals if at == path and may_go(name)}
        if (text := without(there[path], _spans(path, there[path]), names)) != there[path]:
            cut[path] = text
    return cut


def removable(state: TaskState, ctx: TaskContext, paths: Iterable[str]) -> list[str]:
    """By file the definitions of the base that the task's words remove, or that came with what it drops or alters.

    Of code only what came with what it drops: what is altered is rewritten.
    """
    is_test, named = tests_of(state, ctx), set(_TAKEN_OUT.findall("\n".join(sentences_of(state["task"]))))
    altered = any(row.get("before") for row in state["task"].get("requirements", []))
    found = []
    for path, text in base_files(state, ctx, paths)[0].items():
        came = came_with_dropped(state, ctx, {path: text})
        came |= _served_before(state, ctx, path, text) if altered and is_test(path) else set()
        if names := [one.name for one in _spans(path, text) if one.name in came | named]:
            found.append(f"{path}: {', '.join(dict.fromkeys(names))}"[:400])
    return found


def _spans(path: str, text: str) -> list[DefinitionSpan]:
    language = language_of(path)
    return (language.definitions(path, text) if language else None) or []


def or_among(names: set[str], judge: Callable[[str], bool]) -> Callable[[str], bool]:
    """Tells whether a definition has one of these names or `judge` lets it go."""
    return lambda name: name in names or judge(name)


def came_with_dropped(state: TaskState, ctx: TaskContext, base: Mapping[str, str]) -> set[str]:
    """Definitions of these files of the base all of whose lines came with requirements that the task drops alone."""
    requirements = state["task"].get("requirements", [])
    dropped = {str(requirement["key"]) for requirement in requirements if requirement.get("dropped")}
    return {
        name
        for path, text in base.items()
        if dropped
        for name in _came_with(state, ctx, path, text, dropped.issuperset)
    }


def _served_before(state: TaskState, ctx: TaskContext, path: str, text: str) -> set[str]:
    """Definitions of a file of the base all of whose lines came with requirements of this task, of an earlier run."""
    wanted = {str(requirement["key"]) for requirement in state["task"].get("requirements", [])}
    return _came_with(state, ctx, path, text, lambda keys: not wanted.isdisjoint(keys))


def _came_with(state: TaskState, ctx: TaskContext, path: str, text: str, ours: Callable[[set[str]], bool]) -> set[str]:
    """Definitions of a file of the base all of whose lines came with requirements that are `ours`."""
    try:
        commits = lines_of(ctx.repository.git_dir, state["base"], path)
        told = origins(ctx.repository.git_dir, set(commits))
    except GitError:
        return set()
    named = {sha: {key.strip().partition(" ")[0] for key in one.requirement.split(",")} for sha, one in told.items()}
    commits_of = {sha for sha, keys in named.items() if keys != {""} and ours(keys)}
    spans = language_of_task(state["task"]).definitions(path, text) or []
    return {one.name for one in spans if commits_of.issuperset(commits[one.first - 1 : one.last])}


def free_name(path: str, taken: Collection[str]) -> str:
    """The path with the first number that makes it a new one; before all its suffixes, by which runners find tests."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffixes = name.partition(".")
    numbered = (f"{folder}{slash}{stem}_{number}{dot}{suffixes}" for number in range(2, 1000))
    return next(one for one in numbered if one not in taken)
