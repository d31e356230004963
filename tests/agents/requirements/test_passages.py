"""A requirement is shown with the places of the document that explain it."""

import pytest

from agents.llm.tokens import count_tokens
from agents.requirements.extract import extract
from agents.requirements.passages import PASSAGES_TOKENS, passages_text

TEXT = """# Notes

## Requirements
- FR-1: `notes add` appends a note.
- FR-2: Notes are listed.

```
notes add "Milk"
```

## Background
FR-2 came up in the interviews.

## Files
| name | holds |
|---|---|
| notes.csv | `notes add` writes here |
"""


def test_examples_of_its_section_and_what_names_it_are_passages_of_a_requirement() -> None:
    passages = {r.author_key: r.passages for r in extract(TEXT).requirements}
    assert passages == {"FR-1": ((17, 17), (7, 9)), "FR-2": ((7, 9), (12, 12))}


def test_its_own_lines_are_no_passage() -> None:
    (found,) = extract("## Features\n- Query:\n  ```\n  GET /x\n  ```\n").requirements
    assert found.lines == (2, 5)
    assert found.passages == ()


def test_a_document_full_of_examples_gives_each_requirement_a_few() -> None:
    text = "## Features\n" + "".join(f"- Show thing {n}\n\n```\n{n}\n```\n\n" for n in range(300))
    assert max(len(r.passages) for r in extract(text).requirements) <= 8


def test_a_single_wish_is_the_requirement_and_is_asked_about() -> None:
    found = extract("a list of books please\n")
    assert [r.text for r in found.requirements] == ["a list of books please"]
    assert len(found.questions) == 1
    assert found.unmapped == ()
    assert extract("what about books?\n").requirements == ()


ABOVE = """# dictdiff

## Usage

>>> diff({"a": 1}, {"a": 2})
{'changed': {'a': (1, 2)}}

The output has one line for each change:

```
a: 1 -> 2
```

## Requirements
- FR-1: The result above names what was changed.
- FR-2: The code is in `dictdiff.py`.

## Files

`dictdiff.py` holds `diff`, and nothing else.
"""


def test_the_nearest_examples_before_and_after_a_requirement_are_its_passages() -> None:
    first, second = extract(ABOVE).requirements
    assert first.passages[0] == (8, 12)
    assert (19 + 1, 19 + 1) in second.passages


def test_a_doctest_is_an_example_and_keeps_its_prompt() -> None:
    found = extract(ABOVE)
    (session,) = [paragraph for paragraph in found.unmapped if paragraph.lines == (5, 6)]
    assert (session.kind, session.text[:9]) == ("code", ">>> diff(")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("## Features\n- Query:\n  ```\n  >>> f(1)\n  > 2\n  ```\n", "Query: >>> f(1) > 2"),
        ("> The tool must be fast.\n>> It must be small.\n>>> It must be free.\n", ">> It must be free."),
        ("## Needs\n- Calls shall return:\n  >>> f(1)\n  1\n", "Calls shall return: >>> f(1) 1"),
    ],
)
def test_a_prompt_is_no_quotation_and_a_quotation_is_no_prompt(text: str, kept: str) -> None:
    assert kept in [requirement.text for requirement in extract(text).requirements]


def test_a_mail_keeps_its_examples_and_loses_what_it_quotes() -> None:
    head = "From: Ann\nSubject: The tool\n\nThe tool must add.\n\n"
    told = [paragraph.kind for paragraph in extract(f"{head}>>> add(1, 2)\n3\n").unmapped]
    assert "code" in told
    assert "code" not in [p.kind for p in extract(f"{head}> yes\n>>> The tool must fly.\n").unmapped]


def test_the_texts_of_passages_are_the_documents_own_lines_each_once() -> None:
    lines = TEXT.splitlines()
    rows = [(one.lines, one.passages) for one in extract(TEXT).requirements]
    told = passages_text(lines, rows)
    assert told == "\n".join(
        [*lines[6:9], "…", lines[11], "…", "| name | holds |", "|---|---|", "| notes.csv | `notes add` writes here |"]
    )
    assert passages_text(lines, rows) == told


