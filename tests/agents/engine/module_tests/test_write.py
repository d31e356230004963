"""Tests for a module that is there: written until lines and branches are covered, and proven in the sandbox."""

import pytest

from agents.engine.module_tests.write import SuiteFails, write_tests
from agents.languages.base import NoModule
from agents.languages.python.modules import path_of
from sandbox.test_report import Covered
from tests.agents.engine.nodes.support import Bench, code, task
from tests.tables import each_row

MODULE = (
    "def grade(points):\n    if points < 0:\n        raise ValueError('negative')\n    if points > 89:\n      "
    "  return 'A'\n    return 'B' if points > 69 else 'C'\n"
)
HEAD = "import pytest\nfrom shop.grade import grade\n\n\n"
SOME = HEAD + "def test_a():\n    assert grade(95) == 'A'\n"
WRONG = HEAD + "def test_b():\n    assert grade(75) == 'A'\n"
REST = HEAD + (
    "@pytest.mark.parametrize(('points', 'grade_'), [(89, 'B'), (70, 'B'), (69, 'C'), (0, 'C'), (90, 'A')])\n"
    "def test_bounds(points, grade_):\n    assert grade(points) == grade_\n\n\n"
    "def test_negative():\n    with pytest.raises(ValueError):\n        grade(-1)\n"
)
TEST, MORE = "tests/test_grade.py", "tests/test_grade_more.py"


@pytest.fixture
def bench(tmp_path):
    replies = {"tester-module": code(TEST, SOME), "tester-module-again": code(MORE, REST)}
    return Bench(tmp_path, replies, task(key="TESTS"))


def written(bench, module="shop.grade", **options):
    with bench.context() as context:
        return write_tests(context, module, **options)


@pytest.mark.bubblewrap
def test_it_goes_on_until_the_figure_is_met_and_then_stops(bench):
    bench.start_with({"shop/grade.py": MODULE, "shop/__init__.py": ""})
    found = written(bench)
    assert (found.met, found.rounds, sorted(found.files)) == (True, 2, [TEST, MORE])
    assert found.covered.branches == found.covered.lines == 100.0
    assert found.before.lines == 0.0
    assert 0 < found.noticed <= found.mutants
    (asked,) = bench.prompts("module-again")
    assert "3:         raise ValueError('negative')" in asked[-1]
    there = ".gitignore README.md shop/__init__.py shop/grade.py".split()
    assert bench.repository.files(bench.repository.head()) == there
    assert [event["summary"] for event in bench.event_log.of("file.diff")] == [f"{TEST} +6 −0", f"{MORE} +12 −0"]
    assert len([event for event in bench.event_log.of("cmd") if event.get("outcome") == "ok"]) == 2
    assert [event["payload"]["branch"] for event in bench.event_log.of("coverage.result")][-1] == 100.0


@pytest.mark.bubblewrap
def test_tests_that_fail_are_corrected_from_their_trace(bench):
    bench.start_with({"shop/grade.py": MODULE})
    bench.replies |= {"tester-module": code(TEST, WRONG), "tester-module-again": code(TEST, REST)}
    found = written(bench)
    assert (found.met, found.problem) == (True, "")
    (asked,) = bench.prompts("module-again")
    assert "assert 'B' == 'A'" in asked[-1]


@pytest.mark.bubblewrap
def test_a_target_that_was_not_met_is_said_with_what_passes(bench):
    bench.start_with({"shop/grade.py": MODULE})
    found = written(bench, rounds=1)
    assert (found.met, list(found.files), found.passed) == (False, [TEST], 1)
    assert found.covered.branches < 80.0


@pytest.mark.bubblewrap
def test_tests_that_never_pass_are_not_handed_out(bench):
    bench.start_with({"shop/grade.py": MODULE})
    bench.replies["tester-module"] = code(TEST, WRONG)
    found = written(bench, rounds=1)
    assert (found.met, found.files) == (False, {})
    assert "1 failed" in found.problem


@pytest.mark.bubblewrap
def test_what_is_covered_already_asks_no_model(bench):
    bench.start_with({"shop/grade.py": MODULE, TEST: REST})
    found = written(bench)
    assert (found.met, found.files, found.rounds) == (True, {}, 0)
    assert bench.event_log.of("thought") == []


@pytest.mark.bubblewrap
def test_a_marker_in_the_module_hides_nothing(bench):
    hidden = MODULE.replace("if points < 0:", "if points < 0:  # pragma: no cover")
    bench.start_with({"shop/grade.py": hidden, TEST: SOME})
    bench.replies["tester-module"] = code(MORE, SOME)
    with bench.context() as context:
        assert write_tests(context, "shop/grade.py", rounds=1).before.branches < 80.0


