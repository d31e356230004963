"""The headings that are open at a place in the document, and what they promise there."""

from __future__ import annotations

from agents.requirements.drafts import DraftSection, new_section
from agents.requirements.model import KINDS
from agents.requirements.sections import Role, heading_number, heading_role, plain_title

_KINDS = frozenset(KINDS)


class Outline:
    """The stack of open sections; `headings` keeps all that ever were.

    `title` is the line of the heading that names the document ("Requirements of the shop"), `name` the same where it
    is the only one above others, `parts` what its sections are about unless they say so themselves.
    """

    def __init__(self, *, design: bool, title: int = 0, name: int = 0, parts: Role = "part") -> None:
        self.title, self.name, self.parts = title, name, parts
        self.sections: list[DraftSection] = []
        self.headings: list[DraftSection] = []
        self.design = design

    def enter(self, title: str, level: int, line: int) -> Role:
        """Open a section; the answer is the role of the section around it."""
        self._leave(title, level)
        above = self.role()
        own: Role | None = "prose" if line == self.title else heading_role(title)
        if own == "design" and (not self.design or above in _KINDS):
            own = None
        if own is None and line != self.name and self.untitled():
            own = self.parts
        if above in _KINDS and own in ("prose", "mute") and len(plain_title(title).split()) > 2:
            # "2.4 PRD Generation Module" is a part of the requirements, "Usage" or "Risks" is not.
            own = None
        if above == "non_goal" and own not in ("story", "acceptance", "non_goal"):
            own = above
        if above == "mute" and own in ("design", "functional"):
            own = None
        section = new_section(level, title, own or above, line, self.sections)
        self.sections.append(section)
        self.headings.append(section)
        return above

    def untitled(self) -> bool:
        """Whether no heading but the document's title is open."""
        return all(s.line in (self.title, self.name) for s in self.sections)

    def place(self) -> tuple[tuple[str, ...], str]:
        """The path of headings here, and the step."""
        return tuple(s.title for s in self.sections), self.sections[-1].step if self.sections else ""

    def lines(self) -> tuple[int, ...]:
        """The lines of the open headings."""
        return tuple(s.line for s in self.sections)

    def _leave(self, title: str, level: int) -> None:
        """Close the sections that this heading ends: numbers decide before depth, since depth is often wrong."""
        number = heading_number(title)
        if number:
            cut = self._numbered_place(number, level)
            if cut is not None:
                del self.sections[cut:]
                return
        while self.sections and self.sections[-1].level >= level:
            self.sections.pop()

    def _numbered_place(self, number: tuple[int, ...], level: int) -> int | None:
        """How many open sections stay open above a heading with this number; None when numbers do not tell."""
        siblings = [
            index
            for index, other in enumerate(self.sections)
            if len(other.number) >= len(number) and other.number[: len(number) - 1] == number[:-1]
        ]
        for index in reversed(siblings):
            other = self.sections[index]
            if other.level == level and len(other.number) == len(number):
                return index
        for index in siblings:
            if number[-1] > self.sections[index].number[len(number) - 1]:
                return index
        for index in range(len(self.sections) - 1, -1, -1):
            other = self.sections[index]
            if other.number and len(number) > len(other.number) and number[: len(other.number)] == other.number:
                return index + 1
        return None

    def role(self) -> Role:
        """What counts here; prose where no heading says anything."""
        for section in reversed(self.sections):
            if section.role:
                return section.role
        return "prose"
