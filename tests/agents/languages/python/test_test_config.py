"""What the coder may not write, because it would decide which tests run."""

import pytest

from agents.languages.python.test_config import is_test, steers_tests
from tests.tables import each_row


@each_row(
    "path",
    (
        "conftest.py app/conftest.py Conftest.py pytest.ini tox.ini setup.cfg sitecustomize.py lib/x.pth "
        "pytest.py _pytest/x.py .coveragerc"
    ).split(),
)
def test_a_file_that_steers_the_tests_is_refused(path):
    assert "how the tests run" in steers_tests(path, "")


@each_row(
    "text",
    [
        '[tool.pytest.ini_options]\naddopts = "--deselect tests/test_a.py::test_hard"',
        '[tool.pytest.ini_options]\npython_files = "none_*.py"',
        '[tool.pytest.ini_options]\ntestpaths = ["elsewhere"]',
        '[tool.pytest]\naddopts = ["-k", "nothing"]',
        'tool.pytest = "odd"',
        '[tool.coverage.run]\nomit = ["*"]',
        "not toml",
    ],
)
def test_a_pyproject_that_leaves_tests_out_is_refused(text):
    assert steers_tests("pyproject.toml", text)


@pytest.mark.parametrize(
    "text",
    ['[project]\nname = "a"', '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = "."', "", "tool = 3"],
)
def test_an_ordinary_pyproject_is_the_coders_to_write(text):
    assert steers_tests("pyproject.toml", text) == ""


@each_row("path", ["app/main.py", "app/coverage.py.txt", "my_conftest.py", "data/pytest.json", "requirements.txt"])
def test_ordinary_files_are_the_coders_to_write(path):
    assert steers_tests(path, "anything") == ""


@each_row(
    ("path", "told"),
    [
        ("tests/helpers.py", ()),
        ("test/data.py", ()),
        ("src/pkg/tests/unit/cases.py", ()),
        ("pkg/test_core.py", ()),
        ("pkg/core_test.py", ("src",)),
        ("conftest.py", ("tests",)),
        ("pkg/conftest.py", ()),
        ("testing/helper.py", ("testing",)),
        ("pkg/tests/helper.py", ("pkg",)),
        ("tests/new.py", ("testing",)),
    ],
)
def test_what_pytest_would_collect_belongs_to_the_tester(path, told):
    assert is_test(path, told)


@pytest.mark.parametrize(
    ("path", "told"),
    [("pkg/core.py", ()), ("django/test/client.py", ("tests",)), ("pkg/core.py", ("pkg",)), ("contest.py", ())],
)
def test_code_is_the_coders(path, told):
    assert not is_test(path, told)
