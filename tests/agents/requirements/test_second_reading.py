"""Two readings of one document: what both say stays, what they differ in a person decides, and nothing is lost."""

from hypothesis import given
from hypothesis import strategies as st

from agents.requirements.extract import extract
from agents.requirements.pieces import pieces_of
from agents.requirements.second_reading import DOUBTS, VERDICTS, is_certain, read_again
from tests.tables import each_row

DOCUMENT = """# Requirements

- The till shows the sum. It rounds to cents. It prints the sum too.
- The till greets people.
- FR-7: The till must open.

# Notes

Bills of 500 are refused. Only in the evening.

Cards come next year.

# Not wanted

- The till plays music.
"""


def read(**verdicts):
    """Read DOCUMENT again with a verdict for each piece that begins so; other pieces have none."""
    judged = [
        (piece, next((verdict for start, verdict in verdicts.items() if piece.text.startswith(start)), ""))
        for piece in pieces_of(DOCUMENT.split("\n"))
    ]
    reading = read_again(extract(DOCUMENT), judged)
    return {row["text"]: row for row in reading.rows}, reading


def rows_of(found):
    return {row["text"]: row for row in read_again(found, []).rows}


SUM = "The till shows the sum. It rounds to cents. It prints the sum too."
GREETS, OPENS, MUSIC = "The till greets people.", "The till must open.", "The till plays music."


def test_without_a_second_reading_everything_stays_as_the_rules_found_it():
    found = extract(DOCUMENT)
    assert [row["text"] for row in read_again(found, []).rows] == [one.text for one in found.requirements]
    assert rows_of(found).keys() == {SUM, GREETS, OPENS, MUSIC}
    assert {row["origin"] for row in rows_of(found).values()} == {"explicit"}


def test_what_both_read_alike_stays_explicit_and_without_a_remark():
    rows, _ = read(**{"The till greets": "asks", "The till plays": "excluded"})
    assert [(rows[text]["origin"], rows[text]["reason"]) for text in (GREETS, MUSIC)] == [("explicit", "")] * 2


def test_what_the_rules_left_out_and_the_model_reads_as_asked_for_is_a_suggestion_with_its_details():
    rows, _ = read(**{"Bills": "asks", "Only in": "detail", "Cards": "excluded"})
    asked, excluded = rows["Bills of 500 are refused. Only in the evening."], rows["Cards come next year."]
    assert (asked["origin"], asked["kind"], asked["lines"]) == ("inferred", "functional", [9, 9])
    assert (excluded["origin"], excluded["kind"]) == ("inferred", "non_goal")
    assert len({row["key"] for row in rows.values()}) == len(rows)


def test_a_requirement_that_is_background_to_the_model_becomes_a_suggestion_and_keeps_its_words():
    rows, _ = read(**{"The till greets": "other"})
    assert rows[GREETS]["origin"] == "inferred"
    assert rows[GREETS]["reason"] in DOUBTS


def test_an_open_question_among_requirements_is_asked_instead_of_built():
    rows, reading = read(**{"The till greets": "open", "Cards": "open"})
    assert rows[GREETS]["origin"] == "inferred"
    assert [question["text"] for question in reading.questions] == [GREETS, "Cards come next year."]


def test_what_the_model_reads_as_not_wanted_is_not_built_and_says_why():
    rows, _ = read(**{"The till greets": "excluded"})
    assert rows[GREETS]["kind"] == "non_goal"
    assert "not wanted" in rows[GREETS]["reason"]


def test_what_only_details_an_exclusion_is_not_built_either():
    rows, _ = read(
        **{"The till shows": "excluded", "It rounds": "detail", "It prints": "detail", "The till greets": "detail"}
    )
    assert rows[GREETS]["kind"] == "non_goal"
    rows, _ = read(**{"The till shows": "asks", "The till greets": "detail"})
    assert (rows[GREETS]["kind"], rows[GREETS]["origin"]) == ("functional", "explicit")


def test_an_exclusion_that_the_model_reads_as_asked_for_waits_for_a_person():
    rows, _ = read(**{"The till plays": "asks"})
    assert (rows[MUSIC]["kind"], rows[MUSIC]["origin"]) == ("functional", "inferred")


def test_statements_that_the_rules_joined_are_separated_and_stay_explicit():
    text = "# Requirements\n\nThe till must show sums. It rounds to cents. It prints sums too.\n"
    judged = list(zip(pieces_of(text.split("\n")), ["", "asks", "detail", "asks"], strict=True))
    first, second = read_again(extract(text), judged).rows
    assert [first["text"], second["text"]] == ["The till must show sums. It rounds to cents.", "It prints sums too."]
    assert [first["key"], second["key"]] == ["R1", "R2"]
    assert {first["origin"], second["origin"]} == {"explicit"}


def test_the_sentences_of_a_list_item_stay_one_requirement():
    rows, _ = read(**{"The till shows": "asks", "It rounds": "detail", "It prints": "asks"})
    assert rows[SUM]["key"] == "R1"


@each_row("verdict", ["other", "open", "detail", "nonsense", ""])
def test_what_the_author_numbered_stays_a_requirement_unless_the_model_reads_it_as_not_wanted(verdict):
    rows, _ = read(**{"FR-7": verdict})
    assert (rows[OPENS]["origin"], rows[OPENS]["kind"]) == ("explicit", "functional")
    rows, _ = read(**{"FR-7": "excluded"})
    assert rows[OPENS]["kind"] == "non_goal"


def test_a_document_that_its_author_numbered_throughout_needs_no_second_reading():
    assert is_certain(extract("# Requirements\n\nFR-1: The till must open.\n\nFR-2: The till must close.\n"))
    assert not is_certain(extract(DOCUMENT))


@given(st.lists(st.sampled_from([*VERDICTS, "", "asked"]), min_size=40, max_size=40))
def test_no_word_of_the_rules_findings_is_lost_and_no_key_given_twice_whatever_a_model_says(verdicts):
    pieces = pieces_of(DOCUMENT.split("\n"))
    reading = read_again(extract(DOCUMENT), list(zip(pieces, verdicts, strict=False)))
    said = " ".join(row["text"] for row in reading.rows)
    for text in (SUM, GREETS, OPENS, MUSIC):
        assert set(text.split()) <= set(said.split())
    keys = [row["key"] for row in reading.rows]
    assert len(set(keys)) == len(keys)
    assert {row["origin"] for row in reading.rows} <= {"explicit", "inferred"}
