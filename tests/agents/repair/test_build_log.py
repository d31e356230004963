"""The cause of a failed build, on logs that real tools wrote (measure/corpora/build_logs), and on any text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.repair.build_log import HEAD, SHOWN, TAIL, clean, read_log
from measure.corpora.build_logs.cases import CASES, Case
from measure.corpora.build_logs.make import LOGS
from tests.sizes import scaled
from tests.tables import each_row

PIECES = st.sampled_from(
    [
        *(
            "##[group]Run x",
            "##[error]",
            "\x1b[31m",
            "\x1b]8;;",
            "section_start:1:a\r",
            "$ npm test",
            "> a@1 b",
            "\n",
            "\r",
        ),
        *("2026-03-02T10:15:00.1Z ", "E   ", "Step 1/2 : RUN x", "npm error code ERESOLVE", "SyntaxError: b", "F401 x"),
        *("error: No solution found when resolving dependencies", "a.py:1: error: b  [c]", "*** Error compiling 'a'"),
        *('  File "a.py", line 1', "  --> a.py:1:1", "/a.js", "  1:1  error  b  c", "::", "\t"),
    ]
)


@each_row("name", CASES)
def test_the_cause_of_a_real_log_is_named(name: str) -> None:
    case: Case = CASES[name]
    cause = read_log((LOGS / f"{name}.log").read_text().split("\n", 1)[1], case.files)
    assert cause is not None
    assert (cause.kind, cause.tool, cause.place) == (case.kind, case.tool, case.place)
    assert [word for word in case.words if word not in cause.excerpt] == []
    assert cause.command == case.command or not case.wrapped
    assert not re.search(r"\x1b|##\[|\d\d:\d\d\.\d{7}Z|section_", cause.excerpt)


def test_the_form_of_other_logs_is_taken_off() -> None:
    old = (
        "build\tRun tests\t2026-03-02T10:15:00.1234567Z \x1b[31mE   boom\x1b[0m\r\n2026-03-02T10:15:01.000000Z 01O next"
    )
    assert clean(old) == "E   boom\nnext"
    assert clean("10 %\r50 %\rdone") == "done"


def test_annotations_stand_before_the_end_of_the_step_that_failed() -> None:
    log = "##[group]Run ruff check .\n##[endgroup]\n##[error]a.py:1:8: F401 `os` imported but unused\n"
    log += "::error title=ruff (F401),file=b.py,line=2::b.py:2:8: F401 `re` imported but unused\n"
    cause = read_log(f"{log}##[error]Process completed with exit code 1.\n", ["a.py", "b.py"])
    assert cause is not None
    assert (cause.kind, cause.place, cause.more, cause.command) == ("lint", "a.py:1", 1, "ruff check .")


def test_a_successful_log_names_no_cause() -> None:
    assert read_log("$ npm test\n\n> shop@1.0.0 test\n> vitest run\n\nTests  3 passed (3)\n") is None
    assert read_log("") is None


def test_secrets_do_not_reach_the_cause() -> None:
    token = "ghp_" + "a1B2" * 9
    cause = read_log(f"npm error code E404\nnpm error 404 Not Found - GET https://registry/x?token={token}\n")
    assert cause is not None
    assert token not in str(cause.to_json())


LONG = [unit * scaled(50_000_000 // len(unit), 30) for unit in ("x", "\n", "a.py:1:1 F\n", "\x1b[31m")]


@pytest.mark.whole
def test_of_a_huge_log_both_ends_are_read() -> None:
    broken = "\nERROR: No matching distribution found for nothing==1\n"
    for filler in LONG:
        cause = read_log(filler + broken)
        assert cause is not None
        assert cause.tool == "pip"
        assert len(clean(filler)) <= HEAD + TAIL + 1


def test_lines_that_could_be_read_in_many_ways_are_read_at_once() -> None:
    for line in (
        "failed to solve: " * 100 + "x",
        "  1:1  error  b" + " " * 1_900 + "!",
        "╰─> [1 lines of output]\n" * 30_000,
    ):
        read_log(f"a.js\nerror: Step 1/2 : RUN x\n{line}\n")


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=40).map("".join))
@settings(derandomize=True, deadline=None, max_examples=scaled(150))
def test_any_text_can_be_read(text: str) -> None:
    cause = read_log(text, ["a.py"])
    if cause is not None:
        assert len(cause.excerpt) <= SHOWN
        assert cause.kind
        assert "\x1b" not in cause.message + cause.excerpt + cause.command
