"""From a document to its requirements, by rules alone: the same text always gives the same answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.requirements.answers import join_answers
from agents.requirements.blocks import parse_blocks
from agents.requirements.collector import question
from agents.requirements.documents import Document
from agents.requirements.drafts import Draft, assign_keys
from agents.requirements.model import Extraction, Paragraph
from agents.requirements.passages import with_passages
from agents.requirements.sentences import tidy
from agents.requirements.survey import is_one_wish
from agents.requirements.verdicts import judge_draft
from agents.requirements.walker import Walker

_NEWLINE = re.compile(r"\r\n|\r|\n")


def extract(source: Document | str) -> Extraction:
    """Every requirement that is written down in `source`, and every paragraph that is none.

    Texts are the document's own words, with whitespace and list markers tidied; nothing is added. Lines count from 1.
    """
    lines = source.lines if isinstance(source, Document) else lines_of(source)
    blocks = join_answers(parse_blocks(lines))
    walker = Walker(blocks)
    walker.walk()
    if is_one_wish(blocks):
        walker.take_as_wish(blocks[0])
    drafts: list[Draft] = []
    left: list[Paragraph] = list(walker.unmapped)
    questions: list[Paragraph] = list(walker.questions)
    for draft in walker.drafts:
        if draft.kind and judge_draft(draft):
            questions.append(question(draft))
        draft.weak = draft.weak or (bool(draft.key) and draft.is_mention())
        if draft.kind is None or not (draft.text or draft.acceptance or draft.title):
            left += _paragraphs(draft)
        else:
            drafts.append(draft)
    settled, repeated = assign_keys(drafts)
    for draft in repeated:
        left += _paragraphs(draft)
    mapped = {block[1:3] for draft, _ in settled for block in draft.blocks if block[0] != "heading"}
    total = len(mapped) + sum(1 for paragraph in left if paragraph.kind != "heading")
    told = {line for draft, _ in settled for line in (*draft.under, *range(draft.a, draft.b + 1))}
    headings = [
        Paragraph(tidy(s.title), (s.line, s.line), "heading") for s in walker.outline.headings if s.line not in told
    ]
    return Extraction(
        requirements=with_passages([r for _, r in settled], left, lines),
        unmapped=tuple(sorted(left + headings, key=lambda p: p.lines)),
        questions=tuple(sorted(questions, key=lambda q: q.lines)),
        paragraphs=total,
    )


def lines_of(text: str) -> Sequence[str]:
    """The lines of a document as they are counted."""
    return _NEWLINE.split(text)


def _paragraphs(draft: Draft) -> list[Paragraph]:
    """The blocks of a draft that became no requirement, as they stand in the document."""
    return [Paragraph(tidy(text), (a, b), _kind(kind), draft.section) for kind, a, b, text in draft.blocks]


def _kind(block_kind: str) -> str:
    return block_kind if block_kind in ("item", "code", "table", "heading") else "text"
