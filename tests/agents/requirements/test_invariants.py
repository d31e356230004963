"""Whatever the document: nothing written is lost, nothing is invented."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.requirements.extract import extract
from tests.agents.requirements.invariants import check
from tests.sizes import scaled

PIECES = [
    "# Product",
    "## Functional Requirements",
    "### 2.1 Data module",
    "##### 2. Features",
    "## Out of scope",
    "Non-Functional Requirements",
    "1. Introduction",
    "1.1 Goals and Aims",
    "Step 2 — Memory",
    "### FR-01: Login",
    "### Requirement 3",
    "#### Acceptance Criteria",
    "FR-01: The system shall start.",
    "FR1: The system shall stop.",
    "**NFR-02**: It must be quick.",
    "- FR-3 (Retry): tries again",
    "- a plain item",
    "  - a nested item that must hold",
    "    deeper words",
    "2. counted item",
    "- [ ] open box",
    "As a user, I want **bold** things so that I see them.",
    "**User Story:** As a cook, I want knives.",
    "Acceptance criteria:",
    "WHEN it rains THEN the roof SHALL close",
    "Scenario: rain",
    "Given a roof",
    "When it rains",
    "Then it closes",
    "| ID | Requirement | Priority |",
    "|---|---|---|",
    "| US-1 | As a user I want x | High |",
    "| FR-9 | text \\| more | |",
    "ID",
    "User Story",
    "US-04",
    "Short cell",
    "```",
    "~~~python",
    "code = 'must'",
    "Label: words follow",
    "The following are excluded:",
    "The tool must work. It is nice. It should also sing.",
    "lower case line that goes on",
    "> quoted must",
    "---",
    "====",
    "",
    "",
    "",
]


@settings(max_examples=scaled(400))
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_documents_made_of_known_pieces(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    check(text, extract(text))


@settings(max_examples=scaled(200))
@given(st.text(st.sampled_from('ab FR-1:|#*`\n\t -.>~1_[]()"?!AZ\r\u200b'), max_size=300))
def test_documents_made_of_markup(text: str) -> None:
    check(text, extract(text))


@settings(max_examples=scaled(100))
@given(st.text(max_size=300))
def test_documents_made_of_anything(text: str) -> None:
    check(text, extract(text))


@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_the_same_text_gives_the_same_answer(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    assert extract(text) == extract(text)


@pytest.mark.whole
def test_long_hostile_lines_are_read_and_kept() -> None:
    for unit in (
        "*",
        "`",
        '"',
        "|",
        "|-",
        "1.",
        "# ",
        "As a ",
        "I want ",
        "(",
        "FR-1",
        "FR-1-",
        "A_",
        "a:",
        "~",
        "<br ",
    ):
        line = (unit * 20_000)[: scaled(20_000)]
        text = "\n".join([f"- must {line}", "", line, "", "FR-9: must"])
        found = extract(text)
        check(text, found)
        assert "must" in found.requirements[0].text
        assert found.requirements[-1].author_key == "FR-9"
