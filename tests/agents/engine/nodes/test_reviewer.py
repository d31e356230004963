"""The review gates judge the change, not what stood in the file before."""

import re
from datetime import UTC, datetime

import pytest

from agents.engine.nodes import reviewer
from agents.gates.base import Disposition
from agents.gates.run import run_gates
from agents.replies.jsonish import parse_json
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code, task

pytestmark = pytest.mark.usefixtures("mostly_quiet")
STOOD = "import pickle\n\n\ndef load(data: bytes) -> object:\n    return pickle.loads(data)\n"
ADD = "\n\ndef add(a: int, b: int) -> int:\n    return a + b\n"
TESTS = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5"


def bench_with(folder, text):
    bench = Bench(
        folder,
        {"tester-tests": code("tests/test_calc.py", TESTS), "coder-code": code("calc.py", text)}
        | {"reviewer-review": APPROVED, **dict.fromkeys(("coder-findings", "coder-findings-2"), code("calc.py", text))},
        task(files=["calc.py"]),
        gates=lambda root, paths, known: run_gates(root, paths=paths, dispositions=known, tools=["bandit"]),
    )
    bench.start_with({"calc.py": STOOD})
    return bench


def test_a_finding_that_stood_in_the_file_before_is_not_the_changes(tmp_path):
    bench = bench_with(tmp_path, "'''Sums.'''\n" + STOOD + ADD)
    assert bench.run()["verdict"] == "merged"
    assert list(bench.task_store.attempts) == [1]
    assert bench.event_log.of("gate.verdict")[0]["payload"]["verdict"] == "pass"


def test_the_same_line_once_more_is_the_changes_and_what_stood_there_is_scanned_once_for_all_candidates(tmp_path):
    bench = bench_with(tmp_path, STOOD + ADD + STOOD.partition("\n\n\n")[2].replace("load(", "load_again("))
    scanned, gates = [], bench.gates
    bench.gates = lambda root, paths, known: (
        scanned.append(root.name.startswith("aiswe-base-")) or gates(root, paths, known)
    )
    bench.waits("security_gate")
    assert (scanned.count(False), scanned.count(True)) == (3, 1)


def test_a_decision_about_what_stood_there_holds_only_as_long_as_it_says(tmp_path):
    bench = bench_with(tmp_path, STOOD + ADD)
    (tmp_path / "calc.py").write_text(STOOD)
    report = run_gates(tmp_path, paths=["calc.py"], tools=["bandit"])
    expired = Disposition("we trust it", datetime(2026, 1, 1, tzinfo=UTC))
    bench.task_store.dispositions = lambda: {found.fingerprint: expired for found in report.findings}
    bench.waits("security_gate")


@pytest.mark.parametrize(
    ("deps", "merged"),
    [(None, True), ("# what we need\nleft-pad==1.0\n", True), ("left-pad==1.0\nright-pad==2.0\n", False)],
    ids=["untouched", "the same packages", "one more package"],
)
def test_a_package_that_nobody_could_check_before_stops_only_a_change_of_packages(tmp_path, monkeypatch, deps, merged):
    monkeypatch.delenv("AISWE_ADVISORIES")
    reply = code("calc.py", ADD.lstrip()) + (code("deps.txt", deps) if deps else "")
    bench = Bench(
        tmp_path,
        {"tester-tests": code("tests/test_calc.py", TESTS), "coder-code": reply, "reviewer-review": APPROVED},
        task(files=["calc.py"]),
        gates=lambda root, paths, known: run_gates(root, paths=paths, dispositions=known, tools=["advisories"]),
    )
    bench.start_with({"deps.txt": "left-pad==1.0\n", "requirements.lock.txt": "up-pad==1.0\n"})
    if merged:
        assert bench.run()["verdict"] == "merged"
    else:
        bench.waits("security_gate")


WRONG = TESTS.replace("== 5", "== 6")
SIX = code("calc.py", "def add(a: int, b: int) -> int:\n    return a + b + 1")
DOUBT = '{"wrong_tests": ["test_sum: FR-01 says 2 + 3 is 5, it expects 6"], "approved": true, "reasons": []}'
REJECTED = DOUBT.replace('true, "reasons": []', 'false, "reasons": ["-1 is not tried"]')
OTHER = '{"approved": false, "reasons": ["subtract instead"]}'


