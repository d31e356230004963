"""The one table of verbs: what each is called over HTTP, the scope that it takes, and whether it is an MCP tool."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from aiswe_site.verbs import insight, planning, streams, working
from aiswe_site.verbs.callers import APPROVE


@dataclass(frozen=True)
class Verb:
    """A function that takes a Caller and typed arguments, and answers with a document.

    `route` is its method and path below /api/v1. `marks`: reads, destroys, repeats (a second call changes nothing
    more), new (201), tool (for MCP too: few, since a client's model reads all of them), or the media type of an answer
    that is sent while it is made. `command` is how a person does what it decides for them.
    """

    function: Callable[..., Any]
    scope: str
    route: str
    marks: str = "reads repeats"
    command: str = ""

    @property
    def name(self) -> str:
        """As clients call it."""
        return self.function.__name__

    @property
    def method(self) -> str:
        """GET or POST."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """Its address below /api/v1, with the names of arguments in braces."""
        return self.route.partition(" ")[2]

    @property
    def about(self) -> str:
        """What it is for."""
        return inspect.getdoc(self.function) or ""

    @property
    def media(self) -> str:
        """The type of an answer that is sent while it is made; "" for a document."""
        return next((word for word in self.marks.split() if "/" in word), "")

    @cached_property
    def answer(self) -> type[BaseModel]:
        """The document that it answers with."""
        found: type[BaseModel] = inspect.signature(self.function, eval_str=True).return_annotation
        return found

    @cached_property
    def places(self) -> type[BaseModel]:
        """Its arguments in the path."""
        return self._inputs("Path", set(re.findall(r"\{(\w+)\}", self.path)))

    @cached_property
    def inputs(self) -> type[BaseModel]:
        """Its other arguments: in the query of a GET, in the body of a POST."""
        names = set(inspect.signature(self.function).parameters) - {"caller", *self.places.model_fields}
        return self._inputs("Input", names)

    def _inputs(self, kind: str, names: set[str]) -> type[BaseModel]:
        taken = inspect.signature(self.function, eval_str=True).parameters.values()
        fields: dict[str, Any] = {
            one.name: (one.annotation, ... if one.default is one.empty else one.default)
            for one in taken
            if one.name in names
        }
        title = "".join(word.capitalize() for word in self.name.split("_")) + kind
        return create_model(title, __config__=ConfigDict(extra="forbid"), **fields)


_PROJECT, _RUN = "/projects/{project}", "/runs/{run}"
READS = "reads repeats"
VERBS = (
    Verb(insight.who_am_i, "read", "GET /me"),
    Verb(planning.list_projects, "read", "GET /projects", f"{READS} tool"),
    Verb(planning.create_project, "write", "POST /projects", "new"),
    Verb(planning.show_project, "read", f"GET {_PROJECT}"),
    Verb(planning.project_state, "read", f"GET {_PROJECT}/state", f"{READS} tool"),
    Verb(insight.ask_code, "read", f"GET {_PROJECT}/ask", f"{READS} tool"),
    Verb(planning.list_documents, "read", f"GET {_PROJECT}/documents"),
    # It may replace an earlier one.
    Verb(planning.add_document, "write", f"POST {_PROJECT}/documents", "destroys repeats new tool"),
    Verb(planning.show_document, "read", f"GET {_PROJECT}/documents/{{document}}"),
    Verb(planning.list_requirements, "read", f"GET {_PROJECT}/requirements", f"{READS} tool"),
    Verb(
        planning.confirm_requirements,
        APPROVE,
        f"POST {_PROJECT}/documents/{{document}}/confirm",
        "destroys repeats tool",
        "aiswe requirements confirm PROJECT",
    ),
    Verb(planning.show_plan, "read", f"GET {_PROJECT}/plan", f"{READS} tool"),
    Verb(planning.propose_plan, "run", f"POST {_PROJECT}/plans", "repeats new tool"),
    Verb(planning.list_plans, "read", "GET /plans"),
    Verb(planning.read_plan, "read", "GET /plans/{plan}"),
    Verb(planning.approve_plan, APPROVE, "POST /plans/{plan}/approve", "destroys tool", "aiswe plan approve PLAN"),
    Verb(planning.request_changes, APPROVE, "POST /plans/{plan}/changes", "destroys"),
    Verb(planning.start_run, "run", "POST /plans/{plan}/build", "repeats new tool"),
    Verb(working.list_runs, "read", "GET /runs"),
    Verb(working.run_status, "read", f"GET {_RUN}", f"{READS} tool"),
    Verb(working.run_events, "read", f"GET {_RUN}/events", f"{READS} tool"),
    Verb(streams.run_stream, "read", f"GET {_RUN}/events/stream", f"{READS} text/event-stream"),
    Verb(working.pause_run, "run", f"POST {_RUN}/pause", "tool"),
    Verb(working.resume_run, "run", f"POST {_RUN}/resume", "tool"),
    Verb(working.cancel_run, "run", f"POST {_RUN}/stop", "destroys tool"),
    Verb(working.say_to_run, "run", f"POST {_RUN}/say", "new"),
    Verb(working.run_findings, "read", f"GET {_RUN}/findings"),
    Verb(working.run_result, "read", f"GET {_RUN}/result"),
    Verb(working.run_diff, "read", f"GET {_RUN}/diff"),
    Verb(working.task_evidence, "read", f"GET {_RUN}/tasks/{{task}}", f"{READS} tool"),
    Verb(working.retry_task, "run", f"POST {_RUN}/tasks/{{task}}/retry", ""),
    Verb(insight.verify_trail, "read", f"GET {_RUN}/audit"),
    Verb(insight.export_trail, "read", f"GET {_RUN}/audit/export", f"{READS} application/x-ndjson"),
    Verb(insight.event_kinds, "read", "GET /events/kinds"),
    Verb(working.list_approvals, "read", "GET /approvals", f"{READS} tool"),
    Verb(working.show_approval, "read", "GET /approvals/{approval}", f"{READS} tool"),
    Verb(
        working.answer_approval,
        APPROVE,
        "POST /approvals/{approval}",
        "destroys tool",
        "aiswe approvals answer NUMBER yes|no",
    ),
    Verb(insight.list_backlog, "read", f"GET {_PROJECT}/backlog"),
    Verb(insight.add_tickets, "write", f"POST {_PROJECT}/backlog", "new"),
    Verb(insight.assign_tickets, "run", f"POST {_PROJECT}/backlog/assign", "repeats"),
    Verb(insight.weekly_report, "read", "GET /reports/weekly"),
)
TOOLS = tuple(verb for verb in VERBS if "tool" in verb.marks.split())
