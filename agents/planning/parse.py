"""From the JSON of a model or a person to a plan: lenient with what is missing, strict with what is there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.fragments.blueprint import read_blueprint
from agents.planning.model import PlanDraft, PlanProblem, PlanTask

_STRINGS = ("key", "title", "description", "kind", "expects", "agent")
_LISTS = ("requirements", "needs", "files", "packages")
_KNOWN = frozenset((*_STRINGS, *_LISTS, "minutes", "blueprint"))
_BESIDE = re.compile(r"^(\S+)\s+\(.*\)$")
_KIND_OF = {"test": "code"}  # every task brings its tests: one for tests alone is like any other
_MAX_TASKS = 10_000
_MAX_TEXT = 20_000
_MAX_WORD = 500
_MAX_LIST = 2_000
_MAX_PROBLEMS = 100
_DEFAULT_MINUTES = 30


def parse_plan(obj: object, names: Mapping[str, str] | None = None) -> tuple[PlanDraft | None, list[PlanProblem]]:
    """The plan in `obj` (decoded JSON), and what is wrong with it; no plan when a value has the wrong type.

    `names` maps the author's ids to the keys of requirements: a plan may say either, or both as in "R9 (FR-03)".
    Missing values get placeholders, each named in a warning: keys T-01, T-02, …; 30 minutes; kind code.
    Whether the plan makes sense is for `validate_plan`.
    """
    if not isinstance(obj, Mapping):
        return None, [_wrong("The plan", "an object with `tasks` and `notes`", obj)]
    problems: list[PlanProblem] = []
    raw_tasks = obj.get("tasks")
    notes = obj.get("notes")
    if notes is None:
        notes = ""
    elif not isinstance(notes, str):
        problems.append(_wrong("`notes`", "a text", notes))
    elif (bad := _bad_text(notes, _MAX_TEXT)) is not None:
        problems.append(PlanProblem("bad_text", f"`notes` {bad}"))
    if raw_tasks is None:
        return None, [*problems, PlanProblem("no_tasks", "The plan has no `tasks`. Give a list of at least one task.")]
    if not isinstance(raw_tasks, list):
        return None, [*problems, _wrong("`tasks`", "a list", raw_tasks)]
    if len(raw_tasks) > _MAX_TASKS:
        message = f"The plan lists {len(raw_tasks):,} tasks; more than {_MAX_TASKS:,} are not read. Split it."
        return None, [*problems, PlanProblem("too_many_tasks", message)]
    problems += _unknown_names("The plan", obj, frozenset(("tasks", "notes")))
    given = {raw["key"].strip() for raw in raw_tasks if isinstance(raw, Mapping) and isinstance(raw.get("key"), str)}
    tasks = []
    for number, raw in enumerate(raw_tasks, 1):
        task = _task(number, raw, given, problems)
        if task:
            tasks.append(replace(task, requirements=_keys(task.requirements, names or {})))
    errors = [p for p in problems if p.severity == "error"]
    if errors:
        return None, _shortened(errors + [p for p in problems if p.severity == "warning"])
    return PlanDraft(tuple(tasks), str(notes).strip()), _shortened(problems)


def _keys(written: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that a task names, each once."""
    keys = (names.get(words) or _BESIDE.sub(r"\1", words) for words in written)
    return tuple(dict.fromkeys(keys))


