"""Whatever tool failed, its output names the right file, line and kind of error; equal causes have equal signatures."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.repair.signature import signature_of, signature_of_problems
from agents.repair.traces import read_problems

DATA = Path(__file__).parent / "data"
ROOTS = {"a": "/srv/a1/project", "b": "/srv/another-place/b2/deeper/project", "c": "/srv/a1/project"}

# recording -> (tool, kind, place) of each failure, in the first of its takes
FAILURES = {
    "jest": [("jest", "AssertionError", "test/cart.test.js:5"), ("jest", "TypeError", "lib/cart.js:7")],
    "mocha": [("mocha", "AssertionError", "test/cart.test.js:6"), ("mocha", "TypeError", "lib/cart.js:7")],
    "vitest": [("vitest", "AssertionError", "test/cart.test.js:6"), ("vitest", "TypeError", "lib/cart.js:7")],
    "node_test_spec": [("node-test", "AssertionError", "test/cart.test.js:6"), ("node-test", "TypeError", "lib/cart.js:7")],
    "node_test_tap": [("node-test", "AssertionError", "test/cart.test.js:6"), ("node-test", "TypeError", "lib/cart.js:7")],
    "node_uncaught": [("node", "TypeError", "lib/cart.js:7")],
    "node_rejection": [("node", "RangeError", "main.js:4")],
    "node_syntax": [("node", "SyntaxError", "lib/cart.js:4")],
    "node_missing_module": [("node", "ModuleNotFound", "main.js:1")],
    "node_esm_missing_module": [("node", "ModuleNotFound", "main.js")],
    "node_esm_missing_name": [("node", "SyntaxError", "main.js:1")],
    "tsc": [("tsc", "TS2322", "src/cart.ts:5"), ("tsc", "TS2305", "src/main.ts:1")],
    "tsc_pretty": [("tsc", "TS2322", "src/cart.ts:5"), ("tsc", "TS2305", "src/main.ts:1")],
    "npm_missing_script": [("npm", "MissingScript", "package.json")],
    "npm_unknown_package": [("npm", "E404", "package.json")],
    "pip_unknown_package": [("pip", "NoMatchingDistribution", "")],
    "pip_no_version": [("pip", "NoMatchingDistribution", "")],
    "pip_conflict": [("pip", "ResolutionImpossible", "")],
    "pytest_assert": [("pytest", "AssertionError", "tests/test_cart.py:8")],
    "pytest_exception": [("pytest", "KeyError", "shop/cart.py:13")],
    "pytest_short": [("pytest", "KeyError", "shop/cart.py:13")],
    "pytest_line": [("pytest", "KeyError", "shop/cart.py:13")],
    "pytest_native": [("pytest", "json.decoder.JSONDecodeError", "shop/cart.py:16")],
    "pytest_library_frames": [("pytest", "json.decoder.JSONDecodeError", "shop/cart.py:16")],
    "pytest_missing_module": [("pytest", "ModuleNotFoundError", "shop/cart.py:1")],
    "pytest_missing_name": [("pytest", "ImportError", "tests/test_cart.py:1")],
    "pytest_circular_import": [("pytest", "ImportError", "shop/stock.py:1")],
    "pytest_syntax_error": [("pytest", "SyntaxError", "shop/cart.py:2")],
    "pytest_missing_fixture": [("pytest", "FixtureNotFound", "tests/test_cart.py:11")],
    "pytest_hypothesis": [("pytest", "AssertionError", "tests/test_cart.py:8")],
    "pytest_conftest": [("pytest", "ModuleNotFoundError", "tests/conftest.py:1")],
    "unittest_fail": [("unittest", "AssertionError", "tests/test_cart.py:8")],
    "unittest_error": [("unittest", "KeyError", "shop/cart.py:13")],
    "unittest_import": [("unittest", "ModuleNotFoundError", "tests/test_cart.py:3")],
    "python_chained": [("python", "RuntimeError", "main.py:9")],
    "python_group": [("python", "ValueError", "main.py:5"), ("python", "ValueError", "main.py:5")],
    "python_syntax": [("python", "SyntaxError", "main.py:1")],
    "python_indentation": [("python", "IndentationError", "main.py:3")],
    "python_recursion": [("python", "RecursionError", "main.py:2")],
    "python_killed": [("python", "Killed", "")],
}  # fmt: skip


def take(name: str, which: str) -> str:
    return (DATA / f"{name}.{which}.txt").read_text(encoding="utf-8")


def problems(name: str, which: str):
    return read_problems(take(name, which), root=ROOTS[which])


def takes(which: str) -> list[str]:
    return sorted(name for name in FAILURES if (DATA / f"{name}.{which}.txt").exists())


def test_every_recording_is_expected_to_say_something():
    assert {path.name.split(".")[0] for path in DATA.glob("*.txt")} == set(FAILURES)


@pytest.mark.parametrize("name", sorted(FAILURES))
def test_the_file_the_line_and_the_kind_of_error_are_found(name):
    assert [(one.tool, one.kind, one.place) for one in problems(name, "a")] == FAILURES[name]


@pytest.mark.parametrize("name", takes("b"))
def test_the_same_cause_elsewhere_and_later_has_the_same_signature(name):
    first, second = problems(name, "a"), problems(name, "b")
    assert first
    assert signature_of_problems(first) == signature_of_problems(second)


@pytest.mark.parametrize("name", takes("c"))
def test_another_cause_has_another_signature(name):
    first, other = problems(name, "a"), problems(name, "c")
    assert other
    assert signature_of_problems(first) != signature_of_problems(other)


def test_a_failed_test_is_named_as_pytest_names_it():
    assert [one.test for one in problems("pytest_exception", "a")] == ["tests/test_cart.py::test_price"]


def test_the_exception_behind_an_exception_is_its_cause():
    assert problems("python_chained", "a")[0].cause == "json.decoder.JSONDecodeError"


def test_code_of_libraries_is_never_blamed():
    for name in FAILURES:
        for one in problems(name, "a"):
            assert not one.file.startswith(("/usr", "/opt", "node:", "<")), (name, one.file)


def test_a_report_without_failures_is_known_by_what_can_be_read_in_its_output():
    said = "Traceback (most recent call last):\n  File \"/workspace/app.py\", line {}, in run\n    x()\nNameError: name 'x' is not defined\n"
    assert signature_of({"output": said.format(3)}) == signature_of({"output": said.format(77)})
    assert signature_of({"output": said.format(3)}) != signature_of({"output": said.format(3).replace("'x'", "'y'")})


def test_output_that_is_no_failure_holds_none():
    assert read_problems("2 passed in 0.1s\n") == ()
    assert read_problems("") == ()
    assert signature_of_problems(()) == ""


RECORDED = sorted(path.read_text(encoding="utf-8") for path in DATA.glob("*.txt"))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(RECORDED), st.integers(0, 3_000), st.integers(0, 3_000), st.text(max_size=60))
def test_torn_and_mixed_output_is_read_without_an_error(text, at, until, between):
    for one in read_problems(text[:at] + between + text[until:]):
        assert one.kind
        assert len(one.message) <= 400


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=2_000))
def test_any_text_is_read_without_an_error(text):
    read_problems(text)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "unit",
    [
        "E ",
        '  File "x", line 1\n',
        "(" * 50,
        "a:" * 50 + "\n",
        "not ok 1 - x\n",
        " at x (",
        "✖ a (1ms)\n",
        "_" * 90 + " x ",
    ],
)
def test_megabytes_of_anything_are_read_in_bounded_time(unit):
    read_problems("=== FAILURES ===\n" + unit * (2_000_000 // len(unit)))
    read_problems(unit * (2_000_000 // len(unit)))
