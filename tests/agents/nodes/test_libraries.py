"""Names that a library does not have go back to the coder before a test run is spent on them."""

import pytest

from tests.agents.nodes.support import APPROVED, Bench, code, task

TESTS = code("tests/test_calc.py", "from calc import text\n\n\ndef test_text():\n    assert text([2]) == '[2]'")
GOOD = code("calc.py", "import json\n\n\ndef text(value: list[int]) -> str:\n    return json.dumps(value)")
INVENTED = GOOD.replace("dumps", "to_string")

pytestmark = pytest.mark.bubblewrap


def bench_with(tmp_path, replies):
    return Bench(tmp_path, {"tester-tests": TESTS, "reviewer-review": APPROVED, **replies}, task())


def test_an_invented_function_is_asked_about_and_no_test_run_is_spent(tmp_path):
    bench = bench_with(tmp_path, {"coder-code": INVENTED, "coder-again": GOOD})
    assert bench.run()["verdict"] == "merged"
    assert len(bench.book.attempts) == 1
    prompts = {event["payload"]["step"]: event["blobs"]["prompt"] for event in bench.spine.of("thought")}
    (asked,) = [event for event in bench.spine.of("error") if event["payload"]["tool"] == "reply"]
    assert "json.to_string does not exist in the installed library." in asked["payload"]["message"]
    assert "code" in prompts


def test_the_coder_who_insists_is_judged_by_the_tests(tmp_path):
    bench = bench_with(tmp_path, {"coder-code": INVENTED, "coder-again": INVENTED, "coder-repair": GOOD})
    assert bench.run()["verdict"] == "merged"
    assert len(bench.book.attempts) == 2


def test_the_coder_sees_the_signatures_of_a_library_that_the_tests_use(tmp_path):
    tests = TESTS.replace("from calc", "import httpx\nfrom calc") + "\n"
    tests = tests.replace("== '[2]'", "== '[2]' and httpx.codes.OK == 200")
    bench = bench_with(tmp_path, {"tester-tests": tests, "coder-code": GOOD})
    assert bench.run()["verdict"] == "merged"
    prompts = {event["payload"]["step"]: event["blobs"]["prompt"] for event in bench.spine.of("thought")}
    assert "Library signatures:\n\n```from=package\nhttpx.codes(" in prompts["code"][-1]
    assert "Library signatures:" not in prompts["tests"][-1]
