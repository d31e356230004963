"""How much the firewall and the gates stop, and how often they cry wolf, over sets kept apart from their rules."""

from __future__ import annotations

from typing import Any

from measure.corpora.containment import commands as containment_commands
from measure.corpora.containment import gates as containment_gates
from measure.corpora.containment import secrets as containment_secrets
from measure.figures import Section

TITLE = "what is stopped and what is stopped wrongly, over held-out sets"


def measure(section: Section, options: Any) -> None:
    """Fill the section: commands, code, reference solutions (when given), secrets."""
    for part in (containment_commands, containment_gates, containment_secrets):
        figures, notes = part.measure(options)
        section.figures += figures
        section.notes += notes
    section.notes.append(
        "brackets: Wilson intervals at 95 %; how sets and rules were kept apart: docs/explanation/heldout.md"
    )
