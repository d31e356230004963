"""Whatever tool failed, its output names the right file, line and kind of error; equal causes have equal signatures."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.repair.signature import signature_of, signature_of_problems
from agents.repair.traces import read_problems
from tests.sizes import growth, scaled
from tests.tables import each_row

DATA = Path(__file__).parent / "data"
ROOTS = {"a": "/srv/a1/project", "b": "/srv/another-place/b2/deeper/project", "c": "/srv/a1/project"}

# recording -> (tool, kind, place) of each failure, in the first of its takes
FAILURES = {
    "jest": [("jest", "AssertionError", "test/cart.test.js:5"), ("jest", "TypeError", "lib/cart.js:7")],
    "mocha": [("mocha", "AssertionError", "test/cart.test.js:6"), ("mocha", "TypeError", "lib/cart.js:7")],
    "vitest": [("vitest", "AssertionError", "test/cart.test.js:6"), ("vitest", "TypeError", "lib/cart.js:7")],
    "node_test_spec": [
        ("node-test", "AssertionError", "test/cart.test.js:6"),
        ("node-test", "TypeError", "lib/cart.js:7"),
    ],
    "node_test_tap": [
        ("node-test", "AssertionError", "test/cart.test.js:6"),
        ("node-test", "TypeError", "lib/cart.js:7"),
    ],
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
    "pytest_summary_alone": [("pytest", "KeyError", "tests/test_ledger.py")],
    "pytest_captured_trace": [("pytest", "KeyError", "pkg/ledger.py:10")],
    "pytest_mock": [("pytest", "AssertionError", "tests/test_ledger.py:9")],
    "pytest_died": [("pytest", "Segmentation fault", "tests/test_ledger.py:7")],
    "pytest_hung": [("pytest", "Timeout", "tests/test_ledger.py:8")],
    "pytest_doctest": [("pytest", "DocTestFailure", "pkg/words.py:4")],
    "pytest_group": [("pytest", "ValueError", "pkg/ledger.py:6"), ("pytest", "TypeError", "pkg/ledger.py:6")],
    "pytest_async_alone": [("pytest", "Failed", "tests/test_ledger.py")],
    "pytest_worker_crashed": [("pytest", "WorkerCrashed", "tests/test_ledger.py")],
    "pytest_no_such_file": [("pytest", "UsageError", "")],
    "pytest_no_such_option": [("pytest", "UsageError", "")],
    "pytest_bad_settings": [("pytest", "UsageError", "pytest.ini:1")],
    "pytest_raises_match": [("pytest", "AssertionError", "tests/test_ledger.py:6")],
    "pytest_circular_fixtures": [("pytest", "RecursiveFixture", "tests/test_ledger.py:9")],
    "pytest_thread": [("pytest", "pytest.PytestUnhandledThreadExceptionWarning", "pkg/ledger.py:10")],
    "unittest_unexpected": [("unittest", "UnexpectedSuccess", "")],
    "unittest_no_such_test": [("unittest", "AttributeError", "")],
    "python_other_process": [("python", "ZeroDivisionError", "main.py:3")],
    "python_logged": [("python", "PermissionError", "main.py:6")],
    "python_ignored": [("python", "KeyError", "main.py:8")],
    "python_encoding": [("python", "SyntaxError", "main.py:2")],
    "python_died": [("python", "Segmentation fault", "main.py:3")],
    "python_doctest": [("doctest", "DocTestFailure", "words.py:4")],
    "python_no_file": [("python", "FileNotFoundError", "")],
    "python_no_module": [("python", "ModuleNotFoundError", "")],
    "python_group_alone": [("python", "ValueError", "main.py:2"), ("python", "TypeError", "main.py:2")],
    "node_own_error": [("node", "NoStock", "main.js:5")],
    "node_thrown_object": [("node", "Uncaught", "main.js:2")],
    "node_rejected_words": [("node", "UnhandledPromiseRejection", "")],
    "node_aggregate": [("node", "AggregateError", "main.js:2")],
    "node_out_of_memory": [("node", "OutOfMemory", "")],
    "node_test_missing_module": [("node-test", "ModuleNotFound", "test/a.test.js:2")],
    "node_test_hook": [("node-test", "RangeError", "lib/till.js:13")],
    "node_test_hung": [("node-test", "Timeout", "test/a.test.js:2")],
    "jest_syntax": [("jest", "SyntaxError", "lib/a.js:2")],
    "jest_not_thrown": [("jest", "AssertionError", "test/till.test.js:4")],
    "jest_hung": [("jest", "Timeout", "test/a.test.js:2")],
    "jest_no_tests": [("jest", "NoTests", "test/a.test.js")],
    "vitest_unhandled": [("vitest", "RangeError", "lib/till.js:13")],
    "vitest_hung": [("vitest", "Timeout", "test/till.test.js")],
    "vitest_syntax": [("vitest", "Error", "lib/till.js:1")],
    "mocha_missing_module": [("node", "ModuleNotFound", "test/a.test.js:2")],
    "mocha_syntax": [("node", "SyntaxError", "test/a.test.js:2")],
    "mocha_hung": [("mocha", "Timeout", "test/till.test.js")],
    "tsc_alone": [("tsc", "TS18003", "")],
    "npm_command_missing": [("npm", "CommandNotFound", "package.json")],
    "pip_build": [("pip", "RuntimeError", "")],
    "pip_invalid_line": [("pip", "InvalidRequirement", "requirements.txt:2")],
    "pip_no_file": [("pip", "FileNotFound", "")],
    "pip_no_project": [("pip", "NotInstallable", "")],
    "pip_wheel": [("pip", "UnsupportedWheel", "")],
}


def take(name: str, which: str) -> str:
    return (DATA / f"{name}.{which}.txt").read_text(encoding="utf-8")


def problems(name: str, which: str):
    return read_problems(take(name, which), root=ROOTS[which])


def takes(which: str) -> list[str]:
    return sorted(name for name in FAILURES if (DATA / f"{name}.{which}.txt").exists())


def test_every_recording_is_expected_to_say_something():
    assert {path.name.split(".")[0] for path in DATA.glob("*.txt")} == set(FAILURES)


@each_row("name", sorted(FAILURES))
def test_the_file_the_line_and_the_kind_of_error_are_found(name):
    assert [(one.tool, one.kind, one.place) for one in problems(name, "a")] == FAILURES[name]


@each_row("name", takes("b"))
def test_the_same_cause_elsewhere_and_later_has_the_same_signature(name):
    first, second = problems(name, "a"), problems(name, "b")
    assert first
    assert signature_of_problems(first) == signature_of_problems(second)


@each_row("name", takes("c"))
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
    said = (
        'Traceback (most recent call last):\n  File "/workspace/app.py", line {}, in run\n    '
        "x()\nNameError: name 'x' is not defined\n"
    )
    assert signature_of({"output": said.format(3)}) == signature_of({"output": said.format(77)})
    assert signature_of({"output": said.format(3)}) != signature_of({"output": said.format(3).replace("'x'", "'y'")})


def test_output_that_is_no_failure_holds_none():
    assert read_problems("2 passed in 0.1s\n") == ()
    assert read_problems("") == ()
    assert signature_of_problems(()) == ""


RECORDED = sorted(path.read_text(encoding="utf-8") for path in DATA.glob("*.txt"))


@settings(max_examples=scaled(150))
@given(st.sampled_from(RECORDED), st.integers(0, 3_000), st.integers(0, 3_000), st.text(max_size=60))
def test_torn_and_mixed_output_is_read_without_an_error(text, at, until, between):
    for one in read_problems(text[:at] + between + text[until:]):
        assert one.kind
        assert len(one.message) <= 400


@settings(max_examples=scaled(100))
@given(st.text(max_size=2_000))
def test_any_text_is_read_without_an_error(text):
    read_problems(text)


@pytest.mark.whole
@each_row(
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
        "Failed example:\n",
        '  File "x", line 1, in f\nFailed example:\n',
        "Fatal Python error: x\nThread 0x1 (most recent call first):\n",
        "/a.js:1\nx\n^\n",
        "> x 1\n> y\n",
        "a: not found\n",
        "E   assert 1\n",
        "FAILED a.py::b - x\n",
        "Traceback (most recent call last):\nA: b\n",
        "╰─> [1 lines of output]\n",
    ],
)
def test_reading_much_of_anything_grows_with_its_length(unit):
    for before in ("=== FAILURES ===\n", ""):
        assert growth(lambda size: read_problems(before + unit * (size // len(unit))), scaled(50_000)) < 32  # noqa: B023
