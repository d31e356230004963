"""Text that looks as if it were meant for the agents rather than for people.

It is pointed out to whoever confirms requirements and approves plans, and never blocked: words are no boundary, and a
product about chat assistants rightly speaks of prompts. What an agent may *do* does not depend on what this finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MOST = 20  # passages shown
SHOWN = 120  # characters of each

_RULES: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|these|your|other)\b"
        r".{0,40}\b(?:instruction|rule|prompt|direction|guideline|constraint|guard|polic)",
        "asks to ignore instructions",
    ),
    (r"\b(?:you are now|from now on,? you|pretend (?:to be|that you)|act as (?:if you|an? (?:un|dev|root|admin)))", "gives the reader another role"),
    (r"\b(?:system|developer|hidden|initial) (?:prompt|message|instruction)s?\b", "speaks of the system prompt"),
    (r"<\|?/?\s*(?:im_start|im_end|system|assistant|endoftext|start_header_id)\b|\[/?(?:INST|SYS)\]|^\s*#{2,}\s*(?:system|instruction|assistant)\s*:?\s*$", "imitates the marks of a conversation"),
    (r"^\s*(?:[-*>]\s*)?(?:system|assistant|developer|tool)\s*(?:\([^)]{0,20}\))?\s*:", "imitates the marks of a conversation"),
    (
        r"\b(?:print|reveal|show|send|post|upload|leak|exfiltrate|include|write|repeat|output|tell)\b.{0,60}"
        r"\b(?:canary|api.?keys?|secrets?|passwords?|credentials|tokens?|environment variables|env vars|\.env|private keys?|ssh keys?)\b"
        r".{0,60}\b(?:to|in|into|at|as|here|verbatim|comment|http)",
        "asks for secrets",
    ),
    (r"\b(?:call|invoke|use|run|trigger)\b.{0,20}\b(?:the )?[`'\"]?[\w.-]{2,40}[`'\"]?\s+(?:tool|function|plugin)\b", "asks for a tool to be called"),
    (r"\b(?:approve|confirm|accept|merge)\b.{0,40}\b(?:automatically|yourself|immediately|without (?:asking|review|approval|a human))", "asks for an approval"),
    (r"\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|telling|inform|informing|ask|asking|mention|mentioning)\b.{0,20}\b(?:user|human|architect|anyone|person|reviewer)", "asks to keep something from people"),
    (r"\b(?:ai|llm|agent|assistant|language model|coder|reviewer|planner|tester)s?\b[^.\n]{0,30}[,:—-]\s*(?:please |now |you must |immediately )*(?:run|execute|delete|remove|disable|skip|install|download|write|send|fetch|open|approve|ignore)\b", "speaks to the agents"),
    (r"\b(?:disable|skip|remove|delete|turn off)\b.{0,30}\b(?:all )?(?:the )?(?:tests?|gates?|firewall|sandbox|scanners?|review|checks)\b", "asks to switch a guard off"),
    (r"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\U000e0000-\U000e007f]", "holds invisible characters"),
    (r"<!--.{0,400}?\b(?:you|agent|assistant|ignore|must)\b", "hides words in a comment"),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE | re.MULTILINE), words) for pattern, words in _RULES)
LOOKED_AT = 20_000  # characters of one passage


def odd(text: str) -> str:
    """What makes a text look like an instruction to the agents, in words; empty when nothing does."""
    part = text[:LOOKED_AT]
    return next((words for pattern, words in _COMPILED if pattern.search(part)), "")


def passages(rows: Iterable[Mapping[str, object]]) -> list[dict[str, str]]:
    """Those rows ({"key", "text", "acceptance"} of requirements, {"text", "lines"} of paragraphs) that look odd.

    Each as {"where", "why", "text"}, at most MOST.
    """
    found = []
    for row in rows:
        acceptance = row.get("acceptance") or ()
        parts = [str(row.get("text", "")), *(map(str, acceptance) if isinstance(acceptance, (list, tuple)) else ())]
        text = "\n".join(parts)
        why = odd(text)
        if why:
            lines = row.get("lines")
            where = str(row.get("key") or "") or (
                f"lines {lines[0]}–{lines[-1]}" if isinstance(lines, (list, tuple)) and lines else "the document"
            )
            shown = " ".join(text.split())
            found.append(
                {"where": where, "why": why, "text": shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"}
            )
        if len(found) == MOST:
            break
    return found
