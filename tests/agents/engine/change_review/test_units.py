"""A change is cut into pieces that show a changed function, its lines marked and numbered."""

from agents.engine.change_review.units import DiffRow, pieces_of_change, rows_of

DIFF = (
    "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n\\ No newline at end of file\n"
)


def rows(text, changed):
    return [DiffRow("+" if at in changed else " ", at, line) for at, line in enumerate(text.split("\n"), 1)]


def test_lines_have_the_number_that_they_have_after_the_change():
    assert [(row.mark, row.line, row.text) for row in rows_of(DIFF)] == [
        (" ", 1, "a"),
        ("-", 2, "b"),
        ("+", 2, "c"),
        (" ", 3, "d"),
    ]
    assert rows_of("Binary files a/x and b/x differ\n") == []


def test_a_function_is_one_piece_however_many_of_its_lines_change():
    text = "import os\n\n\ndef one(a):\n    b = a\n    c = b\n    return c\n\n\ndef two():\n    return 1\n"
    (piece,) = pieces_of_change("a.py", rows(text, {5, 7}))
    assert piece.names == ("one",)
    assert piece.text().splitlines()[0] == "      4 def one(a):"
    assert "+     7     return c" in piece.text()
    assert "two" not in piece.text()


def test_of_a_long_function_the_surroundings_of_the_change_are_shown():
    text = "def long():\n" + "\n".join(f"    step_{number}()" for number in range(200)) + "\n"
    (piece,) = pieces_of_change("a.py", rows(text, {100}))
    shown = piece.text()
    assert "def long():" in shown
    assert "step_98()" in shown
    assert "  …" in shown
    assert "step_150()" not in shown


def test_small_pieces_of_a_file_are_asked_about_together_and_long_ones_apart():
    small = "\n\n".join(f"def f{number}():\n    return {number}" for number in range(4))
    assert len(pieces_of_change("a.py", rows(small, {2, 5, 8, 11}))) == 1
    wide = small.replace("return", "return " + "x + " * 300)
    assert len(pieces_of_change("a.py", rows(wide, {2, 5, 8, 11}))) == 4


def test_what_is_in_no_function_is_shown_with_a_few_lines_around():
    (piece,) = pieces_of_change("a.py", rows("\n".join(f"N_{number} = {number}" for number in range(1, 41)), {20}))
    assert piece.names == ()
    assert [row.line for row in piece.rows if row] == list(range(14, 27))
