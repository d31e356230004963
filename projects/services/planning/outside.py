"""Which agents of other makers this installation names, and which of them a task is given to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from agents.outside.engaged import Engaged
from agents.outside.table import OURS, AgentsFileError, OutsideAgent, load_agents
from agents.planning.model import PlanDraft, PlanProblem
from projects.models import Project, Task


def agents() -> dict[str, OutsideAgent]:
    """The agents of this installation by name. Raises AgentsFileError."""
    return load_agents(Path(settings.AGENTS_FILE), (Path(settings.AISWE_HOME), Path(settings.BASE_DIR) / ".env"))


def names() -> list[str]:
    """The names that can be chosen; none while the file cannot be read."""
    try:
        return list(agents())
    except AgentsFileError:
        return []


def name_for(project: Project, chosen: str) -> str:
    """The agent that a task's choice means: the task's own, else the project's; "" for our own coder."""
    return chosen if chosen not in ("", OURS) else project.coder_agent


def engaged_for(task: Task) -> Engaged | None:
    """Who writes the task's code in place of our own coder, if anybody; one that is no longer named is told of."""
    name = name_for(task.run.project, task.agent)
    if not name:
        return None
    try:
        agent = agents().get(name) or OutsideAgent(name, (), note="No administrator names it (any more).")
    except AgentsFileError as problem:
        agent = OutsideAgent(name, (), note=str(problem))
    return Engaged(agent, f"run-{task.run.pk}-{task.key}-{name}")


def problems_of(plan: PlanDraft, project: Project) -> Iterable[PlanProblem]:
    """Names in a plan that are no agent's, and what leaves this machine with its tasks."""
    by_name: dict[str, list[str]] = {}
    for task in plan.tasks:
        if name := name_for(project, task.agent):
            by_name.setdefault(name, []).append(task.key)
    if not by_name:
        return
    try:
        known, problem = agents(), ""
    except AgentsFileError as error:
        known, problem = {}, f" {error}"
    for name, keys in by_name.items():
        tasks = ", ".join(keys)
        if name not in known:
            message = f"{tasks}: there is no agent {name!r} here; there are {', '.join([OURS, *known])}.{problem}"
            yield PlanProblem("unknown_agent", message, tuple(keys))
            continue
        hosts = ", ".join(known[name].outside_hosts)
        leaves = (
            f"Its code leaves this machine for {hosts}; that is asked for once a run."
            if hosts
            else "It has no way out."
        )
        message = " ".join(filter(None, [f"{tasks}: the code is written by {name}.", leaves, known[name].note]))
        yield PlanProblem("other_agent", message, tuple(keys), "warning")
