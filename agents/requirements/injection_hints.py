"""Text that looks as if it were meant for the agents rather than for people.

It is pointed out to whoever confirms requirements and approves plans, and never blocked: words are no boundary, and a
product about chat assistants rightly speaks of prompts. What an agent may *do* does not depend on what this finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from agents.requirements.rules import rules

MOST = 20  # passages shown
SHOWN = 120  # characters of each

LOOKED_AT = 20_000  # characters of one passage


@cache
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    found = rules("injection_hints")["rules"]
    return tuple((re.compile(rule["pattern"], re.IGNORECASE | re.MULTILINE), rule["why"]) for rule in found)


def odd(text: str) -> str:
    """What makes a text look like an instruction to the agents, in words; empty when nothing does."""
    part = text[:LOOKED_AT]
    return next((words for pattern, words in _rules() if pattern.search(part)), "")


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
            span = f"lines {lines[0]}–{lines[-1]}" if isinstance(lines, (list, tuple)) and lines else "the document"
            shown = " ".join(text.split())
            shown = shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"
            found.append({"where": str(row.get("key") or span), "why": why, "text": shown})
        if len(found) == MOST:
            break
    return found
