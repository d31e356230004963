"""Plans for property tests, and their graphs for networkx."""

from dataclasses import replace

import networkx as nx
from hypothesis import strategies as st

from agents.planning.model import PlanDraft, PlanTask


def plan_of(needs: dict[str, list[str]], minutes: dict[str, int] | None = None) -> PlanDraft:
    """A plan that is fine except perhaps for its needs."""
    return PlanDraft(
        tuple(
            PlanTask(
                key=key,
                title=f"Do {key}",
                needs=tuple(wanted),
                minutes=(minutes or {}).get(key, 30),
                requirements=("FR-1",),
                expects="it works",
            )
            for key, wanted in needs.items()
        )
    )


def graph_of(plan: PlanDraft) -> nx.DiGraph:
    """Edges lead from a task to what it needs."""
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(task.key for task in plan.tasks)
    graph.add_edges_from((task.key, need) for task in plan.tasks for need in task.needs)
    return graph


@st.composite
def plans(draw: st.DrawFn, *, acyclic: bool = False) -> PlanDraft:
    """Any graph of up to twelve tasks, without self-needs."""
    keys = [f"T-{number}" for number in range(draw(st.integers(1, 12)))]
    needs = {}
    for index, key in enumerate(keys):
        others = keys[:index] if acyclic else [k for k in keys if k != key]
        needs[key] = draw(st.lists(st.sampled_from(others), max_size=4, unique=True)) if others else []
    minutes = {key: draw(st.integers(1, 60)) for key in keys}
    order = draw(st.permutations(keys))
    return plan_of({key: needs[key] for key in order}, minutes)


@st.composite
def plans_with_files(draw: st.DrawFn) -> PlanDraft:
    """A valid plan of tasks that serve requirements and write files, some of them together."""
    plan = draw(plans(acyclic=True))
    files = st.lists(st.sampled_from(["a.py", "./a.py", "b.py", "web/c.py", "d.py", "e.py"]), max_size=3, unique=True)
    keys = st.lists(st.sampled_from([f"FR-{n}" for n in range(1, 6)]), max_size=3, unique=True)
    return replace(
        plan,
        tasks=tuple(
            replace(
                task,
                files=tuple(draw(files)),
                requirements=tuple(draw(keys)),
                packages=("httpx",) * draw(st.integers(0, 1)),
            )
            for task in plan.tasks
        ),
    )
