"""Mail as text: which lines are headers, quotations, signatures and older mails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

_HEADER = re.compile(
    r"^(?:from|to|cc|bcc|subject|date|sent|von|an|betreff|gesendet|de|à|objet|envoyé|para|asunto|enviado|assunto|da|a|"
    r"oggetto|inviato|aan|onderwerp|verzonden|od|do|dw|temat|dotyczy|dnia|wysłano|от|кому|тема|дата|kimden|kime|konu|"
    r"发件人|收件人|主题|日期|抄送|差出人|宛先|件名|日時|보낸 ?사람|받는 ?사람|제목|날짜|"
    r"من|إلى|الموضوع|التاريخ|प्रेषक|प्रति|विषय|दिनांक)\s{0,2}[:\uff1a]\s?",
    re.IGNORECASE,
)
_OLDER = re.compile(
    r"^(?:-{2,}\s*\S.{0,60}\S\s*-{2,}|(?:on|am|le|el|il|em|op|w dniu)\s.{0,120}"
    r"(?:wrote|schrieb|écrit|escribió|scritto|escreveu|schreef|napisał\w*)\s?\S{0,40}\s?:)$",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"^--\s*$")
_PROMPT = re.compile(r"^\s*>>>(?:\s|$)")
_MARK = re.compile(r"^\s*>(?!>>(?:\s|$))")


def prompt_lines(lines: Sequence[str]) -> frozenset[int]:
    """Indexes of lines that an interactive session begins with `>>>`; beside a quotation it is one too."""
    found = [at for at, line in enumerate(lines) if _PROMPT.match(line)]
    return frozenset(at for at in found if not any(map(_MARK.match, lines[max(0, at - 1) : at + 2])))


def aside_lines(lines: Sequence[str]) -> frozenset[int]:
    """Indexes of the lines that are not what the writer says in this mail; none when the text is no mail."""
    top = [at for at, line in enumerate(lines[:30]) if line.strip()][:12]
    first = next((place for place, at in enumerate(top) if _HEADER.match(lines[at])), len(top))
    headers = list(takewhile(lambda at: _HEADER.match(lines[at]), top[first:]))
    if len(headers) < 2:
        return frozenset()
    aside, older, signed, prompts = set(headers), False, False, prompt_lines(lines)
    for at, line in enumerate(lines):
        older = older or bool(at > headers[-1] and _OLDER.match(line.strip()))
        signed = signed or bool(_SIGNATURE.match(line))
        if older or signed or (line.lstrip().startswith(">") and at not in prompts):
            aside.add(at)
    return frozenset(aside)
