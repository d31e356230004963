"""The recorded scenarios tell the truth: what should fail fails, what is repaired passes, and the whole works."""

import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from agents.engine.planner_suggestions import read_by_model
from agents.gates.base import Severity
from agents.gates.run import run_gates
from agents.gates.semgrep_tool import find_semgrep
from agents.llm.scripted_server.scenario import Scenario
from agents.planning.parse import parse_plan
from agents.planning.validate import validate_plan
from agents.planning.writers import order_writers
from agents.repair.signature import error_kind, signature_of
from agents.replies.jsonish import parse_json
from agents.replies.parse import parse_reply
from agents.requirements.extract import extract
from agents.requirements.implicit import imply
from tests.agents.scenario_replay import SCENARIOS, TREE_START, Recording, Stage, run_suite, sandbox_python, write

HOUSEHOLD = SCENARIOS / "household"
pytestmark = pytest.mark.slow

RACING = {"T-08", "T-09"}  # ready at the same moment; both register a router
MOST_CHARS = 25_000  # all words that are played; more makes the demo too long
STEPS = ("planner-infer", "planner-plan", "planner-structure")

needs_sandbox_python = pytest.mark.skipif(
    not sandbox_python().is_file(),
    reason=f"{sandbox_python()} is missing: set SANDBOX_PYTHON to a Python with the sandbox's packages",
)
needs_semgrep = pytest.mark.skipif(
    find_semgrep() is None, reason="semgrep is missing: the gate blocks everything without it"
)


@pytest.fixture(scope="module")
def household() -> Recording:
    """The recording of the demo."""
    return Recording(HOUSEHOLD)


@pytest.fixture(scope="module")
def stages(household: Recording) -> dict[str, list[Stage]]:
    """Every try of every task, run on nothing but what the task needs."""
    found: dict[str, list[Stage]] = {}
    for task in household.tasks:
        needed = [key for key in household.tasks if key in household.needs(task)]
        steps = household.written(task, household.built(needed))
        found[task] = [Stage(step, tree, run_suite(tree, sandbox_python())) for step, tree in steps[1:]]
    return found


@pytest.fixture(scope="module")
def final(household: Recording) -> dict[str, str]:
    """The repository after the last merge."""
    return household.built(household.tasks, parallel=dict.fromkeys(RACING, RACING))


def test_the_recording_says_that_it_is_one() -> None:
    scenario = Scenario.load(HOUSEHOLD)
    assert scenario.name == "household"
    assert "not output of the real model" in scenario.note
    assert "recorded = true" in (HOUSEHOLD / "scenario.toml").read_text()


def test_every_task_has_the_replies_it_needs_and_no_other_folder_exists(household: Recording) -> None:
    folders = {path.name for path in HOUSEHOLD.iterdir() if path.is_dir()}
    assert folders == {"plan", *household.tasks}
    for step in STEPS:
        assert household.text("plan", step) is not None
    for task in household.tasks:
        for step in ("tester-tests", "coder-code", "reviewer-review"):
            assert household.text(task, step), f"{task}/{step}"


def test_the_plan_holds_and_covers_what_is_written_and_what_is_implied(household: Recording) -> None:
    text = (HOUSEHOLD / "prd.md").read_text()
    found = extract(text)
    written, implied = found.requirements, imply(found.requirements)
    replies = household.text("plan", "planner-infer") or ""
    read = read_by_model("Household", text, found, lambda *_: replies, pytest.fail).rows
    names = {requirement.author_key: requirement.key for requirement in written}
    plan, wrong = parse_plan(json.loads(household.text("plan", "planner-structure") or ""), names)
    assert plan is not None
    assert {"FR-01", "FR-10", "NFR-01", "NFR-03", "US-01", "US-02"} <= set(names)
    assert {"IMP-PASSWORD-HASHING", "IMP-SIGN-IN-THROTTLING"} <= {requirement.key for requirement in implied}
    kinds = {row["key"]: row["kind"] for row in read} | {requirement.key: requirement.kind for requirement in implied}
    assert [problem.code for problem in (*wrong, *validate_plan(plan, kinds))] == []
    assert order_writers(plan) == (plan, [])
    assert [task.key for task in plan.tasks] == [f"T-{number:02}" for number in range(1, 10)]


def test_files_named_in_the_plan_are_the_files_written(household: Recording) -> None:
    for key, task in household.tasks.items():
        reply = parse_reply(household.text(key, "coder-code") or "")
        forgotten = {"household/routes.py"} if key == "T-09" else set()  # the demo shows how a conflict is solved
        named = set(task["files"]) | {"pyproject.toml", "household/__init__.py"} | forgotten
        assert named >= {file.path for file in reply.files}
        assert set(task["files"]) <= {file.path for file in reply.files}


