"""Code that decides how its own tests run or compare."""

from agents.languages.python.forgery import forgeries
from agents.languages.python.pruning import ids_of_tests
from tests.tables import each_row

MANAGED = "@contextlib.contextmanager\ndef session():\n    try:\n        yield 1\n"


@each_row(
    ("path", "source", "why"),
    [
        ("tests/conftest.py", "def pytest_runtest_makereport(item, call): ...", "defines the hook"),
        ("tests/conftest.py", "collect_ignore = ['test_a.py']", "sets collect_ignore"),
        ("conftest.py", "pytest_plugins = ['forged']", "sets pytest_plugins"),
        ("tests/test_a.py", "class TestA:\n    __test__ = False", "sets __test__"),
        ("tests/test_a.py", "import calc\ncalc.add.__test__ = False", "sets __test__"),
        ("shop.py", "class A:\n    def __eq__(self, other):\n        return True", "calls everything equal"),
        ("shop.py", "import _pytest.runner", "imports _pytest"),
        ("shop.py", "def f():\n    import pytest\n    pytest.skip('x')", "imports pytest"),
        ("shop.py", "import os\nos._exit(0)", "calls os._exit"),
        ("shop.py", "import sys\nsys.settrace(print)", "calls sys.settrace"),
        ("shop.py", "def f(test, g):\n    test.__code__ = g.__code__", "sets __code__"),
        ("shop.py", "def f(frame):\n    frame.f_lineno += 1", "sets f_lineno"),
        ("shop.py", "class A:\n    def __exit__(self, *error):\n        return True", "swallows every failure"),
        ("shop.py", f"{MANAGED}    except (KeyError, Exception):\n        pass", "session swallows failures"),
        ("shop.py", f"{MANAGED}    except:\n        pass", "session swallows failures"),
    ],
)
def test_what_steers_the_result_is_named(path, source, why):
    assert any(why in found for found in forgeries(path, source))


@each_row(
    ("path", "source"),
    [
        ("tests/conftest.py", "import pytest\n@pytest.fixture(autouse=True)\ndef shop():\n    return 1"),
        ("tests/test_a.py", "import pytest\ndef test_a():\n    pytest.skip('not here')"),
        ("shop.py", "class A:\n    def __eq__(self, other):\n        return self.x == other.x"),
        ("shop.py", f"{MANAGED}    except Exception:\n        roll_back()\n        raise"),
        ("shop.py", f"{MANAGED}    except KeyError:\n        pass"),
        ("shop.py", "class A:\n    def __exit__(self, kind, *error):\n        return kind is KeyError"),
        ("shop.py", "def broken(:"),
    ],
)
def test_ordinary_code_and_fixtures_are_let_alone(path, source):
    assert forgeries(path, source) == []


def test_tests_are_found_as_pytest_finds_them():
    source = (
        "def test_a(): ...\ndef helper(): ...\nclass TestB:\n    def test_c(self): ...\nclass Other:\n"
        "    def test_d(self): ...\nclass E(unittest.TestCase):\n    def test_f(self): ...\n"
    )
    names = ["test_a", "TestB::test_c", "E::test_f"]
    assert ids_of_tests("tests/test_x.py", source) == [f"tests/test_x.py::{name}" for name in names]
    assert ids_of_tests("tests/helpers.py", source) == ids_of_tests("tests/test_x.py", "def broken(:") == []
