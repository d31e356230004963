"""What is asked for, each word once."""

from agents.context import said_once

REPORT = {"key": "R1", "text": "`report()` ends with a line `total`: load: 1.5s total: 2m 4.5s Times are in seconds."}


def test_what_is_not_to_be_built_is_marked_among_the_requirements():
    rows = [
        {"key": "R1", "text": "Sums are shown.", "kind": "functional", "acceptance": ["2 + 2 is 4"]},
        {"key": "R2", "text": "Currencies other than euro.", "kind": "non_goal"},
    ]
    said = ["- R1: Sums are shown.", "  - 2 + 2 is 4", "- R2 (exclusion): Currencies other than euro."]
    assert said_once(rows, "") == ("\n".join(said), "")


def test_an_example_that_a_requirement_tells_in_one_line_stands_below_it_alone():
    passages = (
        "- `report()` ends with a line `total`:\n\n      load: 1.5s\n      total: 2m 4.5s\n\n  Times are in seconds."
    )
    asked, left = said_once([REPORT], passages)
    assert asked == (
        "- R1: `report()` ends with a line `total`: … Times are in seconds.\n    load: 1.5s\n    total: 2m 4.5s"
    )
    assert left == ""


def test_a_table_keeps_its_form_where_the_text_has_its_words():
    row = {"key": "R1", "text": "Small Roman numbers. n | text 4 | IV 9 | IX"}
    table = "| n | text |\n|---|---|\n| 4 | IV |\n| 9 | IX |"
    asked, left = said_once([row], f"Small Roman numbers.\n\n{table}")
    assert asked.split("\n") == ["- R1: Small Roman numbers.", *(f"    {line}" for line in table.split("\n"))]
    assert left == ""


def test_a_passage_keeps_what_no_requirement_says():
    rows = [{"key": "R1", "text": "The sum of a basket is shown."}, {"key": "R2", "text": "Prices are in euro."}]
    passages = "The sum of a basket is\nshown. Prices are in euro.\nFor\n\n    basket 1 2\n\nwe expect\n\n    3"
    asked, left = said_once(rows, passages)
    assert asked == "- R1: The sum of a basket is shown.\n- R2: Prices are in euro."
    assert left == "For\n\n    basket 1 2\n\nwe expect\n\n    3"


def test_code_in_a_fence_is_not_taken_for_sentences_of_a_requirement():
    rows = [{"key": "R1", "text": "Call it as: run the thing now"}]
    passages = "```\nrun the thing now\n```\n…\nmore"
    asked, left = said_once(rows, passages)
    assert left == passages
    assert asked == "- R1: Call it as: run the thing now"


def test_a_requirement_of_several_lines_keeps_its_examples_where_they_stand():
    text = "Answer POST /t.\n\nThe request:\n\n```text\nPOST /t now\n```\n\nIt said:\n\n```text\nKeyError: 'a' b\n```"
    assert said_once([{"key": "R1", "text": text, "acceptance": ["It works."]}], text) == (
        f"- R1: {text}\n  - It works.",
        "",
    )
