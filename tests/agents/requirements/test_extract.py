"""Each way people write requirements down is found once, under its own key, with its full text."""

import pytest

from agents.requirements.documents import read_document
from agents.requirements.extract import extract
from agents.requirements.model import ExtractedRequirement, Extraction
from tests.sizes import scaled


def by_key(text: str) -> dict[str, ExtractedRequirement]:
    return {r.author_key or r.key: r for r in extract(text).requirements}


def texts(found: Extraction) -> dict[str, str]:
    return {r.author_key or r.key: r.text for r in found.requirements}


def test_the_answer_as_json_has_exactly_these_fields() -> None:
    document = read_document(b"## Features\n- FR-1: Notes are saved.\n\n## Background\nWe like notes.\n", "prd.md")
    assert extract(document).to_json() == {
        "requirements": [
            {
                "key": "R1",
                "author_key": "FR-1",
                "text": "Notes are saved.",
                "kind": "functional",
                "lines": [2, 2],
                "acceptance": [],
                "passages": [],
            }
        ],
        "unmapped": [
            {"text": "Background", "kind": "heading", "lines": [4, 4]},
            {"text": "We like notes.", "kind": "text", "lines": [5, 5]},
        ],
        "questions": [],
    }


def test_ids_are_known_in_every_common_spelling() -> None:
    found = texts(
        extract(
            "## Requirements\n"
            "FR-01: colon\nFR2: no dash\n**NFR-3**: bold id\n**NFR-4:** bold with colon\nREQ_5 — dash\nR1.2. dot\n"
            "- FR-6 (Retry Logic): bracketed title\n1. US-7: numbered\n[AC8] square\n`FR-9`: code\nFR-10 A "
            "new sentence.\n"
        )
    )
    assert list(found) == ["FR-01", "FR2", "NFR-3", "NFR-4", "REQ_5", "R1.2", "FR-6", "US-7", "AC8", "FR-9", "FR-10"]
    assert found["FR-6"] == "(Retry Logic): bracketed title"
    assert found["FR-10"] == "A new sentence."


def test_the_prefix_decides_the_kind() -> None:
    found = by_key(
        "## Requirements\nFR-1: a\n\nNFR-1: b\n\nUS-1: c\n\nAC-1: d\n\nC-1: e\n\nG-1: f\n\nNG-1: g\n\nREQ-1: h\n"
    )
    kinds = "functional non_functional story acceptance constraint goal non_goal functional".split()
    assert [r.kind for r in found.values()] == kinds


def test_what_looks_like_an_id_but_is_none_stays_text() -> None:
    text = "# Notes\nUTF-8: an encoding.\n\nHTTP 404: not found.\n\nP95: a percentile.\n\nGPT-4: a model.\n"
    assert extract(text).requirements == ()


def test_an_unknown_prefix_counts_when_it_comes_twice() -> None:
    assert list(by_key("# Shop\nPAY-1: Cards are charged.\n\nPAY-2: Refunds work.\n\nZED-1: alone.\n")) == [
        "PAY-1",
        "PAY-2",
    ]


def test_a_requirement_over_several_lines_ends_at_the_next_id_or_blank_line() -> None:
    found = by_key(
        "Functional Requirements\nFR1: The system shall log:\nSchema: {a}\nFR2: It stops.\nAt once.\n\nNot this.\n"
    )
    assert found["FR1"].text == "The system shall log: Schema: {a}"
    assert found["FR1"].lines == (2, 3)
    assert found["FR2"].text == "It stops. At once."


def test_a_mention_makes_no_second_requirement() -> None:
    found = extract(
        "## Requirements\nFR-01: Notes are saved.\n\nFR-02: Notes are found.\n\n"
        "As FR-01 says, FR-02 is needed. FR-01 is covered by T-1.\n\n"
        "## Traceability\n| Requirement | Test |\n|---|---|\n| FR-01 | T-1 |\n| FR-02 | T-2 |\n\n- FR-01: "
        "see T-1, T-2\n"
    )
    assert list(texts(found)) == ["FR-01", "FR-02"]
    assert {p.text for p in found.unmapped} >= {"FR-01 | T-1", "FR-01: see T-1, T-2"}


def test_a_summary_table_gives_way_to_the_written_out_requirement() -> None:
    found = by_key("| ID | Title |\n|---|---|\n| FR-1 | Login |\n\n### FR-1: Login\nUsers log in with a password.\n")
    assert list(found) == ["FR-1"]
    assert found["FR-1"].lines == (5, 6)