def test_a_requirement_that_holds_an_example_is_shown_with_its_lines() -> None:
    text = "## Features\n- Query:\n  ```\n  GET /x\n  name: y\n  ```\n- Other\n"
    found = extract(text).requirements
    assert passages_text(text.splitlines(), [(one.lines, one.passages) for one in found]) == text[12:-9]


@pytest.mark.parametrize(
    ("row", "shown"), [("| FR-1 | Notes are listed. |", False), ("| FR-1 | Notes are listed. | by day |", True)]
)
def test_a_row_that_is_only_key_and_text_is_not_told_twice(row: str, shown: bool) -> None:
    lines = ["| Id | Requirement | Order |", "|---|---|---|", row]
    assert passages_text(lines, [((3, 3), ())]) == ("\n".join(lines) if shown else "")


def test_passages_keep_to_their_budget_and_the_best_of_each_requirement_come_first() -> None:
    lines = [f"line {number} " + "word " * 40 for number in range(1, 2_001)]
    rows = [((1, 1), [[number * 10, number * 10 + 8], [1_900, 1_990]]) for number in range(1, 120)]
    told = passages_text(lines, rows)
    assert PASSAGES_TOKENS / 2 < count_tokens(told) <= PASSAGES_TOKENS
    assert "line 10 " in told
    assert "line 1900" not in told


@pytest.mark.parametrize("heading", ["", "## Requirements\n\n"])
def test_a_demand_that_an_example_follows_is_a_requirement_and_shown_with_the_example(heading: str) -> None:
    example = '```\n>>> ago(15, "weeks")\n```'
    text = f"# Tool\n\n{heading}The function `ago` shall take a unit:\n\n{example}\n\nIt must be fast.\n"
    first, second = extract(text).requirements
    assert first.text.startswith("The function `ago` shall take a unit:")
    assert example in passages_text(text.splitlines(), [(first.lines, first.passages)])
    assert second.text == "It must be fast."


MAIL = """Hi,

could you add a footer to our tables? A table must draw its footer last. With

    table.footer([13])

it prints

    +----+
    | 12 |
    +====+
    | 13 |
    +----+

The footer must count for the widths of columns.

Thanks, Ida
"""


def test_a_text_without_sections_has_its_examples_as_passages() -> None:
    spans = [r.passages for r in extract(MAIL).requirements]
    assert spans
    assert all(any(a <= 5 and b >= 13 for a, b in found) for found in spans), "code and what it prints are one example"


SECTIONS = """# Times

## Durations
- `fmt(s)` shows seconds as words.

| seconds | text |
|---|---|
| 61 | 1m 1s |

## Stopwatch
- A stopwatch shall count laps.
- A lap ends with `lap()`.

## Example
```
watch = Stopwatch()
```
"""


def test_a_table_of_another_subject_is_no_passage_and_an_example_for_all_sections_is_one() -> None:
    passages = {r.text: r.passages for r in extract(SECTIONS).requirements}
    laps = next(found for text, found in passages.items() if "count laps" in text)
    assert not any(a <= 6 <= b for a, b in laps)
    assert any(a <= 15 <= b for a, b in laps)


def test_lines_of_a_requirement_with_indented_code_are_shown_in_their_form() -> None:
    lines = ["- `report()` gives:", "", "      load: 1.5s", "      total: 3s", ""]
    assert "      load: 1.5s\n      total: 3s" in passages_text(lines, [((1, 4), [])])
    assert passages_text(["- It lists", "  all notes."], [((1, 2), [])]) == ""


def test_no_sentence_is_cut_at_the_end_of_a_line() -> None:
    lines = ["A clock is", "a callable. It returns", "seconds.", "", "- one", "- two", "", "| a |", "| b |"]
    assert passages_text(lines, [((5, 5), [(2, 2)])]) == "a callable. It returns\nseconds."
    assert passages_text(lines, [((1, 3), [(5, 5)])]) == "- one"
    assert passages_text(lines, [((1, 3), [(8, 8)])]) == "| a |"