@pytest.fixture
def judged(tmp_path):
    """Run a task whose reviewer gives these verdicts one after the other."""

    def run(monkeypatch, *verdicts, task_files=("calc.py",), off=("mutation",), **replies):
        given = iter(verdicts)
        monkeypatch.setattr(reviewer, "parse_json", lambda text, schema: parse_json(next(given), schema))
        first = {"tester-tests": code("tests/test_calc.py", TESTS), "reviewer-review": APPROVED}
        wanted = task(files=list(task_files))
        bench = Bench(tmp_path, first | replies, wanted, switched_off=frozenset(off))
        return bench, bench.run()

    return run


def test_the_reviewer_is_asked_about_each_new_test_beside_the_words_of_the_requirement(judged, monkeypatch):
    bench, _ = judged(monkeypatch, APPROVED, **{"coder-code": SIX, "tester-tests": code("tests/test_calc.py", WRONG)})
    (prompt,) = bench.last_turns("review")
    words, tests, change = (
        prompt.index(part) for part in ("2 + 3 is 5", "+    assert add(2, 3) == 6", "return a + b + 1")
    )
    assert words < tests < change
    assert "which neither follows from the words of the requirements nor held before" in prompt


def test_a_test_that_the_reviewer_doubts_goes_to_the_tester_and_the_code_follows_the_corrected_one(judged, monkeypatch):
    bench, final = judged(
        monkeypatch,
        *(DOUBT, APPROVED),
        **{
            "tester-tests": code("tests/test_calc.py", WRONG),
            "coder-code": SIX,
            "tester-adjudicate": "Verdict: test\nReason: test_sum: 2 + 3 is 5\n\n" + code("tests/test_calc.py", TESTS),
            "coder-repair": DIAGNOSIS.format(cause="one too many")
            + code("calc.py", "def add(a, b):\n    return a + b"),
        },
    )
    assert final["verdict"] == "merged"
    assert "the reviewer holds a test to be wrong:\n```from=model\ntest_sum: FR-01" in bench.last_turns("adjudicate")[0]
    assert "== 5" in bench.merged("tests/test_calc.py")
    assert not bench.last_turns("rejected")
    first = bench.event_log.of("decision")[0]
    assert first["summary"].startswith(
        "The change is accepted once the tester has judged tests that may be wrong: test_sum"
    )
    assert first["payload"]["choice"] == "reject"


def test_a_test_that_reviewer_and_tester_read_differently_goes_to_a_person(judged, monkeypatch):
    kept = {"coder-code": code("calc.py", ADD), "tester-adjudicate": "Verdict: code\nReason: so says FR-01\n"}
    bench, final = judged(monkeypatch, DOUBT, DOUBT, **kept)
    assert final["verdict"] == "escalated"
    assert "it expects 6 The tester disagrees: so says FR-01" in final["escalation"]
    assert "The quality engineer disagrees:\n```from=model\nso says FR-01" in bench.last_turns("review")[1]


@pytest.mark.parametrize(("second", "verdict"), [(APPROVED, "merged"), (OTHER, "escalated")])
def test_a_coder_who_disagrees_is_heard_once_by_the_reviewer_then_by_a_person(judged, monkeypatch, second, verdict):
    why = "Disagree: FR-01 asks for a sum"
    bench, final = judged(monkeypatch, OTHER, second, **{"coder-code": code("calc.py", ADD), "coder-rejected": why})
    assert final["verdict"] == verdict
    assert "The engineer disagrees:\n```from=model\nFR-01 asks for a sum" in bench.last_turns("review")[1]
    assert list(bench.task_store.attempts) == [1]
    if verdict == "escalated":
        assert "The coder disagrees: FR-01 asks for a sum" in final["escalation"]
    else:
        assert "A task that worked at the first try" in bench.event_log.of("memory.write")[-1]["summary"]


def test_mistakes_that_an_earlier_version_was_tried_with_are_not_repeated(judged, monkeypatch):
    more = f"{ADD}\n\ndef double(a):\n    return a * 2\n"
    other = {"coder-code": code("calc.py", more), "coder-rejected": code("calc.py", more.replace("a * 2", "a + a"))}
    bench, final = judged(monkeypatch, OTHER, APPROVED, off=(), **other)
    assert final["verdict"] == "merged"
    assert ["small mistakes" in prompt for prompt in bench.last_turns("review")] == [True, False]


