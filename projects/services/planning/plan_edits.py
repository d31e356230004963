"""Edits of a plan as data: each is applied to the content of a plan, one after the other.

An edit is {"do": one of VERBS, …}. Applying one to a plan that it does not fit raises BadInput; whether the plan makes
sense afterwards is for projects.services.planning.plan_rules.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from projects.errors import BadInput

Content = dict[str, Any]
Edit = Mapping[str, Any]
FIELDS = ("title", "description", "expects", "minutes", "requirements", "needs", "files", "packages", "kind", "agent")
_NUMBER = re.compile(r"^(.*?)(\d+)$")


def apply_edits(content: Mapping[str, Any], edits: Iterable[Edit]) -> Content:
    """The content after all edits; the given one stays as it is. Raises BadInput for an edit that does not fit."""
    changed = copy.deepcopy(dict(content))
    for edit in edits:
        verb = _VERBS.get(str(edit.get("do")))
        if verb is None:
            raise BadInput("A plan has no such edit.")
        try:
            verb(changed, edit)
        except (AttributeError, KeyError, TypeError, ValueError):  # what is stored of a plan that is none
            raise BadInput("The content of this version cannot be edited. Plan again.") from None
    return changed


def next_key(content: Mapping[str, Any]) -> str:
    """A key that no task has, in the manner of the last one."""
    keys = [str(task.get("key")) for task in tasks_of(content)]
    numbered = [match for key in keys if (match := _NUMBER.match(key))]
    if not numbered:
        return next(key for number in range(1, len(keys) + 2) if (key := f"T-{number:02}") not in keys)
    last = max(numbered, key=lambda match: (match[1] == numbered[-1][1], int(match[2])))
    return f"{last[1]}{int(last[2]) + 1:0{len(last[2])}}"


def tasks_of(content: Mapping[str, Any]) -> list[Content]:
    """The tasks; what is no object is left out."""
    tasks = content.get("tasks")
    return [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []


def without_agents(content: Mapping[str, Any]) -> Content:
    """The content as a planner may propose it: who writes a task's code is for people to say."""
    changed = copy.deepcopy(dict(content))
    for task in tasks_of(changed):
        task.pop("agent", None)
    return changed


def words_of(edit: Edit) -> str:
    """An edit in a few words."""
    verb, key = edit.get("do"), edit.get("key")
    if verb == "change":
        fields = edit.get("fields") or {}
        return f"{key}: {'; '.join(f'{name} → {_shown(value)}' for name, value in fields.items()) or 'nothing'}"
    if verb == "add":
        return f"{key} added: {edit.get('fields', {}).get('title', '')}"
    if verb == "split":
        return f"{key} split: its second part is {edit.get('new')}"
    if verb == "join":
        return f"{edit.get('other')} joined to {key}"
    return f"{key} moved {'up' if edit.get('by') == -1 else 'down'}" if verb == "move" else f"{key} removed"


def _shown(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _find(content: Content, key: object) -> Content:
    found = next((task for task in tasks_of(content) if task.get("key") == key), None)
    if found is None:
        raise BadInput(f"The plan has no task {str(key)[:40]!r} any more.")
    return found


def _known(fields: Any) -> Content:
    return {name: value for name, value in dict(fields or {}).items() if name in FIELDS}


def _merged(*lists: Any) -> list[str]:
    """Each once, in their order."""
    return list(dict.fromkeys(str(item) for each in lists for item in each or ()))


def _lead(content: Content, old: str, new: Sequence[str]) -> None:
    """Have every task that needs `old` need `new` instead."""
    for task in tasks_of(content):
        needs = task.get("needs") or []
        if old in needs:
            found = _merged(*([*new] if need == old else [need] for need in needs))
            task["needs"] = [need for need in found if need != task.get("key")]


def _new(content: Content, key: object) -> str:
    if not isinstance(key, str) or not key.strip() or any(task.get("key") == key for task in tasks_of(content)):
        raise BadInput(f"The plan has a task {str(key)[:40]!r} already, or that is not a name.")
    return key


def _change(content: Content, edit: Edit) -> None:
    _find(content, edit.get("key")).update(_known(edit.get("fields")))


def _add(content: Content, edit: Edit) -> None:
    key = _new(content, edit.get("key"))
    content.setdefault("tasks", []).append({"key": key, **_known(edit.get("fields"))})


def _remove(content: Content, edit: Edit) -> None:
    """What waited for the task waits for what it waited for."""
    gone = _find(content, edit.get("key"))
    content["tasks"].remove(gone)
    _lead(content, str(gone["key"]), _merged(gone.get("needs")))


def _split(content: Content, edit: Edit) -> None:
    """The first part keeps key and blueprint; the second needs it, and whatever waited for the task waits for that."""
    first = _find(content, edit.get("key"))
    key = _new(content, edit.get("new"))
    second = {**copy.deepcopy(first), **_known(edit.get("second")), "key": key, "needs": [str(first["key"])]}
    second.pop("blueprint", None)
    _lead(content, str(first["key"]), [key])
    first.update(_known(edit.get("first")))
    content["tasks"].insert(content["tasks"].index(first) + 1, second)


def _join(content: Content, edit: Edit) -> None:
    """The other task becomes part of the first: what it says is added, what waited for it waits for the first."""
    kept, other = _find(content, edit.get("key")), _find(content, edit.get("other"))
    if kept is other:
        raise BadInput("Choose two tasks to join.")
    own = {str(kept["key"]), str(other["key"])}
    for name in ("description", "expects"):
        kept[name] = "\n\n".join(str(task.get(name)) for task in (kept, other) if task.get(name))
    kept["minutes"] = sum(int(task.get("minutes") or 0) for task in (kept, other))
    for name in ("requirements", "files", "packages"):
        kept[name] = _merged(kept.get(name), other.get(name))
    kept["needs"] = [need for need in _merged(kept.get("needs"), other.get("needs")) if need not in own]
    content["tasks"].remove(other)
    _lead(content, str(other["key"]), [str(kept["key"])])


def _move(content: Content, edit: Edit) -> None:
    task, tasks = _find(content, edit.get("key")), content["tasks"]
    at = tasks.index(task)
    to = at + (-1 if edit.get("by") == -1 else 1)
    if not 0 <= to < len(tasks):
        raise BadInput(f"{task['key']} cannot move further.")
    tasks[at], tasks[to] = tasks[to], tasks[at]


_VERBS: dict[str, Callable[[Content, Edit], None]] = {
    "change": _change,
    "add": _add,
    "remove": _remove,
    "split": _split,
    "join": _join,
    "move": _move,
}
VERBS = tuple(_VERBS)
