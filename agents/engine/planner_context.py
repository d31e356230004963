"""What the planning steps work with: rows, clients, and one way to ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.context.knowledge import Knowledge
from agents.engine.ask import ask, question_of
from agents.engine.contracts import ModelContext
from agents.llm.base import Message
from agents.memory.base import LessonStore, NoLessons
from agents.personas import FRESH_TEMPERATURE, PLANNER, Persona
from agents.prompts.provenance import as_turn, render
from agents.workspace.repository import Repository


class PlanStore(Protocol):
    """The rows that planning writes and reads."""

    def record(
        self,
        requirements: Sequence[Mapping[str, Any]],
        unmapped: Sequence[Mapping[str, Any]],
        questions: Sequence[Mapping[str, Any]],
    ) -> None:
        """Keep what was found, and what the document leaves open; a second call replaces the first."""
        ...

    def confirmed(self) -> bool:
        """True once the architect confirmed the requirements."""
        ...

    def waits_for(self) -> str:
        """What has to end before there is a plan: a build of what the document replaces; "" for nothing."""
        ...

    def any_found(self) -> bool:
        """True when the document has at least one requirement that was not rejected."""
        ...

    def confirm_if_waived(self, *, small: bool) -> None:
        """Confirm in the engine's name where the project asks for no approval, or approving a small plan is enough."""
        ...

    def requirements(self) -> list[dict[str, Any]]:
        """The accepted requirements that are to be planned: key, text, kind, acceptance.

        Of a document that replaces another one those that it added or altered, and built ones that it removed.
        """
        ...

    def passages(self) -> str:
        """What the document says of these requirements besides their texts: examples, formats, paths."""
        ...

    def background(self) -> list[str]:
        """What is not to be planned, a line each: what is built as it is, and what other documents ask for."""
        ...

    def problems_of(self, plan: Mapping[str, Any]) -> list[str]:
        """What is wrong with a plan; empty when it can be proposed."""
        ...

    def additions_of(self, plan: Mapping[str, Any]) -> list[str]:
        """What a valid plan adds that nobody asked for."""
        ...

    def propose(self, plan: Mapping[str, Any]) -> None:
        """Put the plan before a person, with whatever problems it still has."""
        ...


@dataclass(kw_only=True)
class PlanContext(ModelContext):
    """Clients and doors of the planning steps."""

    text: str
    comment: str  # on the last plan of this document, which the architect did not accept
    last_plan: str = ""  # as JSON
    code: str = ""  # of the repository that the plan builds on; a Material
    tests: str = ""  # how the repository's tests are run; a Material
    recipe: str = ""  # what the project's recipe says to the planner; a Material
    starts: bool = False  # a whole product is planned from the recipe: one requirement of it is no small work
    background: str = ""  # what the document says beside its requirements
    repository: Repository | None = None  # to look at, at `commit`; None before there is code
    commit: str = ""
    knowledge: Knowledge = field(default_factory=Knowledge)
    lessons: LessonStore = field(default_factory=NoLessons)
    lessons_across_projects: bool = False
    task_store: PlanStore
    team: str = ""  # of the project's recipe: who plans and builds in place of planner and coder
    sample: int = 0  # which of several plans to compare this is; they are made at a higher temperature

    def key(self, name: str) -> str:
        """The key of a step's record, its own for each plan that this run makes."""
        return f"sample-{self.sample}/{name}" if self.sample else name


def say(
    ctx: PlanContext,
    messages: list[Message],
    *,
    step: str,
    key: str,
    schema: dict[str, Any] | None = None,
    persona: Persona = PLANNER,
) -> str:
    """The model's reply to one step of planning."""
    temperature = FRESH_TEMPERATURE if ctx.sample else None
    more: dict[str, Any] = {"step": step, "key": ctx.key(key), "schema": schema, "temperature": temperature}
    return ask(question_of(ctx, persona, messages, **more)).text


def system_turn(ctx: PlanContext) -> Message:
    """The turn that every conversation of the planner begins with."""
    return as_turn("system", render("system.planner", house_rules=ctx.house_rules), persona=PLANNER.name)