def test_the_reviewer_sees_the_task_and_what_was_changed_beside_its_files(judged, monkeypatch):
    more = code("calc.py", ADD) + code("helper.py", "HELP = 1")
    bench, _ = judged(monkeypatch, APPROVED, **{"coder-code": more})
    (prompt,) = bench.last_turns("review")
    assert "add(a, b) returns the sum" in prompt
    assert "\nExpected result: sums\n```" in prompt
    assert "Files of this task: calc.py\nAlso changed, though the task does not name them: helper.py\n" in prompt
    assert "The change is long" not in prompt


def test_the_reviewer_is_told_which_files_of_the_task_are_untouched_and_tests_are_none_of_them(judged, monkeypatch):
    files = ["calc.py", "calc.pyi", "tests/test_calc.py", "tests/test_more.py"]
    bench, _ = judged(monkeypatch, APPROVED, task_files=files, **{"coder-code": code("calc.py", ADD)})
    (prompt,) = bench.last_turns("review")
    assert "\nFiles of the task that were not changed: calc.pyi\n" in prompt
    assert "There is no test in tests/test_more.py, which the task names." in prompt
    assert "Also changed" not in prompt


def test_a_long_change_is_judged_in_parts_that_leave_nothing_out(judged, monkeypatch):
    rows = [f"ROW_{number} = {number}  # {'one more ' * 7}" for number in range(160)]
    monkeypatch.setattr(reviewer, "PART_CHARS", 6_000)
    bench, final = judged(
        monkeypatch,
        *(APPROVED, OTHER, APPROVED, APPROVED, APPROVED),
        **{"coder-code": code("calc.py", ADD + "\n".join(["", *rows])), "coder-rejected": code("calc.py", ADD)},
    )
    prompts = bench.last_turns("review")
    parts = int(re.search(r"The change is long: this is part 1 of (\d+), all of", prompts[0])[1])
    assert parts > 2
    shown = "\n".join(prompts[:parts])
    assert all(row.strip() in shown for row in rows)
    assert "characters left out" not in shown
    assert "subtract instead" in bench.last_turns("rejected")[0]
    assert final["verdict"] == "merged"


def test_parts_of_a_change_hold_files_whole_where_they_fit_and_long_ones_by_hunks():
    head = "--- a/long\n+++ b/long\n"
    hunks = [f"@@ -{number} +{number} @@\n+{'y' * 300}\n" for number in range(1, 5)]
    changes = [("a", "a" * 500), ("b", "b" * 300), ("c", "c" * 300), ("long", head + "".join(hunks))]
    parts = reviewer.parts_of_change(changes, 800)
    assert [[path for path, _ in part] for part in parts] == [["a", "b"], ["c"], ["long"], ["long"]]
    assert parts[2] == [("long", head + hunks[0] + hunks[1])]
    assert parts[3] == [("long", head + hunks[2] + hunks[3])]
    assert reviewer.parts_of_change([], 800) == [[]]


def test_the_lines_of_a_diff_that_git_alone_reads_are_left_out_where_the_paths_are_named_again():
    body = "--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-1\n+index 2\n"
    assert reviewer.without_git_lines(f"diff --git a/calc.py b/calc.py\nindex 12ab..34cd 100644\n{body}") == body
    made = f"new file mode 100755\n{body}"
    assert reviewer.without_git_lines(f"diff --git a/calc.py b/calc.py\n{made}") == made
    empty = "diff --git a/empty.py b/empty.py\nnew file mode 100644\nindex 0000000..e69de29\n"
    assert reviewer.without_git_lines(empty) == empty


@pytest.mark.parametrize(
    ("said", "told", "reason"),
    [
        (REJECTED, "did not accept this very change:", "-1 is not tried"),
        (DOUBT, "accepted this change, but for tests that may be wrong:", ""),
    ],
    ids=["and rejected it", "and else accepted it"],
)
def test_what_the_reviewer_said_beside_a_doubted_test_is_before_it_once_more(judged, monkeypatch, said, told, reason):
    kept = {"coder-code": code("calc.py", ADD), "tester-adjudicate": "Verdict: neither\nReason: so says FR-01\n"}
    bench, _ = judged(monkeypatch, said, APPROVED, **kept)
    again = bench.last_turns("review")[1]
    assert f"You {told}" in again
    assert reason in again
    assert ("You did not accept" in again) is bool(reason)


def test_an_approval_without_reasons_says_no_more_than_that(judged, monkeypatch):
    bench, _ = judged(monkeypatch, '{"approved": true, "reasons": []}', **{"coder-code": code("calc.py", ADD)})
    (decision,) = [one for one in bench.event_log.of("decision") if one["role"] == "reviewer"]
    assert decision["summary"] == "Approved"
    assert "that were not changed" not in bench.last_turns("review")[0], "nothing is said of files that all changed"


