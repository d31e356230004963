"""The walk over the blocks of a document: which block is, or belongs to, which requirement."""

from __future__ import annotations

import re

from agents.requirements.blocks import CLAUSE, DocumentBlock
from agents.requirements.by_role import RoleReader
from agents.requirements.collector import belongs, kind_of, question, span_of
from agents.requirements.drafts import Draft
from agents.requirements.gherkin import has_scenario
from agents.requirements.ids import IdMatch, worded_id
from agents.requirements.languages import is_excluded, is_open, is_struck, says
from agents.requirements.legend import legend_pairs
from agents.requirements.model import Paragraph
from agents.requirements.rows import ASIDE
from agents.requirements.sections import heading_role
from agents.requirements.sentences import is_modal, label_of, tidy, user_story
from agents.requirements.survey import NAMED, is_named, story_headings, title_items
from agents.requirements.verdicts import (
    is_aside,
    is_criterion_of_ears,
    is_marked_out,
    is_withdrawn,
    of_sentence,
)

_SCENARIO = re.compile(r"^(?:Scenario(?: Outline)?:|Given\s)")
_STEP_WORD = re.compile(r"^(?:Given|When|Then|And|But|Examples:)\b|^\|")


class Walker(RoleReader):
    """Decides block by block."""

    def __init__(self, blocks: list[DocumentBlock]) -> None:
        super().__init__(blocks)
        self.container: Draft | None = None
        self.container_level = 0
        self.criteria = self.told = False
        self.scenario = False
        self.titles, self.stories = title_items(blocks), story_headings(blocks)
        self.ticks = any(b.box == "[x]" for b in blocks) and any(b.kind == "item" and b.box != "[x]" for b in blocks)
        self.list_indent = -1
        self.aside_next = False

    def walk(self) -> None:
        for index, block in enumerate(self.blocks):
            following = self.blocks[index + 1] if index + 1 < len(self.blocks) else None
            aside, self.aside_next = self.aside_next, False
            self.before_example = following is not None and following.kind == "code" and is_modal(block.text)
            if block.kind == "heading":
                self._heading(block, card=index in self.stories)
            elif block.aside or (aside and block.kind != "item"):
                self._remark(block)
            elif block.kind == "scenario":
                self._scenario(block)
            elif index in self.titles:
                self._list_title(block)
            elif block.box == "[x]" and self.ticks:
                self._close()
                self._leave_out(block)
            elif block.box in self.marks:
                self._marked(block)
            elif block.kind == "table":
                self._table(block)
            elif block.kind == "code":
                self._code(block)
            elif block.kind == "answer":
                self._close()
                self._answer(block)
            else:
                self._text(block, following)
            if block.kind != "item" and not block.text.endswith((":", "\uff1a")):
                self.list_role, self.list_indent = None, -1
        self._close()

    # --- headings

    def _heading(self, block: DocumentBlock, *, card: bool) -> None:
        self._close()
        self.scenario = False
        found = self._id(block.defines)
        named = card or is_struck(block.text) or is_named(block.text) or self.demands(block)
        if self.container and block.level > self.container_level and not (found or named):
            self.criteria = heading_role(block.text) == "acceptance"
            self.container.cover(span_of(block))
            return
        self.container, self.criteria, self.told = None, False, False
        above = self.outline.enter(block.text, block.level, block.a)
        if named and not found and above != "mute":
            draft = self._draft(block, "story" if card else kind_of(self.outline.role()))
            draft.title, draft.parts, draft.source = NAMED.sub("", block.text), [], "heading"
            self.container, self.container_level = draft, block.level
            self._keep(draft)
        if found and (above != "mute" or found.certain):
            excluded = self.outline.role() == "non_goal"
            draft = self._draft(block, "non_goal" if excluded else found.kind or kind_of(self.outline.role()))
            draft.key, draft.family, draft.title = found.key, found.prefix, found.title or found.rest
            draft.parts = [" ".join(filter(None, (found.title, found.rest)))]
            draft.weak = above == "mute"
            draft.source = "heading"
            self.container, self.container_level = draft, block.level
            self._keep(draft)

    # --- what stands between

    def _remark(self, block: DocumentBlock) -> None:
        """A quotation, a comment, an example: no requirement, but it may say what is open or dropped."""
        self._close()
        comment = block.text.startswith("#")
        if comment and is_open(block.text):
            self._ask(block)
        elif comment and (is_withdrawn(block.text) or is_excluded(block.text) or has_scenario([block.text[1:]])):
            self._keep(self._draft(block, "non_goal", block.text.lstrip("# ")))
        elif self.container and not block.aside:
            self.container.cover(span_of(block))
        else:
            self._leave_out(block)

    def _marked(self, block: DocumentBlock) -> None:
        self._close()
        if self.marks[block.box] == "question":
            self._ask(block)
        else:
            self._keep(self._draft(block, "non_goal"))

    def _list_title(self, block: DocumentBlock) -> None:
        self._close()
        role = heading_role(block.text)
        if role in ("non_goal", "question", "acceptance"):
            self.list_role, self.list_indent = role, block.indent
        self._leave_out(block)

    def _scenario(self, block: DocumentBlock) -> None:
        host = self.container or (self.open if self.open and self.open.key else None)
        if host:
            host.add(block.text, span_of(block), criterion=True)
        else:
            self._close()
            self._keep(self._draft(block, "non_goal" if is_marked_out(block.marker) else "functional"))

    # --- text

    def _text(self, block: DocumentBlock, following: DocumentBlock | None) -> None:
        if self._scenario_step(block, following):
            return
        if block.kind == "item" and block.indent <= self.list_indent:
            self.list_role, self.list_indent = None, -1
        found = self._id(block.defines or worded_id(block.text))
        if found and self._is_criterion(found, block):
            return
        if found and (self.outline.role() != "mute" or found.certain):
            self._define(block, found)
            return
        if self.open and belongs(block, self.open, criteria=self.open_criteria):
            self._attach(self.open, block, criterion=self.open_criteria)
            return
        if self._criteria_label(block) or self._is_beside(block):
            return
        self._close()
        if self.container and self._inside(self.container, block):
            return
        story = user_story(block.text)
        if story and self.outline.role() != "non_goal":
            draft = self._draft(block, "story", story)
            self._open(draft)
            return
        self._by_role(block)

    def _is_beside(self, block: DocumentBlock) -> bool:
        """Leave out a remark, and the list that it introduces."""
        label = label_of(block.text)[0]
        aside = says("old", block.text) or is_aside(block.text) or (label and says("label_aside", label))
        if block.kind != "para" or not aside or (is_open(block.text) and not legend_pairs(block.text)):
            return False
        self._close()
        self.aside_next = block.text.rstrip("*_ ").endswith((":", "\uff1a"))
        if self.aside_next:
            self.list_role = "mute"
        self._leave_out(block)
        return True

    def _inside(self, container: Draft, block: DocumentBlock) -> bool:
        """What stands below the heading of a requirement is of it."""
        clause = bool(CLAUSE.match(block.text))
        if (clause or block.kind == "item") and is_criterion_of_ears(block.text):
            self._ears(container, block)
        elif is_struck(block.text) or (clause and is_withdrawn(block.text)):
            self._keep(self._draft(block, "non_goal"))
        elif not self.told or block.kind == "item":
            self._attach(container, block, criterion=self.criteria)
        else:
            return False
        return True

    def _id(self, found: IdMatch | None) -> IdMatch | None:
        return found if found and (found.known or found.prefix in self.families) else None

    def _define(self, block: DocumentBlock, found: IdMatch) -> None:
        self._close()
        role = (self.list_role if block.kind == "item" else None) or self.outline.role()
        if role == "question":
            self._ask(block)
            return
        kind = found.kind or kind_of(role)
        if role == "non_goal" or (role == "acceptance" and found.kind is None):
            kind = kind_of(role)
        story = user_story(block.text)
        draft = self._draft(block, "story" if story and found.kind is None else kind)
        draft.key, draft.family, draft.title = found.key, found.prefix, found.title
        draft.parts = [f"({found.title}): {found.rest}" if found.title else found.rest]
        draft.weak = role == "mute"
        self._open(draft)

    def _is_criterion(self, found: IdMatch, block: DocumentBlock) -> bool:
        """AC lines inside a story are its criteria, not requirements of their own."""
        if found.prefix != "AC":
            return False
        if self.open and self.open.kind != "acceptance" and block.kind == "item" and block.indent > self.open.indent:
            self.open.add(block.text, span_of(block), criterion=True)
            return True
        if self.container and self.container.kind != "acceptance":
            self.container.add(block.text, span_of(block), criterion=True)
            return True
        return False

    def _attach(self, draft: Draft, block: DocumentBlock, *, criterion: bool) -> None:
        label, rest = label_of(block.text)
        role = heading_role(label) if label else None
        if role == "acceptance":
            if draft is self.container:
                self.criteria = True
            else:
                self.open_criteria = True
            draft.add(rest, span_of(block), criterion=True)
            return
        if label.lower() in ASIDE:
            draft.cover(span_of(block))
            return
        story = user_story(block.text)
        if story and draft.family in ("R", "REQ", "US", "STORY", "F", "UC"):
            draft.kind = "story"
        text = rest if role == "story" and rest else block.text
        draft.add(text, span_of(block), criterion=criterion)

    def _ears(self, container: Draft, block: DocumentBlock) -> None:
        """A criterion that states behaviour is a requirement: 2.1 of `Requirement 2`, as its author refers to it."""
        draft = self._draft(block, kind_of(self.outline.role()))
        number = re.search(r"\d+$", container.key)
        if number and block.marker[:-1].isdigit():
            draft.key, draft.family = f"{number[0]}.{block.marker[:-1]}", container.key
        if len(container.blocks) == 1:
            container.kind = None  # its title alone asks for nothing
        self.told = True
        self._keep(draft)

    def _criteria_label(self, block: DocumentBlock) -> bool:
        """`Acceptance criteria:` right after a requirement: what follows are its criteria."""
        label, rest = label_of(block.text)
        if not label or heading_role(label) != "acceptance" or self.outline.role() == "acceptance":
            return False
        if self.container:
            self.criteria = True
            self.container.add(rest, span_of(block), criterion=True)
            return True
        if self.open is None or self.open.kind not in ("story", "functional", "non_functional"):
            return False
        self.open.add(rest, span_of(block), criterion=True)
        self.open_criteria = True
        return True

    def _scenario_step(self, block: DocumentBlock, following: DocumentBlock | None) -> bool:
        """Gherkin: a scenario is one criterion, of the requirement around it or on its own."""
        text = block.text
        begins = text.startswith("Scenario") or (
            text.startswith("Given ") and following is not None and bool(_STEP_WORD.match(following.text))
        )
        if _SCENARIO.match(text) and begins and not (self.scenario and text.startswith("Given ")):
            self.scenario = True
            host = self.container or (self.open if self.open and self.open.key else None)
            if host:
                host.add(text, span_of(block), criterion=True)
            else:
                self._close()
                draft = self._draft(block, "acceptance")
                draft.source = "para"
                self._open(draft)
            return True
        if self.scenario and _STEP_WORD.match(text):
            host = self.container or self.open
            if host and host.acceptance:
                host.cover(span_of(block))
                host.acceptance[-1] = f"{host.acceptance[-1]} {tidy(text)}"
                return True
            if host:
                host.add(text, span_of(block))
                return True
        self.scenario = False
        return False

    # --- tables and code

    def _table(self, block: DocumentBlock) -> None:
        self._close()
        if block.table is None:
            return
        role = self.list_role or self.outline.role()
        made = self._rows(block.table, "prose" if role == "part" else role)
        table = block.table
        if not made and self.container:
            words = " ".join(part for row in table.rows for cell in row.cells for part in cell)
            self.container.add(words, ("table", table.a, table.b, ""))
        elif not made:
            for row in table.rows:
                text = " | ".join(" ".join(cell) for cell in row.cells)
                self.unmapped.append(Paragraph(tidy(text), (row.a, row.b), "table", self.outline.place()[0]))

    def _code(self, block: DocumentBlock) -> None:
        host = self.open or self.container
        inside = host is not None and host.source == "item" and block.indent > host.indent
        if host and (inside or host is self.container or host.parts[-1].rstrip("*` ").endswith(":")):
            host.add(block.text, span_of(block))
        else:
            self._close()
            self._leave_out(block)

    # --- drafts

    def _close(self) -> None:
        """A candidate from prose becomes a requirement when it demands something."""
        draft, self.open, self.open_criteria = self.open, None, False
        if draft and draft.kind is None and not draft.weak:
            verdict = of_sentence(draft.text, letter=self.letter)
            if verdict == "question":
                self.questions.append(question(draft))
            else:
                draft.kind = verdict
