"""What the walk over a document has collected, and how sentences are added to it."""

from __future__ import annotations

import re

from agents.requirements.answers import answer_verdict
from agents.requirements.blocks import DocumentBlock
from agents.requirements.drafts import ID_WORD, Draft
from agents.requirements.languages import is_open, says
from agents.requirements.legend import read_legend
from agents.requirements.model import KINDS, Kind, Paragraph
from agents.requirements.outline import Outline
from agents.requirements.rows import row_verdict, table_drafts
from agents.requirements.sections import Role, heading_role, plain_title
from agents.requirements.sentences import goes_on, is_modal, label_of, split_sentences, tidy
from agents.requirements.survey import (
    delimits,
    has_ids,
    id_families,
    is_bare,
    is_design_document,
    is_specification,
    is_talk,
    title_line,
)
from agents.requirements.tables import Table
from agents.requirements.verdicts import Verdict, of_sentence

_ASKS = re.compile(r"(how|why|wie|warum|comment|pourquoi|cómo|por qué)\b(?! (many|much|often|long)\b)")
_KINDS = frozenset(KINDS)
_BELONGS = frozenset(
    "target example examples note notes rationale log-schema schema details default priority estimate status".split()
)
_TOO_SHORT = "The document says no more than this. Who uses it, what does it keep and show, and when is it done?"


class Collector:
    """Drafts, questions and the paragraphs that became neither; and what holds for the whole document."""

    def __init__(self, blocks: list[DocumentBlock]) -> None:
        self.blocks = blocks
        self.drafts: list[Draft] = []
        self.questions: list[Paragraph] = []
        self.unmapped: list[Paragraph] = []
        self.families = id_families(blocks)
        self.known_ids = {block.defines.key for block in blocks if block.defines}
        self.numbered = has_ids(blocks, self.families)
        self.marks = read_legend(blocks)
        self.before_example = False  # the block at hand demands what the code after it shows
        self.design = not self.numbered and is_design_document(blocks)
        self.talk, bare = is_talk(blocks), is_bare(blocks)
        self.letter = self.talk or bare
        self.listed = bare and not self.talk and not self.numbered
        self.specified = is_specification(blocks) or (delimits(blocks) and not self.talk)
        parts: Role = "functional" if self.specified and not self.numbered else "part"
        title, name = title_line(blocks), title_line(blocks, least=2)
        self.outline = Outline(design=self.design, title=title, name=name, parts=parts)

    def _prose(self, block: DocumentBlock, role: Role = "prose") -> None:
        """Sentence by sentence: what is asked for, excluded, withdrawn or open; the rest is left over.

        In a section of requirements the rest details the sentence before it.
        """
        at, before, past = 0, None, False
        rules = not self.talk and self.outline.role() not in ("mute", "goal", "prose")
        sentences = split_sentences(block.text)
        spoken = self.letter and block.text[:1] in '"“„«「'  # what somebody asked to pass on
        for number, sentence in enumerate(sentences, start=1):
            start = max(at, block.text.find(sentence.split(" ", 1)[0], at))
            at = start + max(1, len(sentence) - 2)
            a, b = block.lines_of(start, start + len(sentence) - 1)
            b = block.b if number == len(sentences) else b
            piece = DocumentBlock("para", a, b, sentence)
            verdict = self._verdict(sentence, role, rules=rules, spoken=spoken, first=number == 1)
            further = goes_on(sentence)
            details = further if verdict == "functional" else role != "prose" or further
            if verdict == "functional" and further and (past or says("example", sentence)):
                verdict = None
            past = says("today", sentence) or (past and further)
            if before and details and verdict in (None, "functional"):
                before.add(sentence, span_of(piece))
                continue
            before = None
            if verdict is None or (sentence.endswith((":", "\uff1a")) and not self.before_example):
                self._leave_out(piece)
            elif verdict == "question":
                self._ask(piece)
            else:
                draft = self._draft(piece, kind_of(role) if verdict == "functional" else verdict, tidy(sentence))
                before = draft if verdict == "functional" else None
                self._keep(draft)

    def _verdict(self, sentence: str, role: Role, *, rules: bool, spoken: bool, first: bool) -> Verdict:
        """What a sentence is by itself, as one of a section with that role."""
        bare = sentence.strip('"“”„«»「」') if spoken else sentence
        verdict = of_sentence(bare, letter=self.letter or role != "prose", rules=rules)
        if verdict == "functional" and self.specified and self.outline.sections and self.outline.untitled():
            verdict = None  # an introduction says why
        if verdict is None and first and role != "prose" and not says("today", sentence):
            return "functional"
        return verdict

    def _ask(self, block: DocumentBlock) -> None:
        self.questions.append(Paragraph(tidy(block.text), (block.a, block.b), "question", self.outline.place()[0]))
        self._leave_out(block)

    def _answer(self, block: DocumentBlock) -> None:
        """A question is open, built or dropped as its answer says."""
        verdict = answer_verdict(block.text)
        if verdict == "question":
            self._ask(block)
        elif self.outline.role() != "mute":
            draft = self._draft(block, verdict or kind_of(self.outline.role()))
            draft.title = block.marker
            self._keep(draft)

    def take_as_wish(self, block: DocumentBlock) -> None:
        """All that the document says is one wish: it is the requirement, and what it leaves out is asked back."""
        if not any(draft.kind for draft in self.drafts):
            self.drafts, self.unmapped = [self._draft(block, "functional")], []
            self.outline.headings.clear()
        self.questions.append(Paragraph(_TOO_SHORT, (block.a, block.b), "question"))

    def _rows(self, table: Table, role: Role) -> list[Draft]:
        """Keep the requirements and the questions of a table; the answer are the requirements."""
        made = [] if role == "question" else table_drafts(table, role, self.families, design=self.design)
        verdicts = {row.a: row_verdict(table, row, self.marks) for row in table.rows} if made else {}
        for row in table.rows:
            text = tidy(" | ".join(" ".join(cell) for cell in row.cells))
            unsettled = role == "question" and any(is_open(" ".join(cell)) for cell in row.cells)
            if (unsettled and "~~" not in text) or verdicts.get(row.a) == "question":
                self.questions.append(Paragraph(text, (row.a, row.b), "question", self.outline.place()[0]))
        for draft in made:
            verdict = verdicts.get(draft.a)
            if verdict:
                draft.kind = "non_goal" if verdict == "non_goal" else None
            draft.section, draft.step = self.outline.place()
            self._keep(draft)
        return made

    def demands(self, heading: DocumentBlock) -> bool:
        """Whether a heading below the title is itself the statement."""
        words = plain_title(heading.text)
        if heading.a in (self.outline.title, self.outline.name) or heading_role(heading.text):
            return False
        # "The system shall", "How it should look" and 決まったこと are titles.
        long = len(words.split()) > 3 if " " in words else len(words) > 9
        return long and not (words.endswith("こと") or _ASKS.match(words)) and is_modal(heading.text)

    def is_remark(self, block: DocumentBlock, role: Role) -> bool:
        """A remark among requirements with ids."""
        before = self.drafts[-1] if self.drafts else None
        if before is None or role != "functional" or is_modal(block.text) or label_of(block.text)[0]:
            return False
        return bool(before.key) and before.section == self.outline.place()[0]

    def only_mentions(self, text: str) -> bool:
        """A remark on requirements that are defined elsewhere is none itself."""
        return any(key in self.known_ids for key in ID_WORD.findall(text)) and not is_modal(text)

    def _draft(self, block: DocumentBlock, kind: Kind | None, text: str | None = None) -> Draft:
        draft = Draft(block.a, block.b, kind, [block.text if text is None else text])
        draft.section, draft.step = self.outline.place()
        draft.indent, draft.source = block.indent, block.kind
        draft.blocks = [span_of(block)]
        return draft

    def _keep(self, draft: Draft) -> None:
        self.drafts.append(draft)
        draft.under = self.outline.lines()

    def _leave_out(self, block: DocumentBlock) -> None:
        kind = block.kind if block.kind in ("item", "code") else "text"
        self.unmapped.append(Paragraph(tidy(block.text), (block.a, block.b), kind, self.outline.place()[0]))


