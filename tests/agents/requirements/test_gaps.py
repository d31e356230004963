"""What requirements leave unsaid is named once, and not where any sentence of the document says it."""

import pytest

from agents.requirements.extract import extract
from agents.requirements.hints import hints_for
from tests.tables import each_row

TITLE = "- A title must have at most 20 characters."
FILE = "- The tool must import members from a CSV file."


def hints(*lines: str) -> list[str]:
    text = "\n".join(["## Requirements", *lines, ""])
    return [f"{hint.keys[0]} {hint.why}" for hint in hints_for(extract(text).requirements, (), text)]


@each_row(
    ("line", "bound"),
    [
        (TITLE, "at most 20 characters"),
        ("- A password must have at least 12 characters.", "at least 12 characters"),
        ("- A member must not hold more than two open loans.", "not hold more than two open loans"),
        ("- A bay can be reserved up to 24 hours ahead; this must work on a phone.", "up to 24 hours ahead"),
        ("- A note must be between 1 and 500 characters long.", "between 1 and 500 characters long"),
    ],
)
def test_a_limit_without_its_other_side_is_named(line: str, bound: str) -> None:
    assert hints(line) == [f"R1 “{bound}”: nothing says what happens otherwise."]


@pytest.mark.parametrize(
    "line",
    [
        "- Longer titles are refused: characters beyond the limit are shown in red.",
        "- A title of 21 characters shall be rejected.",
        "- The form must show a message for invalid input.",
    ],
)
def test_a_limit_with_its_other_side_anywhere_is_not(line: str) -> None:
    assert hints(TITLE, line) == []


@each_row(
    "line",
    [
        "- The page must open within at most 2 seconds.",
        "- The server must serve at least 200 displays.",
        "- A failed call must be repeated at most 3 times.",
        "- The report must list at least 3 causes, and it lists at most 9 factors.",
        "- Offers must pause between 20 December and 2 January.",
        "- A title must have at most 20 characters, otherwise it is cut off.",
    ],
)
def test_a_limit_of_the_product_itself_has_no_other_side(line: str) -> None:
    assert hints(line) == []


def test_a_file_that_may_be_missing_is_named_once_for_the_document() -> None:
    named = "R1 “csv file”: nothing says what happens when it is missing, empty or not valid."
    assert hints(FILE, "- The tool must read rates from a JSON file.") == [named]
    assert hints(FILE, "- Lines with an error must be listed.") == []
    assert hints("- The tool must export members to a CSV file.") == []


def test_an_id_of_the_documents_own_series_that_is_nowhere_is_named() -> None:
    own = (
        "- FR-01: The user must sign in.",
        "- FR-02: The user must sign out as FR-01 and FR-07 say, see ISO-8601 and T-1.",
    )
    assert hints(*own) == ["R2 It mentions FR-07, which is nowhere in this document."]
    assert hints(*own, "", "| FR-07 | Sessions |") == []


def test_an_id_of_another_document_is_known() -> None:
    other = extract("## Requirements\n- FR-07: The session must end.\n- FR-08: It must be logged.\n")
    text = "## Requirements\n- FR-01: The user must sign in.\n- FR-02: The user must sign out as FR-07 says.\n"
    assert hints_for(extract(text).requirements, other.requirements, text) == []
