"""The walk over the blocks of a document: which block is, or belongs to, which requirement."""

from __future__ import annotations

import re
from collections import Counter

from agents.requirements.blocks import DocumentBlock
from agents.requirements.drafts import ID_WORD, Draft
from agents.requirements.ids import IdMatch, worded_id
from agents.requirements.model import KINDS, Kind, Paragraph
from agents.requirements.outline import Outline
from agents.requirements.rows import ASIDE, table_drafts
from agents.requirements.sections import Role, heading_role
from agents.requirements.sentences import is_modal, label_of, modal_sentences, split_sentences, tidy, user_story

_KINDS = frozenset(KINDS)
_SCENARIO = re.compile(r"^(?:Scenario(?: Outline)?:|Given\s)")
_STEP_WORD = re.compile(r"^(?:Given|When|Then|And|But|Examples:)\b|^\|")
_BELONGS = frozenset(
    "target example examples note notes rationale log-schema schema details default priority estimate status".split()
)
_ANNOUNCES = re.compile(r"\b(?:the following|as follows|listed below)\b", re.IGNORECASE)
_ACTOR = re.compile(
    r"\b(?:systems?|agents?|applications?|apps?|tools?|loop|mechanism|services?|users?)\b", re.IGNORECASE
)


class Walker:
    """Collects drafts and the paragraphs that became none."""

    def __init__(self, blocks: list[DocumentBlock]) -> None:
        self.blocks = blocks
        self.drafts: list[Draft] = []
        self.unmapped: list[Paragraph] = []
        self.container: Draft | None = None
        self.container_level = 0
        self.open: Draft | None = None
        self.criteria = False
        self.open_criteria = False
        self.scenario = False
        self.list_role: Role | None = None
        self.families = _families(blocks)
        self.known_ids = {block.defines.key for block in blocks if block.defines}
        self.design = _is_design_document(blocks, self.families)
        self.outline = Outline(design=self.design)

    def walk(self) -> None:
        """Go through all blocks once."""
        for index, block in enumerate(self.blocks):
            following = self.blocks[index + 1] if index + 1 < len(self.blocks) else None
            if block.kind == "heading":
                self._heading(block)
            elif block.kind == "table":
                self._table(block)
            elif block.kind == "code":
                self._code(block)
            else:
                self._text(block, following)
            if block.kind != "item" and not block.text.endswith(":"):
                self.list_role = None
        self._close()

    # --- headings

    def _heading(self, block: DocumentBlock) -> None:
        self._close()
        self.scenario = False
        found = self._id(block.defines)
        if self.container and block.level > self.container_level and not found:
            self.criteria = heading_role(block.text) == "acceptance"
            self.container.cover(_span(block))
            return
        self.container, self.criteria = None, False
        above = self.outline.enter(block.text, block.level, block.a)
        if found and (above != "mute" or found.certain):
            draft = self._draft(block, found.kind or _kind_of(self.outline.role()))
            draft.key, draft.family, draft.title = found.key, found.prefix, found.title or found.rest
            draft.parts = [" ".join(filter(None, (found.title, found.rest)))]
            draft.weak = above == "mute"
            draft.source = "heading"
            self.container, self.container_level = draft, block.level
            self._keep(draft)

    # --- text

    def _text(self, block: DocumentBlock, following: DocumentBlock | None) -> None:
        if self._scenario_step(block, following):
            return
        found = self._id(block.defines or worded_id(block.text))
        if found and self._is_criterion(found, block):
            return
        if found and (self.outline.role() != "mute" or found.certain):
            self._define(block, found)
            return
        if self.open and self._belongs(block, self.open):
            self._attach(self.open, block, criterion=self.open_criteria)
            return
        if self._criteria_label(block):
            return
        self._close()
        if self.container:
            self._attach(self.container, block, criterion=self.criteria)
            return
        story = user_story(block.text)
        if story and self.outline.role() != "non_goal":
            draft = self._draft(block, "story", story)
            self._open(draft)
            return
        self._by_role(block)

    def _id(self, found: IdMatch | None) -> IdMatch | None:
        return found if found and (found.known or found.prefix in self.families) else None

    def _define(self, block: DocumentBlock, found: IdMatch) -> None:
        self._close()
        role = (self.list_role if block.kind == "item" else None) or self.outline.role()
        kind = found.kind or _kind_of(role)
        if role == "non_goal" or (role == "acceptance" and found.kind is None):
            kind = _kind_of(role)
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
            self.open.add(block.text, _span(block), criterion=True)
            return True
        if self.container and self.container.kind != "acceptance":
            self.container.add(block.text, _span(block), criterion=True)
            return True
        return False

    def _belongs(self, block: DocumentBlock, draft: Draft) -> bool:
        deeper = block.indent > draft.indent
        if block.kind == "item":
            # A list under "FR-01: The system shall support:" is the rest of that sentence.
            if self.open_criteria:
                return deeper or draft.source == "para"
            adjacent = bool(draft.key) and not block.after_blank
            introduced = draft.source == "para" and (draft.parts[-1].endswith(":") or adjacent)
            listed = draft.source == "para" and len(draft.blocks) > 1 and draft.blocks[-1][0] == "item"
            return (deeper and draft.source == "item") or introduced or (listed and not block.after_blank)
        if deeper and draft.source == "item":
            return True
        label = label_of(block.text)[0].lower().replace(" ", "-")
        if block.after_blank:
            return False
        return bool(draft.key) or label in _BELONGS

    def _attach(self, draft: Draft, block: DocumentBlock, *, criterion: bool) -> None:
        label, rest = label_of(block.text)
        role = heading_role(label) if label else None
        if role == "acceptance":
            if draft is self.container:
                self.criteria = True
            else:
                self.open_criteria = True
            draft.add(rest, _span(block), criterion=True)
            return
        if label.lower() in ASIDE:
            draft.cover(_span(block))
            return
        story = user_story(block.text)
        if story and draft.family in ("R", "REQ", "US", "STORY", "F", "UC"):
            draft.kind = "story"
        text = rest if role == "story" and rest else block.text
        draft.add(text, _span(block), criterion=criterion)

    def _criteria_label(self, block: DocumentBlock) -> bool:
        """`Acceptance criteria:` right after a requirement: what follows are its criteria."""
        label, rest = label_of(block.text)
        if not label or heading_role(label) != "acceptance" or self.outline.role() == "acceptance":
            return False
        if self.container:
            self.criteria = True
            self.container.add(rest, _span(block), criterion=True)
            return True
        if self.open is None or self.open.kind not in ("story", "functional", "non_functional"):
            return False
        self.open.add(rest, _span(block), criterion=True)
        self.open_criteria = True
        return True

    def _by_role(self, block: DocumentBlock) -> None:
        role = (self.list_role if block.kind == "item" else None) or self.outline.role()
        label, rest = label_of(block.text)
        labelled = heading_role(label) if label else None
        if labelled in _KINDS and role in _KINDS and role not in ("non_goal", "acceptance", "story", "goal"):
            role = labelled or role
        if block.kind == "item":
            kind = "constraint" if role == "design" else role if role in _KINDS else None
            draft = self._draft(block, _kind_of(role) if kind is None and role != "prose" else _as_kind(kind))
            draft.source, draft.title = "item", label if rest else ""
            draft.weak = role == "mute"
            if role == "mute" or (role == "design" and label.lower().startswith("example")):
                draft.kind = None
            self._open(draft)
            return
        if block.text.startswith("<!--") or (block.kind == "para" and self._only_mentions(block.text)):
            self._leave_out(block)
        elif _introduces(block.text) and not (role in _KINDS and rest):
            intro = heading_role(block.text)
            if intro in ("non_goal", "acceptance") or (len(block.text.split()) <= 6 and intro in _KINDS):
                self.list_role = intro
            self._leave_out(block)
        elif role in _KINDS:
            draft = self._draft(block, _kind_of(role))
            draft.title = label if rest else ""
            self._open(draft)
        elif role == "design" and (is_modal(block.text) or _ACTOR.search(block.text)):
            self._keep(self._draft(block, "functional"))
        elif role != "mute" and is_modal(block.text):
            for sentence in modal_sentences(tidy(block.text)):
                self._keep(self._draft(block, "functional", sentence))
        else:
            self._leave_out(block)

    def _only_mentions(self, text: str) -> bool:
        """A remark on requirements that are defined elsewhere is none itself."""
        return any(key in self.known_ids for key in ID_WORD.findall(text)) and not is_modal(text)

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
                host.add(text, _span(block), criterion=True)
            else:
                self._close()
                draft = self._draft(block, "acceptance")
                draft.source = "para"
                self._open(draft)
            return True
        if self.scenario and _STEP_WORD.match(text):
            host = self.container or self.open
            if host and host.acceptance:
                host.cover(_span(block))
                host.acceptance[-1] = f"{host.acceptance[-1]} {tidy(text)}"
                return True
            if host:
                host.add(text, _span(block))
                return True
        self.scenario = False
        return False

    # --- tables and code

    def _table(self, block: DocumentBlock) -> None:
        self._close()
        if block.table is None:
            return
        role = self.list_role or self.outline.role()
        made = table_drafts(block.table, role, self.families, design=self.design)
        for draft in made:
            draft.section, draft.step = self.outline.place()
            self._keep(draft)
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
            host.add(block.text, _span(block))
        else:
            self._close()
            self._leave_out(block)

    # --- drafts

    def _draft(self, block: DocumentBlock, kind: Kind | None, text: str | None = None) -> Draft:
        draft = Draft(block.a, block.b, kind, [block.text if text is None else text])
        draft.section, draft.step = self.outline.place()
        draft.indent, draft.source = block.indent, block.kind
        draft.blocks = [_span(block)]
        return draft

    def _open(self, draft: Draft) -> None:
        self.open, self.open_criteria = draft, False
        self._keep(draft)

    def _keep(self, draft: Draft) -> None:
        self.drafts.append(draft)
        draft.under = self.outline.lines()

    def _close(self) -> None:
        """A candidate from prose becomes a requirement when it demands something."""
        draft, self.open, self.open_criteria = self.open, None, False
        if draft and draft.kind is None and not draft.weak and is_modal(draft.text):
            draft.kind = "functional"

    def _leave_out(self, block: DocumentBlock) -> None:
        kind = block.kind if block.kind in ("item", "code") else "text"
        self.unmapped.append(Paragraph(tidy(block.text), (block.a, block.b), kind, self.outline.place()[0]))


