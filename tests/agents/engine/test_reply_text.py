"""A thought's one line in the stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.engine.reply_text import first_sentence
from tests.tables import each_row


@each_row(
    ("text", "line"),
    [
        (
            "## Diagnosis\nCause: round() goes to the nearest minute.\nEvidence: 1 == 2",
            "round() goes to the nearest minute.",
        ),
        ("## Diagnosis\n\n**Cause:** the key is missing\n**Plan:** add it", "the key is missing"),
        ("### Diagnosis\n- a list\n- of marks", "a list - of marks"),
        ("Seconds are exact, minutes are for people. More follows.", "Seconds are exact, minutes are for people."),
        ("# Only a heading", "Only a heading"),
        ("1. First the tests", "First the tests"),
        ("# Plan\n\n```python path=a.py\nx = 1\n```\n", "Plan"),
        ("#hashtags are words", "#hashtags are words"),
        ("Because: of it", "Because: of it"),
    ],
)
def test_the_line_is_the_cause_or_the_first_sentence_and_no_heading(text: str, line: str) -> None:
    assert first_sentence(text, "coder-repair") == line


@pytest.mark.parametrize(("text", "line"), [("", "Answered: review"), ('{"approved": true}', "Answered: review")])
def test_a_reply_without_words_is_named_by_its_step(text: str, line: str) -> None:
    assert first_sentence(text, "review") == line


@given(st.text(max_size=400))
def test_any_reply_has_one_short_line(text: str) -> None:
    line = first_sentence(text, "plan")
    assert 0 < len(line) <= 240
    assert "\n" not in line
