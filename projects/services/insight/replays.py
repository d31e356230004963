"""A run as one file, and a run made again of such a file to be looked at: read-only, in a chain of its own.

A replay brings events and what its page draws. It has no model calls, attempts, findings or approvals, so it counts in
no report, teaches nothing, asks nobody, and nothing can be built from it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import socket
import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.utils import timezone

from agents.secrets.redaction import redact
from projects.errors import BadInput
from projects.models import Blob, Event, Plan, Project, RequirementDocument, Run, Task
from projects.services.accounts.rights import require
from projects.services.audit.canonical import GENESIS, clean_json, clean_line, clean_text, link
from projects.services.audit.events import MAX_BLOB, MAX_SUMMARY
from projects.services.audit.exports import export_events
from projects.services.audit.hashing import COLUMNS, event_hash
from projects.services.audit.sitelog import note
from projects.services.planning.projects import create_project

FORMAT = "aiswe-run/1"
KINDS = (Run.Kind.PLAN, Run.Kind.BUILD, Run.Kind.TESTS, Run.Kind.REVIEW, Run.Kind.CHAT)
MOST_BYTES = 400_000_000  # unpacked
MOST_LINE = 6 * MAX_BLOB
MOST_EVENTS, MOST_TASKS = 200_000, 2_000
BATCH = 500
BROKEN = (
    *(OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError, RecursionError),
    *(ValidationError, DatabaseError),
)
SHA = re.compile(r"[0-9a-f]{64}")
FACTS = {"key": 40, "title": 200, "description": 20_000, "expects": 20_000, "kind": 20, "agent": 20}


def export_run(run: Run, *, by: User) -> Iterator[bytes]:
    """The run as packed JSON lines: what it is, its events, the contents they name. Raises NotAllowed and BadInput."""
    require(by, run.project, "audit.export")
    if run.kind == Run.Kind.REPLAY:
        raise BadInput("This is a replay already: pass on the file it was made from.")
    return _packed(run)


def _packed(run: Run) -> Iterator[bytes]:
    tasks = run.tasks.order_by("ordinal").select_related("asked_by").prefetch_related("needs")
    head = {
        "format": FORMAT,
        "installation": socket.gethostname(),
        "project": run.project.name,
        "run": {"number": run.pk, "kind": run.kind, "recording": run.recording},
        "events": run.last_seq,
        "head": run.head_hash,
        "plan": run.plan.content if run.plan else None,
        "tasks": [
            {name: getattr(task, name) for name in FACTS}
            | {"id": task.pk, "minutes": task.minutes, "needs": [need.key for need in task.needs.all()]}
            | {"asked_by": task.asked_by.key if task.asked_by else ""}
            for task in tasks
        ],
    }
    names: set[str] = set()
    yield gzip.compress(json.dumps(redact(head)).encode() + b"\n")
    for line in export_events(run.pk):
        row = json.loads(line)
        if row["seq"] > run.last_seq:
            break
        names |= set(_named(row["blobs"]))
        yield gzip.compress(line.encode(), 3)
    for name in sorted(names):
        content = Blob.objects.values_list("content", flat=True).get(pk=name)
        yield gzip.compress(json.dumps({"blob": name, "content": content}).encode() + b"\n", 3)


def _named(blobs: Any) -> list[str]:
    return [one for value in blobs.values() for one in (value if isinstance(value, list) else [value])]


def replay_run(file: IO[bytes], *, by: User) -> Run:
    """A run to look at, made of a file that export_run() wrote. Raises BadInput that names what is wrong with it."""
    try:
        head = _checked(file)
        file.seek(0)
        return _made(head, _lines(file), by)
    except BROKEN as error:
        raise BadInput(f"This is not a file that `aiswe run export` wrote: {type(error).__name__}.") from error


def _lines(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Each line as an object; never more than MOST_LINE is unpacked at once, and never more than MOST_BYTES in all."""
    unpacked = gzip.GzipFile(fileobj=file)
    size, number = 0, 0
    while line := unpacked.readline(MOST_LINE + 1):
        size, number = size + len(line), number + 1
        if len(line) > MOST_LINE or size > MOST_BYTES:
            raise BadInput(
                f"Line {number} is too long, or the file has more than {MOST_BYTES // 1_000_000} MB unpacked."
            )
        found = json.loads(line)
        if not isinstance(found, dict):
            raise BadInput(f"Line {number} is not an object.")
        yield found