def _task(number: int, raw: object, given: set[str], problems: list[PlanProblem]) -> PlanTask | None:
    if not isinstance(raw, Mapping):
        problems.append(_wrong(f"Task {number}", "an object", raw))
        return None
    before = len(problems)
    texts = {name: _string(number, name, raw, problems) for name in _STRINGS}
    lists = {name: _list(number, name, raw, problems) for name in _LISTS}
    blueprint = raw.get("blueprint") or ""
    if blueprint:
        read, wrong = read_blueprint(blueprint)
        problems += [PlanProblem("bad_blueprint", f"The blueprint of task {number}: {said}") for said in wrong]
        blueprint = json.dumps(read.to_json(), sort_keys=True) if read is not None else ""
    minutes = _minutes(number, raw, problems)
    if any(p.severity == "error" for p in problems[before:]):
        return None
    assumed = []
    key = texts["key"]
    if not key:
        key = f"T-{number:02d}"
        while key in given:
            key += "x"
        given.add(key)
        assumed.append(f"key {key}")
    kind = _KIND_OF.get(texts["kind"].lower(), texts["kind"].lower())
    if not kind:
        kind = "code"
        assumed.append("kind code")
    if minutes is None:
        minutes = _DEFAULT_MINUTES
        assumed.append(f"{minutes} minutes")
    title = texts["title"] or " ".join(texts["description"].split()[:8]) or key
    if not texts["title"]:
        assumed.append("a title from its description" if texts["description"] else f"title {key}")
    problems += _unknown_names(f"Task {key}", raw, _KNOWN)
    if assumed:
        message = f"Task {key} left out some values; assumed: {', '.join(assumed)}."
        problems.append(PlanProblem("placeholder", message, (key,), "warning"))
    return PlanTask(
        key=key,
        title=title,
        description=texts["description"],
        kind=kind,
        agent=texts["agent"] or "coder",
        minutes=minutes,
        expects=texts["expects"],
        requirements=lists["requirements"],
        needs=lists["needs"],
        files=lists["files"],
        packages=lists["packages"],
        blueprint=blueprint,
    )


def _minutes(number: int, raw: Mapping[Any, Any], problems: list[PlanProblem]) -> int | None:
    minutes = raw.get("minutes")
    if isinstance(minutes, float) and minutes.is_integer():
        return int(minutes)
    if minutes is None or (isinstance(minutes, int) and not isinstance(minutes, bool)):
        return minutes
    problems.append(_wrong(f"`minutes` of task {number}", "a whole number", minutes))
    return None


def _string(number: int, name: str, raw: Mapping[Any, Any], problems: list[PlanProblem]) -> str:
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        problems.append(_wrong(f"`{name}` of task {number}", "a text", value))
        return ""
    bad = _bad_text(value, _MAX_TEXT if name in ("description", "expects") else _MAX_WORD)
    if bad is not None:
        problems.append(PlanProblem("bad_text", f"`{name}` of task {number} {bad}"))
        return ""
    return value.strip()


def _list(number: int, name: str, raw: Mapping[Any, Any], problems: list[PlanProblem]) -> tuple[str, ...]:
    value = raw.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        problems.append(_wrong(f"`{name}` of task {number}", "a list of texts", value))
        return ()
    if len(value) > _MAX_LIST:
        message = f"`{name}` of task {number} lists {len(value):,} entries; the limit is {_MAX_LIST:,}. Shorten it."
        problems.append(PlanProblem("too_long_list", message))
        return ()
    found: dict[str, None] = {}
    for entry in value:
        if not isinstance(entry, str):
            problems.append(_wrong(f"An entry of `{name}` of task {number}", "a text", entry))
            return ()
        bad = _bad_text(entry, _MAX_WORD)
        if bad is not None:
            problems.append(PlanProblem("bad_text", f"An entry of `{name}` of task {number} {bad}"))
            return ()
        if entry.strip():
            found[entry.strip()] = None
    return tuple(found)


def _bad_text(value: str, limit: int) -> str | None:
    if len(value) > limit:
        return f"has {len(value):,} characters; the limit is {limit:,}. Shorten it."
    if "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
        return "holds a NUL or half a character pair. Remove it."
    return None


def _unknown_names(where: str, raw: Mapping[Any, Any], known: frozenset[str]) -> list[PlanProblem]:
    extra = sorted(str(name)[:40] for name in raw if name not in known)
    if not extra:
        return []
    shown = ", ".join(extra[:5]) + (" …" if len(extra) > 5 else "")
    return [PlanProblem("unknown_field", f"{where} has fields that are not read: {shown}.", (), "warning")]


def _wrong(what: str, wanted: str, got: object) -> PlanProblem:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true/false", type(None): "nothing"}
    shown = names.get(type(got), "a number" if isinstance(got, (int, float)) else type(got).__name__)
    return PlanProblem("wrong_type", f"{what} must be {wanted}, not {shown}.")


def _shortened(problems: list[PlanProblem]) -> list[PlanProblem]:
    if len(problems) <= _MAX_PROBLEMS:
        return problems
    rest = len(problems) - _MAX_PROBLEMS
    last = problems[_MAX_PROBLEMS]
    return [*problems[:_MAX_PROBLEMS], PlanProblem("more", f"{rest:,} more problems like these.", (), last.severity)]