@pytest.mark.bubblewrap
def test_tests_that_are_there_are_not_written_over(bench):
    bench.start_with({"shop/grade.py": MODULE, TEST: SOME})
    bench.replies |= {"tester-again": code(MORE, REST)}  # the first answer names the file that is there
    found = written(bench)
    assert (found.met, list(found.files)) == (True, [MORE])


@pytest.mark.bubblewrap
def test_on_a_suite_that_fails_nothing_is_built(bench):
    bench.start_with({"shop/grade.py": MODULE, TEST: WRONG})
    with pytest.raises(SuiteFails, match="1 failed"):
        written(bench)


@pytest.mark.bubblewrap
def test_tests_that_pass_are_kept_when_others_of_the_same_answer_fail(bench):
    bench.start_with({"shop/grade.py": MODULE})
    wrong = "\n\ndef test_wrong():\n    assert grade(75) == 'A'\n"
    bench.replies["tester-module"] = code(TEST, REST + wrong)
    found = written(bench)
    assert (found.met, found.rounds, found.dropped) == (True, 1, 1)
    assert "test_wrong" not in found.files[TEST]
    assert [event["outcome"] for event in bench.event_log.of("test.result")] == ["fail", "ok"]


@pytest.mark.bubblewrap
def test_a_model_that_goes_away_costs_nothing_that_passes_already(bench):
    bench.start_with({"shop/grade.py": MODULE})
    del bench.replies["tester-module-again"]
    found = written(bench)
    assert (found.met, found.passed) == (False, 1)
    assert "tester-module-again.md is missing" in found.problem


def test_a_module_is_named_by_dots_or_by_path_and_an_unknown_one_is_refused_with_what_there_is():
    files = ["shop/__init__.py", "shop/cart.py", "src/lib/a.py", "tests/test_cart.py"]
    assert path_of("shop.cart", files) == path_of("shop/cart.py", files) == "shop/cart.py"
    assert path_of("shop", files) == "shop/__init__.py"
    assert path_of("lib.a", files) == "src/lib/a.py"
    with pytest.raises(NoModule, match=r"shop/cart\.py"):
        path_of("shop.card", files)
    with pytest.raises(NoModule):
        path_of("tests/test_cart.py", files)


def test_the_likest_module_is_asked_about_and_a_big_repository_is_not_listed_whole():
    files = [f"shop/part_{number}.py" for number in range(50)] + ["shop/passwords.py"]
    with pytest.raises(
        NoModule, match=r"Did you mean shop/passwords\.py\? There are: shop/part_0\.py, .* and 31 more\."
    ):
        path_of("shop.password", files)
    with pytest.raises(NoModule, match="It holds no Python module"):
        path_of("shop", ["README.md"])


@each_row(
    ("lines", "branches", "target", "met"),
    [
        (81.0, 100.0, 80.0, True),
        (80.0, 100.0, 80.0, False),
        (100.0, 80.0, 80.0, False),
        (100.0, 100.0, 100.0, True),
        (99.9, 100.0, 100.0, False),
    ],
)
def test_the_target_is_met_by_more_than_it_or_by_all(lines, branches, target, met):
    assert Covered(lines, branches).meets(target) is met


@pytest.mark.bubblewrap
def test_failures_and_what_is_not_covered_are_shown_together(bench):
    bench.start_with({"shop/grade.py": MODULE})
    bench.replies["tester-module"] = code(TEST, f"{SOME}\n\n{WRONG.removeprefix(HEAD)}")
    assert written(bench).met
    (asked,) = bench.prompts("module-again")
    assert "assert 'B' == 'A'" in asked[-1]
    assert "Those that pass cover" in asked[-1]
    assert "3:         raise ValueError('negative')" in asked[-1]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("label", ["python", ""])
def test_a_fence_without_a_path_is_the_file_that_was_asked_for(bench, label):
    bench.start_with({"shop/grade.py": MODULE})
    bench.replies["tester-module"] = f"The tests:\n\n```{label}\n{SOME}{REST.removeprefix(HEAD)}```\n"
    found = written(bench)
    assert (found.met, list(found.files)) == (True, [TEST])
    assert f"into {TEST}." in bench.prompts("module")[0][-1]
    assert not bench.event_log.of("error")


@pytest.mark.bubblewrap
def test_a_suspected_bug_of_the_module_is_reported_and_its_test_left_out(bench):
    bench.start_with({"shop/grade.py": MODULE})
    bench.replies |= {
        "tester-module": code(TEST, f"{SOME}\n\n{WRONG.removeprefix(HEAD)}"),
        "tester-module-again": "Suspected bug: grade(75) is B, its name promises A",
    }
    found = written(bench)
    assert found.suspected == ["grade(75) is B, its name promises A"]
    assert (found.dropped, "test_b" in found.files[TEST]) == (1, False)
    assert [event["summary"] for event in bench.event_log.of("system")] == [f"Suspected bug: {found.suspected[0]}"]
    assert not bench.event_log.of("error")
