"""The count of usable replies says what it says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from measure.corpora.replies import check as replies
from measure.corpora.replies.shapes import Shape
from measure.figures import Section

MEANT = {"a.py": "x = 1\n"}


def test_only_exactly_what_was_meant_counts_as_right():
    shape = Shape("fences", "one", "", MEANT)
    assert replies.verdict(shape, {"a.py": "# a.py\nx = 1"}) == "right"
    assert replies.verdict(shape, {}) == "lost"
    assert replies.verdict(shape, {"a.py": "x = 2\n"}) == "wrong"
    assert replies.verdict(shape, {**MEANT, "b.py": "y\n"}) == "wrong"


@pytest.mark.slow
def test_each_form_has_a_figure_beside_a_strict_reader():
    section = Section("replies", "")
    replies.measure(section, SimpleNamespace(n=0))
    for figure in section.figures[:3]:
        assert figure.baseline is not None
        assert figure.measured.median > 98 > figure.baseline.median > 0
