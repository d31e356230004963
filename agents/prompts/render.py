"""Rendering prompts. Model, repository and web text goes in as a variable, never as template text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

PROMPTS = Path(__file__).parent
# What templates show outside of fences besides the product's own words, by its source
# (agents.prompts.provenance.Source): a task's key and title, lists of paths, one-line reasons.
INLINE: dict[str, tuple[str, ...]] = {
    "task.head": ("model",),
    "task.lesson": ("model",),
    "task.review": ("model",),
    "task.rejected": ("model",),
    "task.refused": ("model",),
    "task.unreadable": ("model",),
    "plan.again": ("model",),
    "plan.blueprint-again": ("model",),
    "task.fragment-again": ("model",),
    "task.logic": ("model",),
    "chat.results": ("model",),
    "outside.again": ("model",),
    "todo.context": ("model", "test-output"),
    "todo.work": ("model", "person", "test-output"),
    "todo.judge": ("model", "test-output"),
    "todo.again": ("model",),
    "review.piece": ("repository",),
    "review.check": ("repository",),
    "review.proof": ("repository",),
    "question": ("person",),
    "question.order": ("person",),
}


@cache
def _environment() -> Environment:
    # Prompts are plain text for a model, not HTML: escaping would change the code in them.
    return Environment(
        loader=FileSystemLoader(PROMPTS),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        autoescape=False,  # noqa: S701
    )


def render_text(name: str, **variables: Any) -> str:
    """Render prompts/<name>.md; raises jinja2.UndefinedError for a variable that was forgotten."""
    return _environment().get_template(f"{name}.md").render(**variables).strip() + "\n"


def fence(text: str) -> str:
    """A run of backticks longer than any in the text, so that quoted text cannot close its own fence."""
    longest = 2
    run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return "`" * (longest + 1)


def quoted(text: str, info: str = "") -> str:
    """The text in a fence of its own: data, marked as such."""
    marks = fence(text)
    return f"{marks}{info}\n{text.rstrip()}\n{marks}"
