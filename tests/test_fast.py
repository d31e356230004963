"""What `make check` runs stays fast by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
from tests import fast

def pytest_configure(config):
    fast.skip_programs()
"""
INI = "[pytest]\nmarkers = bubblewrap\n  fast\naddopts = -p no:randomly -p no:django -p no:cacheprovider\n"


def test_a_fast_test_that_is_about_to_start_a_program_is_skipped_and_git_is_allowed(pytester: pytest.Pytester) -> None:
    pytester.makeini(INI)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import subprocess, sys, pytest

        @pytest.fixture
        def started():
            subprocess.run([sys.executable, "-c", ""])

        def test_it_starts_python():
            subprocess.run([sys.executable, "-c", ""])

        def test_its_fixture_does(started):
            pass

        def test_it_asks_git():
            assert subprocess.run(["git", "--version"], capture_output=True).returncode == 0
        """
    )
    pytester.syspathinsert(Path(__file__).parent.parent)
    pytester.runpytest_subprocess().assert_outcomes(passed=1, skipped=2)


def test_tests_of_a_room_are_fast_and_those_that_need_something_are_not(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("fast")
    from tests.fast import is_fast

    def item(path: str, *markers: str) -> bool:
        class Item:
            location = (path, 0, "")

            def get_closest_marker(self, name: str) -> object:
                return name if name in markers else None

        return is_fast(Item())  # type: ignore[arg-type]  # has what is read of an item

    assert item("tests/agents/gates/test_run.py")
    assert not item("tests/agents/gates/test_run.py", "bubblewrap")
    assert not item("tests/abuse/test_case_08_bombs.py")
    assert item("tests/test_hermetic.py")
