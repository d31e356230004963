"""The map of one task's work, read like a table of contents.

recall → write tests → code → apply → verify ─ pass → mutants → gates → review → merge → learn
   (missing → sub-task) ▲        fail → repair (2) → adjudicate on a repeat → fresh approach → … → escalate
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from agents.checks.check import replaces_tests
from agents.engine.contracts import Runtime, TaskContext
from agents.engine.escalation import escalate
from agents.engine.nodes import coder, lessons, merger, missing, mutation, reviewer, search, tester, verify
from agents.engine.nodes.rebuilt import decided_by_build
from agents.engine.policy import short_of_tokens
from agents.engine.state import TaskState, updated

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

END = "__end__"  # langgraph.graph.END
REPAIRS_HERE = 2  # most of the gain is in the first two; then a fresh sample beats a third repair
RECURSION_LIMIT = 200  # node runs of one task; the iteration limit ends it long before


def after_files(state: TaskState, runtime: Runtime[TaskContext]) -> Literal["apply", "sub_task", "escalate"]:
    """Files were written, or something that they need is missing, or none could be used."""
    if state["verdict"] == "missing":
        return "sub_task"
    return "escalate" if state["verdict"] == "escalate" else "apply"


def after_answer(state: TaskState, runtime: Runtime[TaskContext]) -> Literal["apply", "review", "sub_task", "escalate"]:
    """A coder who disagrees with the reviewer is heard by it once."""
    return "review" if state["verdict"] == "disagreed" else after_files(state, runtime)


def after_repair(
    state: TaskState, runtime: Runtime[TaskContext]
) -> Literal["apply", "adjudicate", "sub_task", "escalate"]:
    """A coder who holds the test to be wrong is not made to fit the code to it: the tester judges first."""
    return "adjudicate" if state["verdict"] == "disputed" else after_files(state, runtime)


def after_tests(state: TaskState, runtime: Runtime[TaskContext]) -> Literal["code", "sample", "sub_task", "escalate"]:
    """Without tests there is no code; with a limit of several samples the first version is chosen from them."""
    if state["verdict"] in ("escalate", "missing"):
        return "escalate" if state["verdict"] == "escalate" else "sub_task"
    one_way = runtime.context.limits.samples < 2 or state["task"].get("blueprint") or runtime.context.outside
    return "code" if one_way else "sample"


def after_sub_task(
    state: TaskState, runtime: Runtime[TaskContext]
) -> Literal["write_tests", "code", "repair", "fresh", "escalate"]:
    """Whoever asked goes on."""
    if state["verdict"] == "escalate":
        return "escalate"
    return cast(Literal["write_tests", "code", "repair", "fresh"], state["sub_task"]["by"])


def after_verify(
    state: TaskState, runtime: Runtime[TaskContext]
) -> Literal["gates", "mutate", "repair", "fresh", "sample", "adjudicate", "escalate"]:
    """Passed goes on; a failure is repaired, argued about or approached anew until a limit is reached."""
    if state["verdict"] == "escalate":
        return "escalate"
    if state["verdict"] == "pass":
        return "mutate" if mutation.due(state, runtime.context) else "gates"
    limits, used, history = runtime.context.limits, state["counters"], state["history"]
    if used["repairs"] >= limits.max_retries or used["iteration"] >= limits.max_iterations:
        return "escalate"
    if "diversity" in runtime.context.switched_off:
        return "repair"
    signatures = history["signatures"]
    if len(signatures) > 1 and signatures[-1] == signatures[-2]:
        # Tests that were given with the task, and checks, are not the tester's to judge.
        fixed = state["task"].get("tests_given") or replaces_tests(state["task"]) or decided_by_build(state)
        settled = fixed or signatures[-1] in history["adjudicated"]
        return _anew(state, runtime.context) if settled else "adjudicate"
    anew = _anew(state, runtime.context)
    if history["exhausted"] or used["repairs_here"] >= REPAIRS_HERE or (used["repairs"] and anew == "sample"):
        return anew
    return anew if short_of_tokens(state, limits, runtime.context.event_log.spent()) else "repair"


def _anew(state: TaskState, ctx: TaskContext) -> Literal["fresh", "sample"]:
    """How the next approach begins: the second as several samples where the limits say so, unless one has passed."""
    if state["task"].get("blueprint") or ctx.outside:
        return "fresh"  # its fragments are composed anew; another agent writes one version at a time
    first = state["counters"]["approach"] == 1 and state["history"]["best"].get("reward", 0.0) <= 0
    return "sample" if first and ctx.limits.more_samples > 1 else "fresh"


def after_mutation(state: TaskState, runtime: Runtime[TaskContext]) -> Literal["gates", "strengthen"]:
    """Tests that notice nothing go back to who wrote them."""
    return "strengthen" if state["verdict"] == "weak" else "gates"


def after_strengthen(state: TaskState, runtime: Runtime[TaskContext]) -> Literal["apply", "review"]:
    """New tests are run; a tester who holds them not to be needed is heard by the reviewer."""
    return "review" if state["verdict"] == "kept" else "apply"


def after_adjudication(
    state: TaskState, runtime: Runtime[TaskContext]
) -> Literal["apply", "review", "fresh", "sample"]:
    """A corrected test is run at once; if the code is wrong, the same failure twice forces another approach.

    A test that stays though the reviewer doubts it goes back to the reviewer, with the tester's reason.
    """
    if state["verdict"] == "kept":
        return "review"
    return "apply" if state["verdict"] == "test" else _anew(state, runtime.context)


def after_gates(state: TaskState, runtime: Runtime[TaskContext]) -> Literal["review", "fix_findings", "escalate"]:
    """Nothing passes a gate by default."""
    if state["verdict"] == "pass":
        return "review"
    return "fix_findings" if state["verdict"] == "findings" else "escalate"


def after_review(
    state: TaskState, runtime: Runtime[TaskContext]
) -> Literal["merge", "answer_review", "adjudicate", "strengthen", "escalate"]:
    """Approved work is merged; an objection goes to whoever may change what it is about."""
    if state["verdict"] == "pass":
        return "merge"
    if state["verdict"] == "wrong_tests":
        return "adjudicate"
    if state["verdict"] == "missing_tests":
        return "strengthen"
    return "answer_review" if state["verdict"] == "rejected" else "escalate"


def after_merge(
    state: TaskState, runtime: Runtime[TaskContext]
) -> Literal["learn", "resolve", "repair", "fresh", "sample", "adjudicate", "escalate", "gates", "mutate"]:
    """A conflict goes to the coder, a suite that broke on the new base is repaired like any failure."""
    if state["verdict"] == "merged":
        return "learn"
    if state["verdict"] == "conflict":
        return "escalate" if state["counters"]["iteration"] >= runtime.context.limits.max_iterations else "resolve"
    return after_verify(state, runtime)


class TaskNode(Protocol):
    """A step of the task's work: returns the parts of the state that it changed."""

    def __call__(self, state: TaskState, runtime: Runtime[TaskContext]) -> TaskState: ...