def test_ids_that_start_anew_in_each_step_get_the_step_in_front() -> None:
    found = extract(
        "Step 1 — Chat\nFunctional Requirements\nFR1: It talks.\nFR2: It listens.\nAcceptance "
        "Criteria\nAC1: It says hello.\n"
        "Step 2 — Memory\nFunctional Requirements\nFR1: It remembers.\nAcceptance Criteria\nAC1: It says hello again.\n"
    )
    assert texts(found) == {
        "S1-FR1": "It talks.",
        "S1-FR2": "It listens.",
        "S1-AC1": "It says hello.",
        "S2-FR1": "It remembers.",
        "S2-AC1": "It says hello again.",
    }


def test_one_id_for_two_texts_keeps_both() -> None:
    found = extract("## Core\nFR-1: one\n\nFR-1: two\n\nFR-1: two\n")
    assert sorted(r.text for r in found.requirements) == ["one", "two"]
    assert len({r.key for r in found.requirements}) == 2


def test_markdown_tables_give_text_and_criteria_without_asides() -> None:
    found = by_key(
        "## User Stories\n| ID | Persona | User Story | Acceptance Criteria | Priority |\n|:--|---|---|---|--:|\n"
        "| **US-1** | Cook | As a cook I want a \\| pan | is hot<br>is round | High |\n"
    )
    story = found["US-1"]
    assert story.text == "As a cook I want a | pan"
    assert story.acceptance == ("is hot", "is round")


FLAT = """4.2 Stories
ID
Persona
User Story
Acceptance Criteria

US-01
Cook
Heat the pan
The pan gets hot.

The pan stays hot.

US-02
Guest
Eat
The plate is empty.

5. Other Things
The cook smiles.
"""


def test_a_table_flattened_to_one_cell_per_line_is_a_table() -> None:
    found = extract(FLAT)
    first, second = found.requirements
    assert (first.author_key, first.text, first.lines) == ("US-01", "Heat the pan", (7, 12))
    assert first.acceptance == ("The pan gets hot.", "The pan stays hot.")
    assert (second.author_key, second.acceptance, second.lines) == ("US-02", ("The plate is empty.",), (14, 17))
    assert [p.text for p in found.unmapped] == ["5. Other Things", "The cook smiles."]


def test_a_flattened_table_without_ids_is_one_row_per_group() -> None:
    text = (
        "3. Technology "
        "Stack\n\nComponent\nTechnology\nReason\n\nStore\nSQLite\nSmall.\n\nWeb\nDjango\nKnown.\n\n4. Other\nWords.\n"
    )
    assert texts(extract(text)) == {"R1": "Store — SQLite — Small.", "R2": "Web — Django — Known."}
    assert {r.kind for r in extract(text).requirements} == {"constraint"}


def test_a_requirement_heading_collects_story_and_criteria() -> None:
    found = by_key(
        "## Requirements\n\n### Requirement 1\n\n**User Story:** As a cook, I want fire, so that I can cook.\n\n"
        "#### Acceptance Criteria\n\n1. hot\n2. round\n\n### Requirement 2\n\nIt smells.\n"
    )
    assert found["R1"].kind == "story"
    assert found["R1"].text == "As a cook, I want fire, so that I can cook."
    assert found["R1"].acceptance == ("hot", "round")
    assert found["R1"].lines == (3, 10)
    assert found["R2"].text == "It smells."


def test_criteria_that_state_behaviour_are_requirements_with_the_number_their_author_refers_to() -> None:
    found = by_key(
        "## Requirements\n\n### Requirement 2\n\n**User Story:** As a cook, I want fire.\n\n"
        "#### Acceptance Criteria\n\n1. WHEN lit THEN it SHALL burn\n2. ~~IF wet THEN it SHALL burn~~\n"
    )
    assert [(key, r.kind, r.lines) for key, r in found.items()] == [
        ("R2", "story", (3, 7)),
        ("2.1", "functional", (9, 9)),
        ("R3", "non_goal", (10, 10)),
    ]


def test_a_criteria_label_belongs_to_the_story_before_it() -> None:
    found = extract("As a cook, I want salt.\nAcceptance criteria:\n- white\n- fine\n\nAs a guest, I want soup.\n")
    assert [(r.text, r.acceptance) for r in found.requirements] == [
        ("As a cook, I want salt.", ("white", "fine")),
        ("As a guest, I want soup.", ()),
    ]


