"""What a server somewhere else sends is read as it was written."""

from __future__ import annotations

from aiswe_site.cli.remote.server import _lines


def test_only_a_newline_ends_a_line_however_the_pieces_are_cut() -> None:
    text = 'event: x\ndata: {"said": "a\u2028b\u2029c\u0085d\x0be"}\n\nlast'
    expected = text.split("\n")
    for size in (1, 3, 1_000):
        assert list(_lines(text[at : at + size] for at in range(0, len(text), size))) == expected
