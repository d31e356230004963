"""What a person's answer to a plan means."""

import pytest

from agents.conversation.text import choice
from tests.tables import each_row


@each_row("answer", ["y", "Yes", "yes, please", "Looks good!", "okay.", " go ahead "])
def test_a_yes_in_other_words_is_one(answer: str) -> None:
    assert choice(answer) == (True, "")


@each_row("answer", ["", "n", "No.", "no, thanks", "cancel"])
def test_a_plain_no_is_one(answer: str) -> None:
    assert choice(answer) == (False, "")


@pytest.mark.parametrize("answer", ["yes, but with pytest", "different, please", "no server", "ok?"])
def test_anything_else_is_what_is_to_be_different(answer: str) -> None:
    assert choice(answer) == (False, answer)
