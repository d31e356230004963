"""A row that fails is named, whatever the other rows do; and a reader that is quadratic is told from a linear one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sizes import growth
from tests.tables import each_row

pytest_plugins = ["pytester"]

INI = "[pytest]\naddopts = -p no:randomly -p no:django -p no:cacheprovider\nverbosity_subtests = 0\n"


def test_each_row_is_tried_and_each_that_fails_is_named(pytester: pytest.Pytester) -> None:
    pytester.makeini(INI)
    pytester.makepyfile(
        """
        import os, pytest
        from tests.tables import each_row

        @pytest.fixture
        def four():
            return 4

        @each_row("number, word", [(1, "one"), (2, "two"), pytest.param(4, "four", id="even"), (3, "three")])
        def test_rows(number, word, four, tmp_path, monkeypatch):
            assert not list(tmp_path.iterdir())
            (tmp_path / "made").touch()
            assert "SEEN" not in os.environ
            monkeypatch.setenv("SEEN", word)
            assert number not in (2, four)
        """
    )
    pytester.syspathinsert(Path(__file__).parent.parent)
    shown = pytester.runpytest_subprocess()
    shown.assert_outcomes(failed=3)  # two rows, and the test that has them
    shown.stdout.fnmatch_lines(["SUBFAILED(number=2, word='two') *", "SUBFAILED[[]even[]] *"])


def test_a_row_that_hangs_ends_and_the_rows_after_one_that_failed_have_a_limit_too(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"{INI}timeout = 0.5\n")
    pytester.makepyfile(
        """
        import time
        from tests.tables import each_row

        @each_row("seconds", [60, 0, 60])
        def test_rows(seconds, request):
            assert request.node.name == "test_rows"
            time.sleep(seconds)
        """
    )
    pytester.syspathinsert(Path(__file__).parent.parent)
    shown = pytester.runpytest_subprocess(timeout=50)
    shown.assert_outcomes(failed=3)  # two rows, and the test that has them


def test_a_table_without_rows_or_with_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="without rows"):
        each_row("a", [])
    with pytest.raises(ValueError, match="marks"):
        each_row("a", [pytest.param(1, marks=pytest.mark.xfail)])


def test_growth_tells_quadratic_from_linear() -> None:
    assert growth(lambda size: sum(range(size * 100)), 2_000) < 32
    assert growth(lambda size: sum(sum(range(size)) for _ in range(size)), 500) > 32
