"""Hints name what can be seen by rules, and nothing that may well be meant."""

import pytest

from agents.requirements.extract import extract
from agents.requirements.hints import hints_for


def hints(text: str) -> list[tuple[str, ...]]:
    return [hint.keys for hint in hints_for(extract(text).requirements)]


def test_two_numbers_for_the_same_thing_are_a_contradiction() -> None:
    text = "## Requirements\n- Sessions must end after 30 idle minutes.\n- Sessions should end after 60 idle minutes.\n"
    assert hints(text) == [("R1", "R2")]
    assert "30 and 60" in hints_for(extract(text).requirements)[0].why


def test_what_is_asked_for_and_ruled_out_is_a_contradiction() -> None:
    text = "## Requirements\n- The user must export a list as text.\n- The user must not export a list as text.\n"
    assert hints(text) == [("R1", "R2")]


def test_what_contradicts_other_documents_is_told_of_this_one_alone() -> None:
    other = extract("## Requirements\n- Sessions must end after 30 idle minutes.\n- Lists are never sent by mail.\n")
    own = extract("## Requirements\n- Print.\n- Print.\n- Sessions must end after 60 idle minutes.\n- It is fast.\n")
    found = [hint.keys for hint in hints_for(own.requirements, other.requirements)]
    assert found == [("R1", "R3"), ("R4",)]
    assert hints_for([], other.requirements) == []


def test_different_things_may_have_different_numbers() -> None:
    text = "## Requirements\n- Sessions end after 30 minutes of rest.\n- Tokens end after 60 minutes of rest.\n"
    assert hints(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "## Requirements\n- The list is fast\n",
        "## Anforderungen\n- Die Liste ist benutzerfreundlich\n",
        "## Exigences\n- La liste est intuitive\n",
        "## 需求\n- 列表可以快速打开\n",
    ],
)
def test_words_that_no_test_can_check_are_pointed_out(text: str) -> None:
    assert hints(text) == [("R1",)]


def test_a_figure_beside_the_word_says_what_it_means() -> None:
    assert hints("## Requirements\n- The list is fast: 200 ms at most\n") == []


def test_what_is_not_to_be_built_needs_no_hint() -> None:
    assert hints("## Out of scope\n- A fast search\n") == []