def counted(node: TaskNode) -> TaskNode:
    """The node with its runs counted: their number is in the key of each effect, so that no two runs share one."""

    def run(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
        return updated({"step": state["step"] + 1}, node(state, runtime))

    return run


NODES: Mapping[str, TaskNode] = {
    "recall": lessons.recall,
    "write_tests": tester.write_tests,
    "code": coder.code,
    "sample": search.sample,
    "sub_task": missing.sub_task,
    "apply": verify.apply,
    "verify": verify.verify,
    "mutate": mutation.mutate,
    "strengthen": tester.strengthen,
    "repair": coder.repair,
    "adjudicate": tester.adjudicate,
    "fresh": coder.fresh,
    "gates": reviewer.gates,
    "fix_findings": coder.answer,
    "review": reviewer.review,
    "answer_review": coder.answer,
    "merge": merger.merge,
    "resolve": coder.resolve,
    "learn": lessons.learn,
    "escalate": escalate,
}
FIRST = "recall"
NEXT: Mapping[str, str | Callable[[TaskState, Runtime[TaskContext]], str]] = {
    "recall": "write_tests",
    "write_tests": after_tests,
    "code": after_files,
    "sample": after_files,
    "sub_task": after_sub_task,
    "apply": "verify",
    "verify": after_verify,
    "mutate": after_mutation,
    "strengthen": after_strengthen,
    "repair": after_repair,
    "adjudicate": after_adjudication,
    "fresh": after_files,
    "gates": after_gates,
    "fix_findings": after_files,
    "review": after_review,
    "answer_review": after_answer,
    "merge": after_merge,
    "resolve": after_files,
    "learn": END,
    "escalate": END,
}


def build_graph() -> StateGraph[TaskState, TaskContext, Any, Any]:
    """The task graph for LangGraph, uncompiled; the caller compiles it with a checkpointer."""
    # Imported on use: with what it brings (a tracing client among it) it takes longer than everything else of the
    # engine.
    from langgraph.graph import START, StateGraph

    graph: StateGraph[TaskState, TaskContext, Any, Any] = StateGraph(TaskState, context_schema=TaskContext)
    for name, node in NODES.items():
        graph.add_node(name, counted(node))
    graph.add_edge(START, FIRST)
    for name, successor in NEXT.items():
        if isinstance(successor, str):
            graph.add_edge(name, successor)
        else:
            graph.add_conditional_edges(name, successor)
    return graph