def _introduces(text: str) -> bool:
    """Whether a paragraph only announces what comes after it."""
    if text.startswith("**") and text.endswith("**") and text.count("**") == 2:
        return True
    text = text.rstrip("*_ ")
    if text.endswith(":"):
        return len(split_sentences(text)) == 1
    return bool(_ANNOUNCES.search(text)) and len(split_sentences(text)) == 1 and not is_modal(text)


def _span(block: DocumentBlock) -> tuple[str, int, int, str]:
    return block.kind, block.a, block.b, block.text


def _as_kind(role: str | None) -> Kind | None:
    return role if role in _KINDS else None  # type: ignore[return-value]  # the test narrows it


def _kind_of(role: Role | None) -> Kind:
    return _as_kind(role) or "functional"


def _families(blocks: list[DocumentBlock]) -> frozenset[str]:
    """Unknown prefixes that define at least two different ids: PAY-1, PAY-2."""
    found: Counter[str] = Counter()
    for key, prefix in {(m.key, m.prefix) for b in blocks if (m := b.defines) and not m.known}:
        if key:
            found[prefix] += 1
    return frozenset(prefix for prefix, count in found.items() if count > 1)


def _is_design_document(blocks: list[DocumentBlock], families: frozenset[str]) -> bool:
    """A specification with neither ids nor a section of requirements: its architecture is what it demands."""
    headings = [b for b in blocks if b.kind == "heading"]
    top = min((b.level for b in headings), default=0)
    for block in blocks:
        found = block.defines
        if found and (found.certain or found.prefix in families):
            return False
        if block.table and block.table.id_column() >= 0:
            return False
    wanted = ("functional", "non_functional", "story", "acceptance")
    return not any(heading_role(b.text) in wanted for b in headings if b.level <= top + 1 or b.level == 8)
