"""Case 28: secrets that turn up in documents, prompts, replies, outputs, traces, names and states are stored nowhere.

A secret of every known kind is put through every door that stores or sends something; afterwards none of them stands
in any table, log, frame, export or memory, and the sandbox has no environment that could hold one.
"""

from __future__ import annotations

import base64
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from langgraph.checkpoint.base import empty_checkpoint

from agents.secrets import redaction
from agents.secrets.formats import find_known, formats
from aiswe_site.logs import OneLineFormatter, WholeFormatter
from projects.engine import event_log as engine_event_log
from projects.engine.saver import DjangoSaver
from projects.services.audit import exports
from projects.services.planning import documents, plans, runs
from projects.services.work import approval_requests, attempts, findings, tasks
from sandbox.base import Sandbox
from tests.agents.gates.secret_samples import sample
from tests.factories import make_document, make_project, make_run, make_task, make_user, owner_of, plan_content
from tests.rows import emit

CONFIGURED = "Quiet-Harbour-" + "77/+x"


def planted() -> dict[str, tuple[str, str]]:
    """By kind: a text that holds a secret, and the secret alone."""
    found = {}
    for entry in formats():
        text = sample(entry.kind, seed=28)
        first = next((start, end) for kind, start, end in find_known(text) if kind == entry.kind)
        found[entry.kind] = (text, text[slice(*first)])
    return found


PLANTED = planted()


def disguised(secret: str) -> list[str]:
    """The ways in which words of a model or a program may hold it without showing it plainly."""
    half = len(secret) // 2
    return [
        base64.b64encode(f"it is {secret} indeed".encode()).decode(),
        f'"{secret[:half]}" + "{secret[half:]}"',
        secret.encode().hex(),
    ]


def parts_of(secret: str) -> list[str]:
    """What must not be seen: the secret, and the forms that anyone can turn back."""
    return [secret, json.dumps(secret)[1:-1], *disguised(secret)[::2]]


def everything_stored() -> str:
    """All values of all tables, bytes as text, as one text."""
    seen: list[str] = []
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            cursor.execute(f'SELECT * FROM "{model._meta.db_table}"')
            for row in cursor.fetchall():
                seen += [
                    bytes(v).decode("utf-8", "replace") if isinstance(v, bytes | memoryview) else str(v) for v in row
                ]
    return "\n".join(seen)


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    before = redaction._current
    redaction.configure({"harbour": CONFIGURED})
    yield
    redaction._current = before


