"""A requirement is shown with the places of the document that explain it."""

from __future__ import annotations

from agents.requirements.extract import extract

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
    assert passages == {"FR-1": ((7, 9), (17, 17)), "FR-2": ((7, 9), (12, 12))}


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
