"""An app in fragments: proven one by one, debugged, assembled, tested and merged by the ordinary steps."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.engine import graph
from agents.engine.nodes.compose import DEBUG_ROUNDS, compose
from agents.engine.state import TaskState, start_state, updated
from agents.fragments.assembler import assemble
from agents.fragments.planned import plan_of, task_fields
from sandbox.packages import PackageSupply
from tests.agents.engine.nodes.support import APPROVED, DIAGNOSIS, Bench, code
from tests.agents.fragments import crm
from tests.agents.fragments.stand_in import add_streamlit
from tests.sandbox.local_index import LocalIndex

pytestmark = pytest.mark.bubblewrap
ROW = {"key": "FR-01", "text": "Keeps customers", "kind": "functional", "acceptance": []}


@pytest.fixture(scope="module")
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as opened:
        add_streamlit(opened)
        yield opened


def replies() -> dict[str, str]:
    """What the team says on a good day."""
    said = {f"logic_coder-logic-{name}": crm.fenced(text) for name, text in crm.LOGIC.items()}
    said |= {f"ui_composer-ui-{name}": crm.fenced(text) for name, text in crm.UI.items()}
    return said | {"reviewer-review": APPROVED}


def bench_of(folder: Path, index: LocalIndex, said: dict[str, str]) -> Bench:
    row = plan_of(crm.whole(), [ROW])["tasks"][0]
    task: dict[str, Any] = row | {"note": "", "generation": 1, "requirements": [ROW]} | task_fields(row["blueprint"])
    return Bench(folder, said, task, supply=PackageSupply(folder / "packages", index=index.python))


def composed(bench: Bench, strategy: str = "first", **changes: Any) -> TaskState:
    """What the composer makes of the task, without the steps around it."""
    with bench.context() as ctx:
        tests: Any = {"candidate": {"tests": bench.task["tests_given"]}}
        state = updated(start_state(bench.task) | {"base": bench.repository.head()}, tests)  # type: ignore[typeddict-item]
        return compose(updated(state, changes), ctx, strategy=strategy)  # type: ignore[arg-type]


def asked(bench: Bench, step: str) -> list[str]:
    """The prompts of the questions for this step, system prompts included."""
    return ["\n".join(prompt) for prompt in bench.prompts(step)]


LOOP = crm.LOGIC["find_customers"].replace("    return", "    while True:\n        pass\n    return")


def test_failures_go_to_the_debugger_with_code_and_error_alone_and_its_code_is_merged(
    tmp_path: Path, index: LocalIndex
) -> None:
    said = replies() | {
        "logic_coder-logic-calculate_tax": crm.fenced(crm.BROKEN_TAX),
        "debugger-debug-calculate_tax": crm.fenced(crm.LOGIC["calculate_tax"]),
        "logic_coder-logic-find_customers": crm.fenced(LOOP),
        "debugger-debug-find_customers": crm.LOGIC["find_customers"],
    }
    bench = bench_of(tmp_path, index, said)
    state = bench.run()
    assert state["verdict"] == "merged", state["escalation"]
    harness = [
        (event["payload"]["argv"][1], event["outcome"])
        for event in bench.event_log.of("cmd")
        if event["payload"]["argv"][0] == "harness" and event["outcome"] != "intent"
    ]
    assert harness == [
        ("add_customer", "ok"),
        ("find_customers", "fail"),
        ("find_customers", "ok"),
        ("calculate_tax", "fail"),
        ("calculate_tax", "ok"),
    ]
    (told,) = asked(bench, "debug-calculate_tax")
    assert "round(amount * rate, 2)" in told
    assert "TypeError: can't multiply sequence by non-int of type 'float'" in told
    for word in ("FR-01", "customers", "Small CRM", "Examples"):
        assert word not in told
    (told,) = asked(bench, "debug-find_customers")
    assert "TimeoutError: the calls did not end within 5 seconds" in told
    assert "float(amount) * rate" in bench.merged("logic.py")
    assert "streamlit==1.0" in bench.merged("requirements.txt")


def test_a_page_that_fails_in_the_tests_is_repaired_by_the_ordinary_coder(tmp_path: Path, index: LocalIndex) -> None:
    app = assemble(crm.whole(), crm.LOGIC, crm.UI)["app.py"]
    broken = crm.UI["customers"].replace('["customers"]', '["clients"]')
    said = replies() | {
        "ui_composer-ui-customers": crm.fenced(broken),
        "coder-repair": DIAGNOSIS.format(cause="wrong name of the state") + code("app.py", app),
    }
    bench = bench_of(tmp_path, index, said)
    state = bench.run()
    assert state["verdict"] == "merged", state["escalation"]
    assert bench.merged("app.py") == app
    assert [row["strategy"] for row in bench.task_store.attempts.values()] == ["first", "repair"]


def test_a_debugger_that_comes_back_to_code_that_failed_ends_in_an_escalation(
    tmp_path: Path, index: LocalIndex
) -> None:
    wrong = crm.fenced(crm.BROKEN_TAX)
    said = {"logic_coder-logic-calculate_tax": wrong, "debugger-debug-calculate_tax": wrong}
    state = composed(bench_of(tmp_path, index, replies() | said))
    assert state["verdict"] == "escalate"
    assert "calculate_tax could not be proven: TypeError" in state["escalation"]
    assert "came back to code that was tried" in state["escalation"]


def test_the_rounds_with_the_debugger_are_bounded(tmp_path: Path, index: LocalIndex) -> None:
    said = {"logic_coder-logic-calculate_tax": crm.fenced(crm.BROKEN_TAX)}
    for number in range(1, DEBUG_ROUNDS + 1):
        name = "debugger-debug-calculate_tax" + (f"-{number}" if number > 1 else "")
        said[name] = crm.fenced(crm.BROKEN_TAX.replace(", 2)", f", {number + 2})"))
    state = composed(bench_of(tmp_path, index, replies() | said))
    assert f"({DEBUG_ROUNDS} rounds with the debugger)" in state["escalation"]


def test_what_cannot_be_used_goes_back_with_the_reason_before_it_runs(tmp_path: Path, index: LocalIndex) -> None:
    other = crm.LOGIC["add_customer"].replace("worth: float", "more: float")
    evil = crm.LOGIC["calculate_tax"].replace("    return", "    import os\n    os.system('rm -rf /')\n    return")
    said = {
        "logic_coder-logic-find_customers": "It looks for the words in each name.",
        "logic_coder-logic-find_customers-again": crm.fenced(crm.LOGIC["find_customers"]),
        "logic_coder-logic-add_customer": crm.fenced(other),
        "logic_coder-logic-add_customer-again": crm.fenced(crm.LOGIC["add_customer"]),
        "logic_coder-logic-calculate_tax": crm.fenced(evil),
        "logic_coder-logic-calculate_tax-again": crm.fenced(crm.LOGIC["calculate_tax"]),
        "ui_composer-ui-customers": crm.fenced(crm.UI["customers"].replace("find_customers(", "search(")),
        "ui_composer-ui-customers-again": crm.fenced(crm.UI["customers"].replace("st.text_input(", "st.search_input(")),
        "ui_composer-ui-customers-again-2": crm.fenced(crm.UI["customers"]),
    }
    bench = bench_of(tmp_path, index, replies() | said)
    bench.task_store.said.append("Use euros everywhere.")
    bench.task |= {"note": "Keep it short.", "description": f"{bench.task['description']}\nNo red colours."}
    state = composed(bench)
    assert state["verdict"] == "", state["escalation"]
    messages = [event["payload"]["message"] for event in bench.event_log.of("error")]
    signature, dropped, refused, unknown, lacking = messages
    assert signature.startswith("the signature stays as it is: def add_customer(customers: ")
    assert dropped == "it defines no function find_customers"
    assert "refused by the firewall" in refused
    assert unknown == "there is no search: found = search(customers, words)"
    assert lacking.startswith("app.py")
    assert "streamlit.search_input" in lacking
    assert "os.system" not in state["candidate"]["files"]["logic.py"]
    assert {event["role"] for event in bench.event_log.of("thought", "error")} == {"coder"}
    assert [event["outcome"] for event in bench.event_log.of("cmd") if event["outcome"] != "intent"] == ["ok"] * 3
    # What people say reaches each fragment.
    assert state["conversation"]["messages_read"] == 1
    for step in ("logic-add_customer", "ui-customers"):
        told, *_ = asked(bench, step)
        for word in ("Use euros everywhere.", "Keep it short.", "No red colours."):
            assert word in told


def test_another_approach_composes_anew_and_takes_no_samples(tmp_path: Path, index: LocalIndex) -> None:
    bench = bench_of(tmp_path, index, replies())
    bench.limits = replace(bench.limits, samples=3, more_samples=3, max_iterations=5)
    state = start_state(bench.task)
    with bench.context() as ctx:
        runtime = SimpleNamespace(context=ctx)
        assert graph.after_tests(state, runtime) == "code"  # type: ignore[arg-type]
        assert graph._anew(state, ctx) == "fresh"
    used: Any = {"counters": {"iteration": 5}}
    assert composed(bench, "fresh", **used) == {"verdict": "escalate", "escalation": ""}
