"""Who speaks to the model: a persona is data, its words are a Markdown file in prompts/."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Persona:
    """One role: which prompt it starts from and how freely it writes."""

    name: str
    temperature: float
    max_tokens: int


PLANNER = Persona("planner", temperature=0.2, max_tokens=6_000)
TESTER = Persona("tester", temperature=0.2, max_tokens=6_000)
CODER = Persona("coder", temperature=0.2, max_tokens=8_000)
REVIEWER = Persona("reviewer", temperature=0.0, max_tokens=1_500)

PERSONAS = {persona.name: persona for persona in (PLANNER, TESTER, CODER, REVIEWER)}

# A fresh approach must not be the same sample again (SWE-RISK: diversity after two failures in a row).
FRESH_TEMPERATURE = 0.7