def test_the_words_are_few_enough_for_a_short_demo(household: Recording) -> None:
    unplayed = {f"{key}/coder-repair" for key in RACING} | {"T-08/coder-conflict"}
    sizes = {
        f"{path.parent.name}/{path.stem}": len(path.read_text())
        for path in HOUSEHOLD.glob("*/*.md")
        if f"{path.parent.name}/{path.stem}" not in unplayed
    }
    of_task = {key: sum(size for name, size in sizes.items() if name.startswith(key)) for key in household.tasks}
    longest = max(of_task[key] + sum(_chain(household, of_task, key)) for key in household.tasks)
    assert sum(sizes.values()) <= MOST_CHARS
    assert longest <= 0.6 * sum(of_task.values())


def _chain(household: Recording, of_task: dict[str, int], key: str) -> list[int]:
    """Sizes along the heaviest chain of needs below a task."""
    chains = [[of_task[need], *_chain(household, of_task, need)] for need in household.tasks[key]["needs"]]
    return max(chains, key=sum, default=[])


@needs_sandbox_python
def test_each_task_fails_until_its_last_try_and_then_passes(stages: dict[str, list[Stage]]) -> None:
    for task, tries in stages.items():
        tests = [stage for stage in tries if stage.step != "coder-findings"]
        for stage in tests[:-1]:
            assert not stage.outcome.ok, f"{task}/{stage.step} was meant to fail"
        for stage in (tests[-1], tries[-1]):
            assert stage.outcome.ok, f"{task}/{stage.step}: {stage.outcome.output[-3000:]}"


@needs_sandbox_python
def test_two_repairs_answer_two_kinds_of_errors(stages: dict[str, list[Stage]]) -> None:
    kinds = {}
    for task in ("T-05", "T-03"):
        assert [stage.step for stage in stages[task]] == ["coder-code", "coder-repair"]
        (failure,) = stages[task][0].outcome.failures
        kinds[task] = error_kind(failure["message"] or failure["traceback"])
    assert "empty" in stages["T-05"][0].outcome.failures[0]["message"]
    assert kinds["T-03"].endswith("VerifyMismatchError")
    assert kinds["T-05"] != kinds["T-03"]


@needs_sandbox_python
def test_one_test_contradicts_its_requirement_and_fails_twice_with_one_signature(
    household: Recording, stages: dict[str, list[Stage]]
) -> None:
    judged = [task for task in household.tasks if household.text(task, "tester-adjudicate")]
    assert judged == ["T-04"]
    first, second, last = stages["T-04"]
    signatures = [signature_of({"failures": stage.outcome.failures}) for stage in (first, second)]
    assert signatures[0] == signatures[1]
    assert last.outcome.ok
    verdict = parse_reply(household.text("T-04", "tester-adjudicate") or "").verdict
    assert verdict is not None
    assert verdict.choice == "test"
    assert "FR-07" in verdict.reason


def test_every_repair_says_why_before_what(household: Recording) -> None:
    for path in HOUSEHOLD.glob("*/coder-repair*.md"):
        diagnosis = parse_reply(path.read_text()).diagnosis
        assert diagnosis is not None
        assert all((diagnosis.cause, diagnosis.evidence, diagnosis.hypothesis, diagnosis.plan)), path
    for task in household.tasks:
        review, _ = parse_json(household.text(task, "reviewer-review") or "")
        assert review["approved"] is True
        assert review["reasons"]


