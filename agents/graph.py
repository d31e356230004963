"""The map of one task's work, read like a table of contents. The caller compiles it with a checkpointer.

recall → write tests → code → apply → verify ─ pass → mutants → gates → review → merge → learn
                         ▲        fail → repair (2) → adjudicate on a repeat → fresh approach → … → escalate
"""

from __future__ import annotations

from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from agents.nodes import coder, ending, merger, mutation, recall, reviewer, search, tester, verify
from agents.ports import TaskContext
from agents.search.policy import short_of_tokens
from agents.state import TaskState

REPAIRS_HERE = 2  # most of the gain is in the first two; then a fresh sample beats a third repair
RECURSION_LIMIT = 200  # node runs of one task; the iteration limit ends it long before


def after_files(state: TaskState) -> Literal["apply", "escalate"]:
    """Files were written, or none could be used."""
    return "escalate" if state["verdict"] == "escalate" else "apply"


def after_tests(state: TaskState, runtime: Runtime[TaskContext]) -> Literal["code", "sample", "escalate"]:
    """Without tests there is no code; with a limit of several samples the first version is chosen from them."""
    if state["verdict"] == "escalate":
        return "escalate"
    return "sample" if runtime.context.limits.samples > 1 else "code"


def after_verify(
    state: TaskState, runtime: Runtime[TaskContext]
) -> Literal["gates", "mutate", "repair", "fresh", "adjudicate", "escalate"]:
    """Passed goes on; a failure is repaired, argued about or approached anew until a limit is reached."""
    if state["verdict"] == "pass":
        return "mutate" if mutation.due(state, runtime.context) else "gates"
    limits = runtime.context.limits
    if state["repairs"] >= limits.max_retries or state["iteration"] >= limits.max_iterations:
        return "escalate"
    if "diversity" in runtime.context.switched_off:
        return "repair"
    signatures = state["signatures"]
    if len(signatures) > 1 and signatures[-1] == signatures[-2]:
        # Tests that were given with the task are not the tester's to judge.
        settled = signatures[-1] in state["adjudicated"] or state["task"].get("tests_given")
        return "fresh" if settled else "adjudicate"
    if state["repairs_here"] >= REPAIRS_HERE:
        return "fresh"
    return "fresh" if short_of_tokens(state, limits, runtime.context.spine.spent()) else "repair"


def after_mutation(state: TaskState) -> Literal["gates", "strengthen"]:
    """Tests that notice nothing go back to who wrote them."""
    return "strengthen" if state["verdict"] == "weak" else "gates"


def after_adjudication(state: TaskState) -> Literal["apply", "fresh"]:
    """A corrected test is run at once; if the code is wrong, the same failure twice forces another approach."""
    return "apply" if state["verdict"] == "test" else "fresh"


def after_gates(state: TaskState) -> Literal["review", "fix_findings", "escalate"]:
    """Nothing passes a gate by default."""
    if state["verdict"] == "pass":
        return "review"
    return "fix_findings" if state["verdict"] == "findings" else "escalate"


def after_review(state: TaskState) -> Literal["merge", "answer_review", "escalate"]:
    """Approved work is merged."""
    if state["verdict"] == "pass":
        return "merge"
    return "answer_review" if state["verdict"] == "rejected" else "escalate"


def after_merge(
    state: TaskState, runtime: Runtime[TaskContext]
) -> Literal["learn", "resolve", "repair", "fresh", "adjudicate", "escalate", "gates", "mutate"]:
    """A conflict goes to the coder, a suite that broke on the new base is repaired like any failure."""
    if state["verdict"] == "merged":
        return "learn"
    if state["verdict"] == "conflict":
        return "escalate" if state["iteration"] >= runtime.context.limits.max_iterations else "resolve"
    return after_verify(state, runtime)


def build_graph() -> StateGraph[TaskState, TaskContext, Any, Any]:
    """The task graph, uncompiled."""
    graph: StateGraph[TaskState, TaskContext, Any, Any] = StateGraph(TaskState, context_schema=TaskContext)
    graph.add_node("recall", recall.recall)
    graph.add_node("write_tests", tester.write_tests)
    graph.add_node("code", coder.code)
    graph.add_node("sample", search.sample)
    graph.add_node("apply", verify.apply)
    graph.add_node("verify", verify.verify)
    graph.add_node("mutate", mutation.mutate)
    graph.add_node("strengthen", tester.strengthen)
    graph.add_node("repair", coder.repair)
    graph.add_node("adjudicate", tester.adjudicate)
    graph.add_node("fresh", coder.fresh)
    graph.add_node("gates", reviewer.gates)
    graph.add_node("fix_findings", coder.fix_findings)
    graph.add_node("review", reviewer.review)
    graph.add_node("answer_review", coder.answer_review)
    graph.add_node("merge", merger.merge)
    graph.add_node("resolve", coder.resolve)
    graph.add_node("learn", ending.learn)
    graph.add_node("escalate", ending.escalate)
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "write_tests")
    graph.add_conditional_edges("write_tests", after_tests)
    for writer in ("code", "sample", "repair", "fresh", "fix_findings", "answer_review", "resolve"):
        graph.add_conditional_edges(writer, after_files)
    graph.add_edge("apply", "verify")
    graph.add_conditional_edges("verify", after_verify)
    graph.add_conditional_edges("mutate", after_mutation)
    graph.add_edge("strengthen", "apply")
    graph.add_conditional_edges("adjudicate", after_adjudication)
    graph.add_conditional_edges("gates", after_gates)
    graph.add_conditional_edges("review", after_review)
    graph.add_conditional_edges("merge", after_merge)
    graph.add_edge("learn", END)
    graph.add_edge("escalate", END)
    return graph