def belongs(block: DocumentBlock, draft: Draft, *, criteria: bool) -> bool:
    """Whether a block goes on with an open requirement, or with its criteria."""
    deeper = block.indent > draft.indent
    if block.kind == "item":
        # A list under "FR-01: The system shall support:" is the rest of that sentence.
        if criteria:
            return deeper or draft.source == "para"
        adjacent = bool(draft.key) and not block.after_blank
        introduced = draft.source == "para" and (draft.parts[-1].endswith(":") or adjacent)
        listed = draft.source == "para" and len(draft.blocks) > 1 and draft.blocks[-1][0] == "item"
        return (deeper and draft.source == "item") or introduced or (listed and not block.after_blank)
    if deeper and (draft.source == "item" or draft.parts[-1].endswith((":", "\uff1a"))):
        return True
    label = label_of(block.text)[0].lower().replace(" ", "-")
    return not block.after_blank and (bool(draft.key) or label in _BELONGS)


def question(draft: Draft) -> Paragraph:
    """What a draft leaves open."""
    return Paragraph(draft.text, (draft.a, draft.b), "question", draft.section)


def span_of(block: DocumentBlock) -> tuple[str, int, int, str]:
    return block.kind, block.a, block.b, block.text


def as_kind(role: str | None) -> Kind | None:
    return role if role in _KINDS else None  # type: ignore[return-value]  # the test narrows it


def kind_of(role: Role | None) -> Kind:
    return as_kind(role) or "functional"
