"""Mutants of a change run against its tests in the sandbox."""

from types import SimpleNamespace

import pytest

from agents.languages.python import syntax
from agents.languages.registry import language
from agents.mutation.check import ENOUGH, MAX_MUTANTS, Result, check, mutants_of
from sandbox.registry import load_backend
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup
from tests.tables import each_row

CODE = "def area(a, b):\n    if a < 0 or b < 0:\n        raise ValueError('negative')\n    return a * b\n"
GOOD = "import pytest\nfrom shape import area\n\n\ndef test_area():\n    assert area(3, 4) == 12\n"
BLIND = "import shape\n\n\ndef test_it_is_there():\n    assert shape.area\n"
TESTS = "tests/test_shape.py"


def test_mutants_are_programs_with_one_change_and_the_same_for_the_same_seed():
    found = mutants_of({"shape.py": CODE}, {}, seed="T-01")
    assert 3 <= len(found) <= MAX_MUTANTS
    assert found == mutants_of({"shape.py": CODE}, {}, seed="T-01")
    assert len({mutant.text for mutant in found}) == len(found)
    for mutant in found:
        syntax.parse(mutant.text)
        assert mutant.diff.count("\n+") >= 2 or mutant.diff.count("\n-") >= 2


def test_lines_that_the_base_had_are_left_alone():
    after = CODE + "\n\ndef more(a):\n    return a + 1\n"
    for mutant in mutants_of({"shape.py": after}, {"shape.py": CODE}, seed="s"):
        assert "return a * b" in mutant.text
        assert "if a < 0 or b < 0" in mutant.text


def test_pages_data_and_text_that_is_no_program_have_no_mutants():
    assert mutants_of({"a.html": "<p>1</p>", "b.py": "def (", "c.py": ""}, {}, seed="s") == []


LONG = "# A comment.\n\n" * 30 + CODE.replace("return", "# why\n\n    return")


def test_a_mistake_is_placed_on_its_line_of_the_file_with_its_comments():
    lines = LONG.splitlines()
    found = mutants_of({"shape.py": LONG}, {}, seed="s")
    assert {lines[one.line - 1].split()[0] for one in found} == {"if", "return"}
    assert all(one.line > 60 and f"@@ near line {one.line} @@" in one.diff for one in found)


def test_mistakes_stay_on_changed_lines_also_where_the_head_of_a_function_changed():
    before = "def store(a):\n    log(a)\n    keep(a)\n"
    after = before.replace("(a):", "(a, b):")
    assert mutants_of({"shape.py": after}, {"shape.py": before}, seed="s") == []
    added = before.replace("    keep", "    check(a)\n    keep")
    assert {one.line for one in mutants_of({"shape.py": added}, {"shape.py": before}, seed="s")} == {3}


def test_files_that_no_program_runs_have_no_mutants():
    stub = "def area(a: int = 0, b: int = 1) -> int: ...\n"
    assert mutants_of({"shape.pyi": stub}, {}, seed="s") == []
    assert {one.path for one in mutants_of({"shape.py": CODE, "shape.pyi": stub}, {}, seed="s")} == {"shape.py"}


def test_several_files_take_turns():
    found = mutants_of({"a.py": CODE, "b.py": CODE}, {}, seed="s", limit=4)
    assert [mutant.path for mutant in found] == ["a.py", "b.py", "a.py", "b.py"]


@pytest.mark.bubblewrap
def test_a_suite_that_notices_is_told_from_one_that_is_blind_and_the_code_is_put_back(monkeypatch):
    files = {"shape.py": CODE}
    found = mutants_of(files, {}, seed="T-01")
    with load_backend("bubblewrap").open() as sandbox:
        sandbox.put({"shape.py": CODE.encode(), TESTS: GOOD.encode()})
        sharp = check(language(), sandbox, found, files, [TESTS], TestSetup())
        assert sharp.noticed >= 1
        assert not sharp.blind
        assert sharp.ran >= ENOUGH
        sandbox.put({TESTS: BLIND.encode()})
        blind = check(language(), sandbox, found, files, [TESTS], TestSetup())
        assert blind.blind
        assert len(blind.survivors) == blind.ran == len(found)
        monkeypatch.setattr("agents.mutation.check.SECONDS", 0.01)  # a busy machine: one mutant at most is run
        assert not check(language(), sandbox, found, files, [TESTS], TestSetup()).blind
        assert sandbox.get(["shape.py"]) == {"shape.py": CODE.encode()}


@pytest.mark.bubblewrap
def test_a_mutant_that_loops_for_ever_counts_as_noticed(monkeypatch):
    monkeypatch.setattr("agents.mutation.check.ONE_SECONDS", 1.0)
    code = "def count(n):\n    i = 0\n    while i < n:\n        i += 1\n    return i\n"
    looping = [m for m in mutants_of({"c.py": code}, {}, seed="s", limit=40) if "i += 0" in m.text]
    test = "from c import count\n\n\ndef test_count():\n    assert count(3) == 3\n"
    with load_backend("bubblewrap").open() as sandbox:
        sandbox.put({"c.py": code.encode(), "tests/test_c.py": test.encode()})
        result = check(language(), sandbox, looping, {"c.py": code}, ["tests/test_c.py"], TestSetup())
    assert (result.ran, result.noticed) == (1, 1)


def test_a_slow_suite_gets_its_time_for_each_mistake_and_does_not_notice_by_its_slowness(monkeypatch):
    limits: list[float] = []

    def run(main, sandbox, there, paths, setup, **_):
        limits.append(setup.suite_seconds)
        return TestReport(passed=1, exit_code=0)

    monkeypatch.setattr("agents.mutation.check.run_suites", run)
    sandbox = SimpleNamespace(put=lambda files: None)
    files = {"shape.py": CODE}
    found = mutants_of(files, {}, seed="s", limit=2)
    check(language(), sandbox, found, files, ["tests/test_shape.py"], TestSetup(), took=10.0)
    check(language(), sandbox, found, files, ["tests/test_shape.py"], TestSetup(), took=0.1)
    assert limits == [30.0, 30.0, 4.0, 4.0]


@each_row(
    ("ran", "noticed", "blind", "remark"),
    [
        (0, 0, False, ""),
        (1, 0, False, "Of 1 small mistakes put into the change, too few to judge by, none of them was noticed."),
        (4, 0, True, "Of 4 small mistakes put into the change, none of them was noticed."),
        (3, 3, False, "Of 3 small mistakes put into the change, every one of them was noticed."),
        (3, 1, False, ""),
    ],
)
def test_mutants_of_one_fate_are_remarked_on_and_judged_only_when_enough_ran(ran, noticed, blind, remark):
    result = Result(ran, noticed, (), 1.0)
    assert (result.blind, result.one_sided) == (blind, remark)