def test_scenarios_are_criteria_of_the_story_around_them() -> None:
    found = by_key(
        "### US-1: Cart\nAs a buyer I want a cart.\n\n```gherkin\nScenario: add\n  Given a cart\n  When I "
        "add\n  Then it is full\n```\n"
    )
    assert found["US-1"].acceptance == ("Scenario: add Given a cart When I add Then it is full",)


def test_bullets_under_numbered_modules_are_requirements() -> None:
    found = extract(
        "#### 2. Basic Functional Requirements\n##### 2.1 Dishes\n- Add a dish\n- Group dishes:\n  - by "
        "name\n  - by price\n"
        "##### 2.2 Sales\n- Count sales\n#### 3. Technical Implementation Requirements\n- Written in Python\n"
    )
    assert texts(found) == {
        "R1": "Add a dish",
        "R2": "Group dishes: by name by price",
        "R3": "Count sales",
        "R4": "Written in Python",
    }
    assert [r.kind for r in found.requirements] == ["functional"] * 3 + ["constraint"]


def test_prose_under_a_feature_heading_is_a_requirement_per_paragraph() -> None:
    found = extract(
        "## Functionality\n\n### Counter\n\nShows how many are left.\n\n### Item\n\nThree things are "
        "possible:\n\n1. Click it\n\n2. Hover it\n"
    )
    assert texts(found) == {"R1": "Shows how many are left.", "R2": "Click it", "R3": "Hover it"}
    assert [p.text for p in found.unmapped] == ["Three things are possible:"]


def test_sections_decide_the_kind_of_what_has_no_id() -> None:
    found = extract(
        "# Product\n## Goals\n- Be quick.\n## Features\n- Save\n## Non-functional requirements\n- Fast\n## "
        "Technical Constraints\n- Django\n"
        "## Acceptance Criteria\n- Tests pass\n## Out of scope\n- Video\n## Use cases\n- Cooking\n## "
        "Future enhancements\n- Sound\n"
    )
    assert [(r.text, r.kind) for r in found.requirements] == [
        ("Be quick.", "goal"),
        ("Save", "functional"),
        ("Fast", "non_functional"),
        ("Django", "constraint"),
        ("Tests pass", "acceptance"),
        ("Video", "non_goal"),
        ("Cooking", "story"),
        ("Sound", "non_goal"),
    ]


def test_a_label_inside_a_section_can_say_more_than_the_section() -> None:
    found = extract(
        "# Requirements\n- **Performance:** loads in 3 s\n- **Technology Stack:** Vue\n- **Export:** as CSV\n"
    )
    assert [r.kind for r in found.requirements] == ["non_functional", "constraint", "functional"]


def test_a_list_announced_as_out_of_scope_is_a_list_of_non_goals() -> None:
    found = extract("## Features\n- Chat\n\nThe following are out of scope:\n- Video\n- Sound\n\nUsers can write.\n")
    assert [(r.text, r.kind) for r in found.requirements] == [
        ("Chat", "functional"),
        ("Video", "non_goal"),
        ("Sound", "non_goal"),
        ("Users can write.", "functional"),
    ]


def test_demanding_sentences_are_found_in_prose_and_questions_are_not() -> None:
    found = extract(
        "# App\nIt is nice. The app must be fast. It shall be small. We like it.\n\nShould it be "
        'blue?\n\nHe said "you must go".\n'
    )
    assert [r.text for r in found.requirements] == ["The app must be fast. It shall be small."]


def test_risks_roadmaps_and_references_demand_nothing() -> None:
    found = extract(
        "# PRD\n## Risk Analysis\nThe agent must not loop.\n## Roadmap\n- Must have a sandbox in week "
        "1\n## References\n- FR-X must read\n"
    )
    assert found.requirements == ()
    assert len([p for p in found.unmapped if p.kind != "heading"]) == 3


def test_a_story_in_a_persona_is_found_inside_its_quotes() -> None:
    found = extract('## Personas\nRole: cooks.\nKey User Story: "As a cook, I want salt so that it tastes."\n')
    assert [(r.kind, r.text) for r in found.requirements] == [("story", "As a cook, I want salt so that it tastes.")]


def test_text_wrapped_by_hand_is_one_paragraph() -> None:
    found = extract(
        "Functional Requirements\n\nThe system shall let every registered user upload a picture of at most\n"
        "five megabytes and shall show it beside the name of the user on every\npage.\n"
    )
    assert [r.lines for r in found.requirements] == [(3, 5)]


