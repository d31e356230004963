"""Text without an id and without a requirement around it: its section and its words say what it is."""

from __future__ import annotations

import re

from agents.requirements.blocks import DocumentBlock
from agents.requirements.collector import Collector, kind_of
from agents.requirements.drafts import Draft
from agents.requirements.languages import ends_open, is_excluded, says
from agents.requirements.model import KINDS, Kind
from agents.requirements.sections import Role, heading_role
from agents.requirements.sentences import is_modal, label_of, split_sentences
from agents.requirements.verdicts import introduces, says_several

_KINDS = frozenset(KINDS)
_DEMANDS = frozenset(("functional", "non_functional", "constraint"))
# Comments, definitions of terms, and fields of reStructuredText.
_NO_TEXT = re.compile(r"<!--|:\s|:[\w-]+:")
_ACTOR = re.compile(
    r"\b(?:systems?|agents?|applications?|apps?|tools?|loop|mechanism|services?|users?)\b", re.IGNORECASE
)


class RoleReader(Collector):
    """Reads a block by the role of its list or section."""

    def __init__(self, blocks: list[DocumentBlock]) -> None:
        super().__init__(blocks)
        self.open: Draft | None = None
        self.open_criteria = False
        self.list_role: Role | None = None

    def _open(self, draft: Draft) -> None:
        self.open, self.open_criteria = draft, False
        self._keep(draft)

    def _by_role(self, block: DocumentBlock) -> None:
        label, rest = label_of(block.text)
        role = self._role(block, heading_role(label) if label else None)
        if block.kind == "item":
            self._item(block, role, label, titled=bool(rest))
        elif self._demands_nothing(block):
            self._leave_out(block)
        elif introduces(block.text) and not (role in _KINDS and rest) and not self.before_example:
            self._introduction(block, role)
        elif role in _DEMANDS and says_several(block.text):
            self._prose(block, role)
        elif role in _KINDS:
            self._statement(block, role, label if rest else "")
        elif role == "question" or (role == "mute" and ends_open(block.text)):
            self._ask(block)
        elif role == "mute":
            self._leave_out(block)
        elif role == "design" and (is_modal(block.text) or _ACTOR.search(block.text)):
            self._keep(self._draft(block, "functional"))
        else:
            self._prose(block)

    def _demands_nothing(self, block: DocumentBlock) -> bool:
        return bool(_NO_TEXT.match(block.text)) or (block.kind == "para" and self.only_mentions(block.text))

    def _role(self, block: DocumentBlock, labelled: Role | None) -> Role:
        """What stands in this place of the document, and under this label."""
        item = block.kind == "item"
        role = (self.list_role if item else None) or self.outline.role()
        if role == "part" or (role == "prose" and self.specified and self.outline.untitled()):
            role = "prose" if self.letter or self.numbered or not item else "functional"
        if role == "prose" and self.listed and item:
            role = "functional"
        if labelled in _KINDS and role in _KINDS and role not in ("non_goal", "acceptance", "story", "goal"):
            role = labelled or role
        return role

    def _item(self, block: DocumentBlock, role: Role, label: str, *, titled: bool) -> None:
        if label and len(label.split()) < 3 and says("label_aside", label):
            self._leave_out(block)
        elif self.letter and not self.listed and role == "prose" and len(split_sentences(block.text)) > 1:
            self._prose(block)
        elif role == "question" or (role == "mute" and ends_open(block.text)):
            self._ask(block)
        else:
            kind: Kind | None = None
            if role == "design" and not label.lower().startswith("example"):
                kind = "constraint"
            elif role not in ("design", "prose", "mute"):
                kind = kind_of(role)
            draft = self._draft(block, kind)
            draft.source, draft.title, draft.weak = "item", label if titled else "", role == "mute"
            self._open(draft)

    def _introduction(self, block: DocumentBlock, role: Role) -> None:
        """What stands before a list may say what the list holds."""
        intro = heading_role(split_sentences(block.text)[-1]) or (
            "functional" if self.talk and role == "prose" else None
        )
        intro = "non_goal" if is_excluded(block.text) else intro
        if intro in ("non_goal", "acceptance", "question") or (len(block.text.split()) <= 6 and intro in _KINDS):
            self.list_role = intro
        self._leave_out(block)

    def _statement(self, block: DocumentBlock, role: Role, title: str) -> None:
        """A paragraph in a section of requirements."""
        if role == "goal" or (role in _DEMANDS and says("today", block.text) and not is_modal(block.text)):
            self._leave_out(block)
        elif self.is_remark(block, role):
            self._prose(block)
        else:
            draft = self._draft(block, kind_of(role))
            draft.title = title
            self._open(draft)