def _checked(file: IO[bytes]) -> dict[str, Any]:
    """What the file says of its run, once every hash in it was recomputed; nothing is stored yet."""
    lines = _lines(file)
    head = next(lines, {})
    if head.get("format") != FORMAT:
        raise BadInput(f"The file does not begin as a run does (format {FORMAT}).")
    if not 0 < head["events"] <= MOST_EVENTS or len(head["tasks"]) > MOST_TASKS:
        raise BadInput(f"A replay has 1 to {MOST_EVENTS:,} events and at most {MOST_TASKS:,} tasks.")
    tasks = {task["id"] for task in head["tasks"]} | {None}
    before, wanted, there = GENESIS, set(), set()
    for number, row in enumerate(lines, start=1):
        if number > head["events"]:
            name, content = row["blob"], row["content"]
            if name not in wanted or hashlib.sha256(content.encode()).hexdigest() != name:
                raise BadInput(f"The content {str(name)[:12]} is not what its hash says, or no event names it.")
            there.add(name)
            continue
        claimed = row.pop("hash")
        if set(row) != set(COLUMNS) or row["seq"] != number or row["prev_hash"] != before:
            raise BadInput(f"Event {number} does not follow from the one before it.")
        if link(before, row) != claimed:
            raise BadInput(f"Event {number} was changed: its hash does not match its content.")
        if row["task_id"] not in tasks or not isinstance(row["payload"], dict):
            raise BadInput(f"Event {number} names a task that the file does not have.")
        wanted |= set(_named(row["blobs"]))
        before = claimed
    if before != head["head"]:
        raise BadInput("The events do not end at the head that the file names: it was cut off or put together.")
    if there != wanted or not all(SHA.fullmatch(name) for name in wanted):
        raise BadInput(f"{len(wanted - there)} contents that events name are missing.")
    return head


def _made(head: dict[str, Any], lines: Iterator[dict[str, Any]], by: User) -> Run:
    said = head["run"]
    source = clean_line(f"run {int(said['number'])} from {head['installation']}", 90)
    was = {
        "source": source,
        "project": clean_line(str(head["project"]), 120),
        "kind": said["kind"] if said["kind"] in KINDS else Run.Kind.BUILD,
        "events": head["events"],
        "head": head["head"],
    }
    now = timezone.now()
    with transaction.atomic():
        project = create_project(f"Replay of {source}", by=by)
        Project.objects.filter(pk=project.pk).update(archived_at=now)  # nothing is started in it
        run = Run.objects.create(
            project=project,
            kind=Run.Kind.REPLAY,
            plan=_plan(project, head["plan"]),
            status=Run.Status.FINISHED,
            finished_at=now,
            started_by=by,
            recording=said["recording"] is True,
            replay_of=was,
        )
        tasks = _tasks(run, head["tasks"])
        next(lines)
        _store(run, lines, tasks, head["events"])
        note(by, "run.replayed", source, {"run": run.pk, "events": head["events"], "head": head["head"]})
    run.refresh_from_db()
    return run


def _plan(project: Project, content: Any) -> Plan | None:
    """What the graph is drawn from; it can be neither approved nor built."""
    if not isinstance(content, dict):
        return None
    document = RequirementDocument.objects.create(project=project, version=1, filename="replay", text="", sha256="")
    status = Plan.Status.SUPERSEDED
    return Plan.objects.create(
        project=project, document=document, version=1, status=status, content=clean_json(content)
    )


def _tasks(run: Run, given: list[dict[str, Any]]) -> dict[int | None, int | None]:
    """The run's tasks; returns their numbers by those in the file."""
    made = {}
    for ordinal, task in enumerate(given, start=1):
        facts = {name: clean_text(str(task[name]), limit) for name, limit in FACTS.items()}
        minutes = min(600, max(0, int(task["minutes"])))
        made[task["id"]] = Task.objects.create(run=run, ordinal=ordinal, minutes=minutes, **facts)
    by_key = {task.key: task for task in made.values()}
    for task in given:
        made[task["id"]].needs.set([by_key[key] for key in task["needs"]])
        if task["asked_by"]:
            Task.objects.filter(pk=made[task["id"]].pk).update(asked_by=by_key[task["asked_by"]])
    return {None: None} | {number: task.pk for number, task in made.items()}


def _store(run: Run, lines: Iterator[dict[str, Any]], tasks: dict[int | None, int | None], events: int) -> None:
    before, rows, blobs = GENESIS, [], []
    for number, row in enumerate(lines, start=1):
        if number > events:
            blobs.append(Blob(sha256=row["blob"], content=row["content"]))
        else:
            row.pop("hash")
            at = datetime.fromisoformat(row.pop("at"))
            columns = clean_json(row) | {"run_id": run.pk, "task_id": tasks[row["task_id"]], "prev_hash": before}
            columns["summary"] = clean_line(str(row["summary"]), MAX_SUMMARY)
            columns["key"] = None if row["key"] is None else clean_text(str(row["key"]), 200)
            event = Event(**columns, at=at)
            event.clean_fields(exclude=["run", "task", "payload", "blobs", "summary", "key", "hash"])
            event.hash = before = event_hash(event)
            rows.append(event)
        if len(rows) >= BATCH or len(blobs) >= BATCH:
            _write(rows, blobs)
    _write(rows, blobs)
    Run.objects.filter(pk=run.pk).update(last_seq=events, head_hash=before)


def _write(rows: list[Event], blobs: list[Blob]) -> None:
    Event.objects.bulk_create(rows)
    Blob.objects.bulk_create(blobs, ignore_conflicts=True)
    rows.clear()
    blobs.clear()
