"""A document in its smallest statements, each with its lines."""

import pytest

from agents.requirements.pieces import pieces_of


def pieces(text):
    return [(piece.kind, piece.text, piece.lines) for piece in pieces_of(text.split("\n"))]


def test_a_paragraph_is_its_sentences_with_the_lines_of_each():
    assert pieces("# Sums\n\nSums are exact. They are shown\nin euros. No tax.") == [
        ("heading", "Sums", (1, 1)),
        ("para", "Sums are exact.", (3, 3)),
        ("sentence", "They are shown in euros.", (3, 4)),
        ("sentence", "No tax.", (4, 4)),
    ]


def test_a_table_is_its_header_and_its_rows():
    assert pieces("| Id | What |\n|---|---|\n| A-1 | Sums |\n| A-2 | Taxes |") == [
        ("header", "Id | What", (1, 1)),
        ("table", "A-1 | Sums", (3, 3)),
        ("table", "A-2 | Taxes", (4, 4)),
    ]


def test_lists_keep_their_depth_and_examples_stay_whole():
    found = pieces_of(["- Sums", "  - in euros", "", "```", "1 + 1. Two", "```"])
    assert [(piece.kind, piece.indent) for piece in found] == [("item", 0), ("item", 2), ("code", 0)]
    assert found[-1].text == "1 + 1. Two"


def test_what_is_quoted_from_earlier_mail_is_marked():
    found = pieces_of(["From: Ida", "To: Ole", "", "Sums should be exact.", "", "> Sums may be rounded."])
    assert {piece.text: piece.quoted for piece in found[-2:]} == {
        "Sums should be exact.": False,
        "Sums may be rounded.": True,
    }


@pytest.mark.parametrize("first", ["Er kommt z. B. Montag.", "Frag Dr. Weiß.", "See e.g. Fig. 2.", "Elle yazmalım."])
def test_abbreviations_end_no_sentence_and_words_that_end_like_one_do(first):
    assert [text for _, text, _ in pieces(f"{first} Sums follow.")] == [first, "Sums follow."]