@pytest.mark.django_db(transaction=True)
def test_nothing_that_is_stored_sent_logged_or_exported_holds_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[Any] = []
    monkeypatch.setattr(engine_event_log, "announce_delta", lambda run, **words: frames.append(words))
    log = io.StringIO()
    handlers = [logging.StreamHandler(log), logging.StreamHandler(log)]
    handlers[0].setFormatter(OneLineFormatter())
    handlers[1].setFormatter(WholeFormatter("%(message)s"))
    logger = logging.Logger("case28")
    for handler in handlers:
        logger.addHandler(handler)

    texts = [text for text, _ in PLANTED.values()] + [CONFIGURED]
    texts += [form for kind in ("github-token", "stripe-key", "slack-token") for form in disguised(PLANTED[kind][1])]
    texts += disguised(CONFIGURED)
    run = make_run()
    task = make_task(run, status="running")
    live = engine_event_log.DatabaseEventLog(run, actor="worker", token=0, task=task)
    saver = DjangoSaver()
    person = owner_of(run.project)
    attempts.start_attempt(task, number=1, strategy="first", diagnosis={"cause": texts[0]})
    for number, text in enumerate(texts):
        emit(
            run.pk,
            "tool.output",
            summary=f"saw {text} here",
            payload={"path": f"src/{number}/{text}.py", "environment": {"VALUE": text}, text: 1},
            blobs={"prompt": [f"system\n{text}", "user"], "output": f"Traceback:\n  ValueError: {text}\n"},
        )
        for piece in (f"words {text[: len(text) // 2]}", f"{text[len(text) // 2 :]} and", " more"):
            live.delta(lane="coder", id=f"r{number}", offset=0 if piece.startswith("words") else 1, text=piece)
        try:
            raise ValueError(f"bad {text}")
        except ValueError:
            logger.exception("failed on %s", text)
    whole = "\n\n".join(f"## Part {number}\n\nIt is {text} here.\n" for number, text in enumerate(texts))
    attempts.finish_attempt(
        task, number=1, outcome="failed", diff=whole, tests={"output": whole}, diagnosis={"a": texts}
    )
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    state = empty_checkpoint() | {"channel_values": {"messages": texts, "files": {"a.py": whole}}}
    stored = saver.put(config, state, {"source": "loop"}, {})  # type: ignore[arg-type]
    saver.put_writes(stored, [("reply", {"text": texts, "pair": (texts[3], 1)})], "node")
    findings.record_findings(
        task,
        [
            {
                "tool": "x",
                "rule": "r",
                "severity": "LOW",
                "message": whole,
                "remediation": whole,
                "fingerprint": "f" * 32,
            }
        ],
        attempt=1,
        blocking=set(),
    )
    approval_requests.ask(
        run.project, kind="escalation", subject="s", title=texts[5], why=whole, payload={"t": texts}, run=run
    )
    runs.say(run, by=person, text=whole)
    document = documents.upload_document(run.project, whole.encode(), "secrets.md", by=person)
    rows = [
        {
            "key": "FR-01",
            "text": whole[:9_000],
            "kind": "functional",
            "lines": [1, 2],
            "acceptance": texts[:50],
            "reason": texts[1],
        }
    ]
    documents.record_extraction(document, rows, [{"kind": "prose", "text": whole}])
    plan = plan_content()
    plan["notes"] = whole
    plan["tasks"][0]["description"] = texts[7]
    plans.propose_plan(make_document(make_project(by=make_user())), content=plan)
    tasks.escalate_task(task, text=whole, actor="worker")

    kept = {
        "tables": everything_stored(),
        "frames": json.dumps(frames, ensure_ascii=False) + "".join(frame["text"] for frame in frames),
        "log": log.getvalue(),
        "export": "".join(exports.export_events(run.pk, "jsonl")) + "".join(exports.export_events(run.pk, "csv")),
    }
    assert all("[redacted:" in text for text in kept.values())
    secrets = {kind: [secret] for kind, (_, secret) in PLANTED.items()}
    secrets |= {kind: parts_of(PLANTED[kind][1]) for kind in ("github-token", "stripe-key", "slack-token")}
    secrets["configured"] = parts_of(CONFIGURED)
    left = {
        (place, kind)
        for place, text in kept.items()
        for kind, forms in secrets.items()
        if any(f in text for f in forms)
    }
    assert len(PLANTED) > 200
    assert left == set()


def test_the_memory_of_lessons_holds_no_secret(tmp_path: Path) -> None:
    from agents.memory.base import Lesson
    from agents.memory.chroma import ChromaLessons

    store = ChromaLessons(tmp_path)
    store.add(Lesson("one", "s", f"it used {CONFIGURED}", f"do not use {CONFIGURED}", 1.0, "p", "t", "r"))
    assert not store.problem
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"[redacted:" in held
    assert CONFIGURED.encode() not in held


def test_a_token_in_a_test_file_goes_like_any_other() -> None:
    text = f"def test_login() -> None:\n    assert login('{PLANTED['github-token'][1]}')\n"
    assert PLANTED["github-token"][1] not in redaction.redact({"path": "tests/test_a.py", "diff": text})["diff"]


def test_the_sandbox_has_an_environment_without_secrets(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASE_28_TOKEN", CONFIGURED)
    seen = box.exec(["sh", "-c", "env; cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'"])
    assert CONFIGURED not in seen.out
    assert not [line for line in seen.out.splitlines() if redaction.secrets_in(dict([line.partition("=")[::2]]))]