def test_a_heading_that_says_how_announces_an_example_and_demands_nothing() -> None:
    example = "# Sums\n\n## How it should look\n\n```python\ndouble(2)  # 4\n```\n\n"
    (found,) = extract(f"{example}## Functions\n\n`double` shall return twice its number.\n").requirements
    assert (found.lines, found.passages) == ((11, 11), ((5, 7),))


def test_a_line_that_begins_with_code_goes_on_with_the_sentence_before_it() -> None:
    text = (
        "# Cache\n\n## Requirements\n\n"
        "A new module `cachetools.invalidation` shall have one function, `invalidate(cache, test)`. It calls\n"
        "`test(key, value)` once for each item, removes the items for which the result is true, returns how\n"
        "many there were. Looping over a cache while others write to it shall wait instead of raising\n"
        "`RuntimeError: OrderedDict mutated during iteration`.\n"
    )
    assert [one.lines for one in extract(text).requirements] == [(5, 7), (7, 8)]


def test_lines_of_a_plain_text_are_paragraphs_of_their_own() -> None:
    found = extract("Technology Stack\nLanguage: Python\nStore: SQLite\nInterface: a terminal\n")
    assert [r.text for r in found.requirements] == ["Language: Python", "Store: SQLite", "Interface: a terminal"]


def test_a_specification_without_requirements_states_its_architecture() -> None:
    found = extract(
        "# Robot Design\n## 1. Summary\nIt moves.\n## 2. Architecture\n- **Arm:** lifts\n\nThe system runs on rails.\n"
    )
    assert [(r.key, r.kind) for r in found.requirements] == [("R1", "constraint"), ("R2", "functional")]


def test_a_fence_that_is_never_closed_hides_nothing() -> None:
    found = extract("# App\n```\n## Requirements\n- FR-1: Notes are saved.\n")
    assert list(texts(found)) == ["FR-1"]


def test_code_below_an_item_belongs_to_it_and_other_code_is_left_over() -> None:
    found = extract("## Features\n- Query:\n  ```\n  GET /x\n  ```\n\n```\nls\n```\n")
    assert texts(found) == {"R1": "Query: GET /x"}
    assert [(p.kind, p.text) for p in found.unmapped] == [("code", "ls")]


def test_a_heading_alone_is_the_text_of_a_requirement_with_criteria_only() -> None:
    found = by_key("### Requirement 1\n#### Acceptance Criteria\n1. It burns\n")
    assert found["R1"].text == "Requirement 1"
    assert found["R1"].acceptance == ("It burns",)


@pytest.mark.whole
def test_as_many_requirements_as_a_document_can_hold_keep_keys_of_their_own() -> None:
    many = scaled(60_000, 20)
    found = extract("\n".join(f"FR-7: The system shall do thing {number}." for number in range(many)))
    assert len({r.key for r in found.requirements}) == many


def test_a_heading_that_merely_speaks_of_a_constraint_promises_none():
    text = "## Security as a deterministic constraint in a fuzzy system\n\nScanners show where models fall short.\n"
    assert extract(text).requirements == ()
    named = extract("## Technical constraint\n\n- Runs on Python 3.11\n")
    assert [requirement.kind for requirement in named.requirements] == ["constraint"]


def test_a_list_of_one_item_is_no_heading_whatever_its_words_head_elsewhere() -> None:
    for item in ("- FR-1 Show the order history", "* Hide values in Context.invoke", "- Show the order history"):
        found = extract(f"# Change\n\n{item}\n\nPeople asked for it.\n")
        assert [row.text for row in found.requirements] == [item.removeprefix("- FR-1").strip("-* ")]
    assert extract("# Shop\n\n- Context\n\nWe sell bikes.\n").requirements == ()


def test_a_list_item_may_begin_with_its_id_alone() -> None:
    found = extract(
        "# Notes\n- FR-1 `notes add TEXT` appends a note.\n- FR-2 max_age may be a duration.\n"
        "- BUG-1 the list is empty.\n- FR-2 is covered by T-1\n- COVID-19 cases are counted\n\n"
        "FR-3 `notes list` prints them.\n"
    )
    assert texts(found) == {
        "FR-1": "`notes add TEXT` appends a note.",
        "FR-2": "max_age may be a duration.",
        "BUG-1": "the list is empty.",
        "FR-3": "`notes list` prints them.",
    }
