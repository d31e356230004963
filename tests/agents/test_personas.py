"""A persona is data: its rules are a Markdown file, its models those of the role that it works as."""

import pytest

from agents.personas import ARCHITECT, DEBUGGER, LOGIC_CODER, PERSONAS, UI_COMPOSER
from agents.prompts.provenance import render

TEAM = (ARCHITECT, LOGIC_CODER, UI_COMPOSER, DEBUGGER)


@pytest.mark.parametrize("persona", TEAM, ids=lambda one: one.name)
def test_the_streamlit_team_works_with_the_models_of_planner_and_coder(persona) -> None:
    assert persona.role == ("planner" if persona is ARCHITECT else "coder")
    assert persona.role in PERSONAS
    assert persona.name not in PERSONAS


@pytest.mark.parametrize("persona", TEAM, ids=lambda one: one.name)
def test_the_rules_of_the_team_are_short_and_take_house_rules(persona) -> None:
    values = {"house_rules": "- Amounts are in euros.", "most_logic": 10, "most_ui": 6}
    text = render(f"system.{persona.name}", **values)
    assert len(text) < 2_500  # a small model reads them with every fragment
    # The debugger is told code and error alone.
    assert ("Amounts are in euros" in text) == (persona is not DEBUGGER)


def test_the_usual_personas_work_as_themselves() -> None:
    assert all(persona.role == name for name, persona in PERSONAS.items())