MISSES = '{"approved": false, "reasons": ["There is no test for negative numbers"]}'
MORE = "\n\n\ndef test_negative():\n    assert add(-2, -3) == -5"


@pytest.mark.bubblewrap
def test_a_wish_for_tests_goes_to_the_tester_and_what_it_adds_judges_the_code(judged, monkeypatch):
    replies = {
        "coder-code": code("calc.py", "def add(a: int, b: int) -> int:\n    return abs(a) + b"),
        "tester-strengthen": code("tests/test_calc.py", TESTS + MORE),
        "coder-repair": DIAGNOSIS.format(cause="abs") + code("calc.py", ADD),
    }
    bench, final = judged(monkeypatch, MISSES, APPROVED, **replies)
    assert final["verdict"] == "merged"
    assert "the reviewer misses tests:\n```from=model\nThere is no test for" in bench.last_turns("strengthen")[0]
    assert "Why: the reviewer misses tests: There is no test for negative numbers" in bench.last_turns("repair")[0]
    assert not bench.last_turns("rejected")
    assert "test_negative" in bench.merged("tests/test_calc.py")


def test_a_tester_who_holds_a_wish_for_tests_to_be_needless_is_heard_by_the_reviewer(judged, monkeypatch):
    replies = {"coder-code": code("calc.py", ADD), "tester-strengthen": "FR-01 names no negative numbers."}
    bench, final = judged(monkeypatch, MISSES, APPROVED, **replies)
    assert final["verdict"] == "merged"
    answer = "The quality engineer disagrees:\n```from=model\nFR-01 names no negative numbers."
    assert answer in bench.last_turns("review")[1]
    assert list(bench.task_store.attempts) == [1]


def test_an_objection_to_code_goes_to_the_coder_though_it_speaks_of_tests(judged, monkeypatch):
    said = '{"approved": false, "reasons": ["It does not raise ValueError as the tests require"]}'
    replies = {"coder-code": code("calc.py", ADD), "coder-rejected": "Disagree: FR-01 asks for a sum"}
    bench, _ = judged(monkeypatch, said, APPROVED, **replies)
    assert bench.last_turns("rejected")


@pytest.mark.bubblewrap
def test_the_reviewer_sees_the_unchanged_code_that_a_change_calls(tmp_path):
    there = "\n\n\n".join(
        ["RATE = 2", "def twice(number):\n    return RATE * number", "def far(number):\n    return number"]
    )
    more = f"{there}\n\n\ndef add(a, b):\n    return twice(a + b) // 2"
    replies = {"tester-tests": code("tests/test_calc.py", TESTS), "coder-code": code("calc.py", more)}
    bench = Bench(tmp_path, replies | {"reviewer-review": APPROVED}, task(), switched_off=frozenset(["mutation"]))
    bench.start_with({"calc.py": there + "\n"})
    assert bench.run()["verdict"] == "merged"
    shown = (
        bench.last_turns("review")[0].partition("Unchanged code that the change uses:\n")[2].partition("The tests:")[0]
    )
    assert "RATE = 2\ndef twice(number):\n    return RATE * number\n" in shown
    assert "far" not in shown


def test_the_reviewer_sees_of_a_changed_function_what_the_diff_leaves_out_and_what_a_wrapper_calls(tmp_path):
    body = "".join(f"    number += {n}\n" for n in range(20))
    there = f"def scaled(number):\n{body}    return number\n\n\ndef edge():\n    return line(1)\n\n\n"
    there += f"def line(width):\n{body.replace('number', 'width')}    return width\n"
    more = there.replace("number += 19\n", "number += edge()\n") + "\n\n" + ADD
    replies = {"tester-tests": code("tests/test_calc.py", TESTS), "coder-code": code("calc.py", more)}
    bench = Bench(tmp_path, replies | {"reviewer-review": APPROVED}, task(), switched_off=frozenset(["mutation"]))
    bench.start_with({"calc.py": there})
    assert bench.run()["verdict"] == "merged"
    shown = bench.last_turns("review")[0].partition("Unchanged code that the change uses:\n")[2]
    shown = shown.partition("The tests:")[0]
    assert "def scaled(number):\n    number += 0\n" in shown
    assert "    number += 15\n    … in the change …" in shown
    assert "number += 16" not in shown
    assert "def edge():\n    return line(1)" in shown
    assert "def line(width):" in shown
