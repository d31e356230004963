"""Who speaks to the model: a persona is data, its words are a Markdown file in prompts/."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Persona:
    """One role: which prompt it starts from and how freely it writes."""

    name: str
    temperature: float
    max_tokens: int
    works_as: str = ""  # the persona whose models it takes and under whose name its work is shown; "" for its own

    @property
    def role(self) -> str:
        """The name under which its work is shown."""
        return self.works_as or self.name

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        return self.name.replace("_", " ")


PLANNER = Persona("planner", temperature=0.2, max_tokens=6_000)
TESTER = Persona("tester", temperature=0.2, max_tokens=6_000)
CODER = Persona("coder", temperature=0.2, max_tokens=8_000)
REVIEWER = Persona("reviewer", temperature=0.0, max_tokens=1_500)

# The team that writes Streamlit apps: each sees one fragment and what that needs, nothing else.
ARCHITECT = Persona("architect", temperature=0.2, max_tokens=6_000, works_as="planner")
LOGIC_CODER = Persona("logic_coder", temperature=0.2, max_tokens=2_000, works_as="coder")
UI_COMPOSER = Persona("ui_composer", temperature=0.2, max_tokens=3_000, works_as="coder")
DEBUGGER = Persona("debugger", temperature=0.2, max_tokens=2_000, works_as="coder")

# Whom a person talks to; the documents ask for this temperature.
CHAT = Persona("chat", temperature=0.2, max_tokens=4_000, works_as="coder")

PERSONAS = {persona.name: persona for persona in (PLANNER, TESTER, CODER, REVIEWER)}

# A fresh approach must not be the same sample again (SWE-RISK: diversity after two failures in a row).
FRESH_TEMPERATURE = 0.7
