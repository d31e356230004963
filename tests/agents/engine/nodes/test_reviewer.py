"""The review gates judge the change, not what stood in the file before."""

from datetime import UTC, datetime

import pytest

from agents.engine.waiting import Waiting
from agents.gates.base import Disposition
from agents.gates.run import run_gates
from tests.agents.engine.nodes.support import APPROVED, Bench, code, task

pytestmark = pytest.mark.bubblewrap
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
    bench.repository.ensure("Test")
    start = bench.repository.head()
    tree = bench.repository.worktree("before", start)
    tree.write({"calc.py": STOOD})
    bench.repository.fast_forward(tree.commit(start, "As it was", "", {}))
    return bench


def test_a_finding_that_stood_in_the_file_before_is_not_the_changes(tmp_path):
    bench = bench_with(tmp_path, "'''Sums.'''\n" + STOOD + ADD)
    assert bench.run()["verdict"] == "merged"
    assert list(bench.task_store.attempts) == [1]
    assert bench.event_log.of("gate.verdict")[0]["payload"]["verdict"] == "pass"


def test_the_same_line_once_more_is_the_changes(tmp_path):
    bench = bench_with(tmp_path, STOOD + ADD + STOOD.partition("\n\n\n")[2].replace("load(", "load_again("))
    with pytest.raises(Waiting, match="security_gate"):
        bench.run()


def test_a_decision_about_what_stood_there_holds_only_as_long_as_it_says(tmp_path):
    bench = bench_with(tmp_path, STOOD + ADD)
    (tmp_path / "calc.py").write_text(STOOD)
    report = run_gates(tmp_path, paths=["calc.py"], tools=["bandit"])
    expired = Disposition("we trust it", datetime(2026, 1, 1, tzinfo=UTC))
    bench.task_store.dispositions = lambda: {found.fingerprint: expired for found in report.findings}
    with pytest.raises(Waiting, match="security_gate"):
        bench.run()