def test_racing_tasks_conflict_in_one_file_whoever_is_second(household: Recording, tmp_path: Path) -> None:
    base = household.built([key for key in household.tasks if key not in RACING])
    sides = [household.written(key, base)[-1][1] for key in sorted(RACING)]
    both = [path for path in sides[0] if all(side.get(path) != base.get(path) for side in sides)]
    assert both == ["household/routes.py"]
    for name, tree in (("ours", sides[0]), ("base", base), ("theirs", sides[1])):
        (tmp_path / name).write_text(tree[both[0]])
    merge = subprocess.run(
        ["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=tmp_path, capture_output=True, check=False
    )
    assert merge.returncode == 1
    first, second = (household.text(key, "coder-conflict") for key in sorted(RACING))
    assert first == second


def test_the_order_of_merges_does_not_change_the_result(household: Recording, final: dict[str, str]) -> None:
    for seed in range(12):
        dice, order = random.Random(seed), list[str]()
        while len(order) < len(household.tasks):
            ready = [
                key
                for key, task in household.tasks.items()
                if key not in order and set(task["needs"]) <= set(order) and (key not in RACING or len(order) >= 7)
            ]
            order.append(dice.choice(ready))
        assert household.built(order, parallel=dict.fromkeys(RACING, RACING)) == final, order


@needs_sandbox_python
@pytest.mark.parametrize("order", [("T-08", "T-09"), ("T-09", "T-08")])
def test_with_one_worker_the_lost_router_is_noticed_and_repaired(household: Recording, order: tuple[str, str]) -> None:
    first, second = order
    base = household.built([*(key for key in household.tasks if key not in RACING), first])
    tested = household.play(second, "tester-tests", base)
    coded = household.play(second, "coder-code", tested or {})
    assert not run_suite(coded or {}, sandbox_python()).ok
    repaired = household.play(second, "coder-repair", coded or {})
    assert run_suite(repaired or {}, sandbox_python()).ok


@needs_sandbox_python
def test_the_finished_repository_is_tested_and_answers(final: dict[str, str], tmp_path: Path) -> None:
    outcome = run_suite(final, sandbox_python(), coverage_of="household")
    assert outcome.ok, outcome.output[-3000:]
    assert (outcome.branch_coverage or 0) > 85
    write(final, tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [str(sandbox_python()), "-m", "uvicorn", "household.app:app", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert _get(f"http://127.0.0.1:{port}/health") == b'{"status":"ok"}'
    finally:
        server.terminate()
        server.wait(10)


def _get(url: str) -> bytes:
    """The body, as soon as the server is up; bounded."""
    for _ in range(150):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bytes(answer.read())
        except urllib.error.URLError:
            time.sleep(0.1)
    raise AssertionError(f"{url} does not answer")


@needs_semgrep
@pytest.mark.parametrize("name", ["household", "readtime"])
def test_the_gates_block_the_first_search_and_nothing_else(name: str, tmp_path: Path) -> None:
    recording = Recording(SCENARIOS / name)
    blocked = {}
    for task in recording.tasks:
        base = recording.built([key for key in recording.tasks if key in recording.needs(task)])
        tries = dict(recording.written(task, base))
        last_try = list(recording.tries(task))[-1]
        for step in {last_try, list(tries)[-1]}:
            write(tries[step], tmp_path / task / step)
            report = run_gates(tmp_path / task / step)
            if not report.passed:
                blocked[task, step] = {(finding.tool, finding.rule, finding.severity) for finding in report.findings}
            else:
                assert all(finding.severity < Severity.MEDIUM for finding in report.findings), (task, step)
    expected = {("semgrep", "py-sql-built-in-call", Severity.HIGH), ("bandit", "B608", Severity.MEDIUM)}
    assert blocked == ({("T-09", "coder-code"): expected} if name == "household" else {})


def test_the_finished_code_has_no_style_findings(final: dict[str, str], tmp_path: Path) -> None:
    write(final, tmp_path)
    for command in (["check"], ["format", "--check"], ["format", "--check", "--line-length=120"]):
        argv = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", "."]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


READTIME = SCENARIOS / "readtime"
READTIME_PACKAGES = ("bs4", "lxml", "markdown2", "pyquery", "pytest", "hypothesis")


@pytest.fixture(scope="module")
def readtime() -> Recording:
    """The recording for a document that is not part of this repository."""
    return Recording(READTIME)


@pytest.fixture(scope="module")
def readtime_python() -> Path:
    """A Python with the four packages that this scenario fetches from the index."""
    python = Path(os.environ.get("READTIME_PYTHON") or sandbox_python())
    probe = "import " + ", ".join(READTIME_PACKAGES)
    if not python.is_file() or subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip(f"{python} lacks one of {', '.join(READTIME_PACKAGES)}: set READTIME_PYTHON to one that has them")
    return python


def test_the_second_recording_is_whole_and_its_plan_can_be_run(readtime: Recording) -> None:
    assert "not output of the real model" in Scenario.load(READTIME).note
    assert not (READTIME / "prd.md").exists()
    plan, wrong = parse_plan(json.loads(readtime.text("plan", "planner-structure") or ""))
    assert plan is not None
    named = {key: "functional" for task in plan.tasks for key in task.requirements}
    assert [problem.message for problem in (*wrong, *validate_plan(plan, named))] == []
    assert len(plan.tasks) == 5
    for task in plan.tasks:
        for step in ("tester-tests", "coder-code", "reviewer-review"):
            assert readtime.text(task.key, step), f"{task.key}/{step}"
        assert set(task.files) <= {file.path for file in parse_reply(readtime.text(task.key, "coder-code") or "").files}


def test_the_second_recording_has_parallel_tasks_without_conflicts(readtime: Recording) -> None:
    together = {"T-02", "T-03"}
    assert all(not readtime.needs(key) & together for key in together)
    orders = (["T-01", "T-02", "T-03", "T-04", "T-05"], ["T-01", "T-03", "T-02", "T-04", "T-05"])
    one, other = (readtime.built(order, parallel=dict.fromkeys(together, together)) for order in orders)
    assert one == other


def test_the_second_recording_repairs_its_rounding_and_its_demo_runs(
    readtime: Recording, readtime_python: Path, tmp_path: Path
) -> None:
    (_, _), (_, first), (step, repaired) = readtime.written("T-01", TREE_START)
    assert step == "coder-repair"
    broken = run_suite(first, readtime_python)
    assert {failure["nodeid"].partition("[")[0] for failure in broken.failures} == {
        "tests.test_estimate::test_begun_minutes_count_at_the_default_rate"
    }
    assert run_suite(repaired, readtime_python).ok
    final = readtime.built(readtime.tasks)
    outcome = run_suite(final, readtime_python, coverage_of="readtime")
    assert outcome.ok, outcome.output[-3000:]
    assert (outcome.branch_coverage or 0) > 85
    write(final, tmp_path)
    shown = subprocess.run(
        [readtime_python, "examples/demo.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert shown.stdout.count("min read") == 3
