"""The resources: what tools read, at addresses that a client can keep."""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic import BaseModel

from aiswe_site.verbs import facts, lookup, planning, working
from aiswe_site.verbs.callers import Caller
from aiswe_site.verbs.fields import fields
from projects.errors import BadInput
from projects.models import Run
from projects.services.delivery import state


def _number(text: str) -> int:
    """A number in an address. Raises BadInput."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 15:
        raise BadInput(f"{text[:40]!r} is not the number of a run.")
    return int(text)


def _as_json(answer: BaseModel) -> str:
    return answer.model_dump_json(indent=2)


def projects(caller: Caller) -> str:
    """The projects that you may see."""
    return _as_json(planning.list_projects(caller))


def project(caller: Caller, slug: str) -> str:
    """A project: what became of each of its requirements."""
    return _as_json(planning.project_state(caller, slug))


def requirements(caller: Caller, slug: str) -> str:
    """What the newest document of a project asks for."""
    return _as_json(planning.list_requirements(caller, slug))


def plan(caller: Caller, slug: str) -> str:
    """The newest plan of a project."""
    return _as_json(planning.show_plan(caller, slug))


def run(caller: Caller, run: str) -> str:
    """How a run stands."""
    return _as_json(working.run_status(caller, _number(run)))


def events(caller: Caller, run: str) -> str:
    """The newest events of a run."""
    number = _number(run)
    last = working.run_status(caller, number).events
    return _as_json(working.run_events(caller, number, max(0, last - working.EVENTS), working.EVENTS))


def evidence(caller: Caller, run: str) -> str:
    """What a build amounts to: requirements, tests, findings, commits, the head of its trail."""
    found = state.result(lookup.row_of(caller, Run, pk=_number(run)))
    tasks = [facts.evidence_of(one) for one in found.run.tasks.order_by("ordinal")]
    document = {
        **fields(found.run, "run=pk status events=last_seq trail_head=head_hash"),
        **fields(found, "commit branch"),
        "requirements": [
            facts.requirement_of(one.requirement, one).model_dump(mode="json") for one in found.requirements
        ],
        "tasks": [one.model_dump(mode="json", exclude={"diff", "diff_left_out"}) for one in tasks],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


RESOURCES: dict[str, Callable[..., str]] = {
    "aiswe://projects": projects,
    "aiswe://projects/{slug}": project,
    "aiswe://projects/{slug}/requirements": requirements,
    "aiswe://projects/{slug}/plan": plan,
    "aiswe://runs/{run}": run,
    "aiswe://runs/{run}/events": events,
    "aiswe://runs/{run}/evidence": evidence,
}
