"""A whole folder of hostile strings: HOSTILE_STRINGS_DIR=… pytest tests/dashboard/test_hostile_folder.py

Every line of every .txt file there is a string. Without the variable the compact list of this repository is taken.
"""

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from agents.engine.reply_text import first_sentence
from agents.replies.jsonish import parse_json
from agents.replies.parse import parse_reply
from dashboard.live import stream
from projects.services.audit import chain
from projects.services.planning import projects
from tests.dashboard.hostile import STRINGS
from tests.dashboard.markup import acts, attributes, pages_of, put_everywhere
from tests.dashboard.story import Story, tell
from tests.rows import emit

FOLDER = os.environ.get("HOSTILE_STRINGS_DIR", "")
GROUP = 40  # strings on one page at a time
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(3600 if FOLDER else 180)]
HTML = "text/html"


def strings() -> list[str]:
    """All of them, each once, short enough for a field."""
    if not FOLDER:
        return [words[:4_000] for words in STRINGS]
    files = sorted(Path(FOLDER).glob("*.txt"))
    assert files, f"HOSTILE_STRINGS_DIR: there is no .txt file in {FOLDER}"
    lines = [line for file in files for line in file.read_text(encoding="utf-8", errors="surrogateescape").split("\n")]
    return list(dict.fromkeys(line.encode("utf-8", "replace").decode() for line in lines if line))


ALL = strings()


def groups() -> Iterator[list[str]]:
    """The strings by parts."""
    for start in range(0, len(ALL), GROUP):
        yield ALL[start : start + GROUP]


@pytest.fixture
def story(enqueued: list[Any], client: Client) -> Story:
    """A project with something on every page, and its owner signed in."""
    found = tell()
    client.force_login(found.owner)
    return found


def harmless(answer: Any, *allowed: int) -> None:
    """No page answers with an error of the server, or with markup of somebody else."""
    assert answer.status_code in allowed, (answer.status_code, answer.request["PATH_INFO"])
    if answer.get("Content-Type", "").startswith(HTML):
        assert not acts(answer.content.decode()), answer.request["PATH_INFO"]


def test_every_page_with_every_string(story: Story, client: Client) -> None:
    pages = pages_of(story)
    for group in groups():
        put_everywhere(story, "\n".join(group)[:18_000])
        for address in pages:
            harmless(client.get(address), 200)


def test_every_string_as_a_name(story: Story, client: Client) -> None:
    pages = [reverse(name, args=[story.project.pk]) for name in ("project", "requirements", "plan")]
    pages += [reverse("run", args=[story.run.pk]), reverse("task", args=[story.stuck.pk])]
    for number, words in enumerate(ALL):
        put_everywhere(story, words)
        harmless(client.get(pages[number % len(pages)]), 200)


def test_every_string_as_what_a_model_or_a_tool_said(story: Story, client: Client) -> None:
    run = story.run.pk
    after = story.run.last_seq
    for number, words in enumerate(ALL):
        parse_reply(words)
        parse_json(words)
        kind = ("thought", "decision", "cmd", "test.result", "gate.finding", "error", "diagnosis")[number % 7]
        payload = dict.fromkeys(
            ("text", "choice", "reason", "tail", "tool", "rule", "path", "message", "cause", words[:40]), words
        )
        failures = [{"nodeid": words, "message": words}]
        event = emit(
            run,
            kind,
            summary=first_sentence(words, "coder-code"),
            role="coder",
            actor=words[:100],
            payload={**payload, "failures": failures, "argv": [words], "next_steps": [words]},
            blobs={"output": words, "prompt": [words]},
        )
        harmless(client.get(reverse("run-inspect", args=[run, event.seq])), 200)
    # By hundreds: a reader who is far behind is sent no rows at all.
    while found := stream.frame(run, after, stream.Filter(), upto=after + 100):
        after = found["to"]
        assert not acts(found["rows"])
        assert not any(name.startswith("hx-") for name in attributes(found["rows"]))
        json.dumps(found)
    report = chain.verify_chain(run)
    assert report.ok, report.problem


def test_every_string_in_an_export(story: Story, client: Client) -> None:
    projects.add_member(story.project, story.owner, "auditor", by=story.owner)
    for words in ALL:
        emit(story.run.pk, "thought", summary=words, actor=words[:100], payload={"text": words})
    rows = b"".join(client.get(reverse("audit-export", args=[story.run.pk, "jsonl"])).streaming_content).decode()
    last = story.run.__class__.objects.get(pk=story.run.pk).last_seq
    assert [json.loads(row)["seq"] for row in rows.strip("\n").split("\n")] == list(range(1, last + 1))
    table = b"".join(client.get(reverse("audit-export", args=[story.run.pk, "csv"])).streaming_content).decode()
    cells = list(csv.reader(io.StringIO(table, newline="")))
    assert len(cells) == last + 1
    assert not [cell for row in cells for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_every_string_as_a_document_and_its_file_name(story: Story, client: Client) -> None:
    address = reverse("project-upload", args=[story.project.pk])
    for number, group in enumerate(groups()):
        text = "# Wishes\n\n" + "\n\n".join(f"- The API shall show {words}" for words in group)
        upload = SimpleUploadedFile("x.md", text.encode("utf-8", "replace"))
        upload._name = group[number % len(group)][:200]  # past Django's own tidying, as a hostile browser would
        harmless(client.post(address, {"file": upload}), 302, 400, 422)
        harmless(client.get(reverse("requirements", args=[story.project.pk])), 200)
        harmless(client.post("/preview", {"text": text}), 200, 422)


def test_every_string_as_the_name_of_a_file(story: Story, client: Client) -> None:
    address = "/preview"
    for words in ALL:
        upload = SimpleUploadedFile("x.md", b"FR-01 The API shall add.")
        upload._name = words[:200]
        harmless(client.post(address, {"file": upload}), 200, 400, 422)  # 400: a header that is too long


def test_every_string_in_an_address_and_in_a_refusal(story: Story, client: Client) -> None:
    settings = reverse("project-settings", args=[story.project.pk])
    run = reverse("run", args=[story.run.pk])
    for words in ALL:
        path = quote(words[:200].replace("\x00", ""), safe="")
        # A path of dots leads elsewhere by itself.
        harmless(client.get(f"/nowhere/{path}"), 404, 200, 302)
        harmless(client.get(run, {"q": words[:300], "task": words[:60]}), 200)
        harmless(client.post(settings, {"max_retries": words}, headers={"Referer": path}), 422, 302)
        harmless(client.get("/sign-in", {"next": words}), 200, 302)
    members = reverse("project-members", args=[story.project.pk])
    for group in groups():
        harmless(client.post(members, {"username": group[0], "role": "viewer"}), 422)
        harmless(client.post("/projects/new", {"name": group[-1], "text": "\n".join(group), "autonomy": group[0]}), 422)
