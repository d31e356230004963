"""Questions with their answers: the answer says whether something is asked for, not wanted, or open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agents.requirements.blocks import DocumentBlock
from agents.requirements.languages import ends_open, is_excluded, is_open
from agents.requirements.legend import Mark
from agents.requirements.sentences import is_modal, split_sentences

# A letter alone is a label where several answers have one.
_LETTER = re.compile(r"^[*_]{0,3}(?:[AaRrOoCc]|उ|ج|答|답|О|Ответ)\s?\d{0,3}[*_]{0,3}[.:)\uff1a][*_]{0,3}\s*")
_WORD = re.compile(
    r"^[*_]{0,3}(?:answers?|antwort|réponse|respuesta|risposta|resposta|antwoord|odpowiedź|ответ|yanıt|cevap|回答|答え|답변|"
    r"जवाब|उत्तर|الجواب|جواب)\b[^:\uff1a]{0,20}[:\uff1a][*_]{0,3}\s*",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^(?:no|nope|nein|nee|non|não|nie|нет|hayır|不|否|いいえ|아니|لا|नहीं|अभी नहीं)(?![^\W\d_])", re.IGNORECASE
)


def join_answers(blocks: Sequence[DocumentBlock]) -> list[DocumentBlock]:
    """The blocks, in which a question and its answers are one: the last answer is its text, the question its marker."""
    asked = [ends_open(block.text) and block.kind != "code" and not block.aside for block in blocks]
    lettered = sum(q and bool(_LETTER.match(after.text)) for q, after in zip(asked, blocks[1:], strict=False)) > 1
    joined: list[DocumentBlock] = []
    for block, question in zip(blocks, [False, *asked], strict=False):
        found = _WORD.match(block.text) or (_LETTER.match(block.text) if lettered else None)
        before = joined[-1] if joined else None
        if found and before and block.kind != "heading" and (question or before.kind == "answer"):
            # A later answer corrects an earlier one.
            asks = before.marker if before.kind == "answer" else before.text
            text = block.text[found.end() :]
            joined[-1] = replace(before, kind="answer", b=block.b, text=text, marker=asks, starts=(), defines=None)
        else:
            joined.append(block)
    return joined


def answer_verdict(text: str) -> Mark | None:
    """Whether an answer rules out what was asked, or leaves it open; None when it settles what is built."""
    first, *others = split_sentences(text) or [""]
    if is_open(text):
        return "question"
    if is_excluded(text) or _NO.match(first):
        return None if any(is_modal(sentence) and not is_excluded(sentence) for sentence in others) else "non_goal"
    return None
