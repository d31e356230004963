"""A blueprint as a plan: one task that carries it, with its fragments in words for the person who approves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agents.fragments.assembler import files_of, packages_of, tests_of
from agents.fragments.blueprint import LogicExample, LogicFragment, ProjectBlueprint, StateField, UIFragment

TEAM = "streamlit"  # in a recipe
# Agent minutes; what a blueprint may hold at most (agents.fragments.blueprint) stays within the hour of one task.
_BASE_MINUTES, _LOGIC_MINUTES, _UI_MINUTES = 5, 3, 4


def plan_of(blueprint: ProjectBlueprint, requirements: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The plan: one task that covers all `requirements` but what the product shall not do."""
    minutes = _BASE_MINUTES + _LOGIC_MINUTES * len(blueprint.logic) + _UI_MINUTES * len(blueprint.ui)
    pages = ", ".join(page.title for page in blueprint.ui)
    task = {
        "key": "T-01",
        "title": f"Build {blueprint.title} as a Streamlit app"[:200],
        "description": described(blueprint),
        "kind": "code",
        "agent": "coder",
        "minutes": minutes,
        "requirements": [str(row["key"]) for row in requirements if row.get("kind") != "non_goal"],
        "needs": [],
        "expects": f"The app starts without an error and shows: {pages}.",
        "files": files_of(blueprint),
        "packages": packages_of(blueprint),
        "blueprint": blueprint.to_json(),
    }
    return {"tasks": [task], "notes": f"{len(blueprint.logic)} logic fragments, {len(blueprint.ui)} UI fragments."}


def described(blueprint: ProjectBlueprint) -> str:
    """Every fragment in words."""
    parts = [blueprint.summary]
    if blueprint.state:
        parts.append("State:\n" + "\n".join(f"- {state_line(one)}" for one in blueprint.state))
    logic = [f"- {one.signature[4:-1]}: {one.purpose}\n{_examples(one)}" for one in blueprint.logic]
    pages = [f"- {page.title} ({page.name}): {page.purpose}{_touches(page)}" for page in blueprint.ui]
    return "\n\n".join([*parts, "Logic fragments:\n" + "\n".join(logic), "UI fragments:\n" + "\n".join(pages)])


def state_line(field: StateField) -> str:
    """A state field with its type and its value at the start."""
    return f"{field.name}: {field.type} = {field.default}"


def example_line(example: LogicExample) -> str:
    """An example as one reads it."""
    return f"{example.call} raises {example.raises}" if example.raises else f"{example.call} → {example.result}"


def edited_words(blueprint: ProjectBlueprint, description: str) -> str:
    """What a person wrote into the description of the task: the lines that do not follow from the blueprint."""
    known = {line.strip() for line in described(blueprint).splitlines()}
    return "\n".join(line for line in description.splitlines() if line.strip() and line.strip() not in known)


def _examples(fragment: LogicFragment) -> str:
    return "\n".join(f"  - {example_line(one)}" for one in fragment.examples)


def _touches(page: UIFragment) -> str:
    parts = [
        f"{word} {', '.join(names)}"
        for word, names in (("uses", page.uses), ("reads", page.reads), ("writes", page.writes))
        if names
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def logic_words(fragment: LogicFragment) -> str:
    """All that the coder of a logic fragment is told of it."""
    examples = "\n".join(f"- {example_line(one)}" for one in fragment.examples)
    return f"{fragment.signature}\n{fragment.purpose}\n\nExamples:\n{examples}"


def page_words(page: UIFragment) -> str:
    """All that the composer of a page is told of it, besides functions and state."""
    return f"def {page.function}() -> None:\nPage: {page.title}\n{page.purpose}"


def functions_words(blueprint: ProjectBlueprint, page: UIFragment) -> str:
    """The functions that a page calls, by signature and purpose, with one example each."""
    return "\n".join(
        f"{one.signature[:-1]}\n    {one.purpose} For example: {example_line(one.examples[0])}"
        for one in blueprint.logic_of(page)
    )


def state_words(blueprint: ProjectBlueprint, page: UIFragment) -> str:
    """The state fields that a page touches."""
    writes = {*page.writes}
    return "\n".join(
        f"{state_line(one)}{'  (the page changes it)' if one.name in writes else ''}"
        for one in blueprint.state_of(page)
    )


def task_fields(blueprint: Mapping[str, Any]) -> dict[str, Any]:
    """What a task that carries a blueprint has beside its row: the blueprint, and the tests that follow from it.

    Raises pydantic.ValidationError for one that is none.
    """
    read = ProjectBlueprint.model_validate(dict(blueprint))
    return {"blueprint": read.to_json(), "tests_given": tests_of(read)}
