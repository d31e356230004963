"""The page of a chat: who said what, what was done, what waits, and what may be said."""

import gzip
import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from dashboard.presenters import conversation
from projects.engine import chat as engine
from projects.jobs import chats as chat_jobs
from projects.models import Approval, Project, Run
from projects.services.insight import replays
from projects.services.work import chats
from projects.workers import queue
from tests.factories import make_project, make_user, owner_of
from tests.projects.engine.talking import Person, answering
from tests.rows import fresh
from tests.texts import shows

pytestmark = [pytest.mark.django_db(transaction=True)]
REPLIES = [
    "I *look*.\n<<READ: nothing.py>>",
    "I write it. <img src=x onerror=alert(1)>\n<<WRITE: hello.py>>\nprint('Hello')\n<</WRITE>>\n<<EXEC: python a.py>>",
]


@pytest.fixture
def project(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Project:
    settings.AISWE_HOME = tmp_path / "home"
    monkeypatch.setattr(queue, "send", lambda name, args: None)
    return make_project("Workspace")


@pytest.fixture
def run(project: Project, settings: Any) -> Run:
    """A chat that waits for leave to write."""
    run = engine.new_chat(project, by=owner_of(project))
    with answering(settings, REPLIES):
        chats.send(run, by=owner_of(project), text="Create hello.py\n<b>now</b>")
        chat_jobs.chat_turn(run.pk)
    run.refresh_from_db()
    return run


@pytest.fixture
def client(project: Project) -> Client:
    client = Client()
    client.force_login(owner_of(project))
    return client


def read(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, response.content[:1000]
    return response.content.decode()


def steps_in(html: str) -> list[str]:
    parts = re.findall(r"<summary>(.*?)</summary>", html, re.DOTALL)
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", part)).split()) for part in parts]


def test_a_chat_is_read_as_a_conversation(client: Client, run: Run) -> None:
    html = read(client, f"/runs/{run.pk}")
    shows(html, "<em>look</em>", "&lt;b&gt;now&lt;/b&gt;")
    assert "<img" not in html
    assert "WRITE:" not in html
    assert steps_in(html)[:3] == [
        "read nothing.py File not found at 'nothing.py'. failed",
        "write hello.py waiting for you",
        "exec python a.py waiting",
    ]
    shows(html, "May it create hello.py?", 'value="session"', "The model waits for your answer.")
    stream = read(client, f"/runs/{run.pk}?view=stream").partition('id="stream"')[2].partition("</section>")[0]
    assert "I write it." in stream
    assert f"run {run.pk}" in read(client, f"/audit/{run.pk}").lower()


def test_the_question_is_answered_on_the_page_and_once(client: Client, run: Run) -> None:
    asked = Approval.objects.get(run=run)
    assert client.get(f"/approvals/{asked.pk}").headers["Location"] == f"/runs/{run.pk}#question"
    address = f"/runs/{run.pk}/answer/{asked.pk}"
    assert client.post(address, {"leave": "perhaps"}).status_code == 422
    assert client.post(address, {"leave": "session"}).headers["Location"] == f"/runs/{run.pk}#newest"
    assert (fresh(asked).status, asked.payload["leave"]) == ("approved", "session")
    late = client.post(address, {"leave": "no"}, headers={"Accept": "application/json"})
    assert late.status_code == 409
    assert "Decided elsewhere" in late.json()["why"]
    html = read(client, f"/runs/{run.pk}")
    assert "May it create" not in html
    assert "write hello.py running" in steps_in(html)


def test_what_is_new_comes_as_a_fragment(client: Client, run: Run) -> None:
    newest = int(re.findall(r'data-turn="(\d+)"', read(client, f"/runs/{run.pk}"))[-1])
    html = read(client, f"/runs/{run.pk}/turns?since={newest}")
    assert re.findall(r'<\w+ [^>]*?id="(turn-\d+|newest|beside|talk-state)"', html) == [
        f"turn-{newest}",
        "newest",
        "beside",
        "talk-state",
    ]
    assert client.get(f"/runs/{run.pk + 100}/turns").status_code == 404


def test_a_chat_that_is_open_elsewhere_says_so_and_keeps_the_words(client: Client, project: Project) -> None:
    run = engine.new_chat(project, by=owner_of(project))
    with engine.open_chat(run, by=owner_of(project), surface=Person()):
        refused = client.post(f"/runs/{run.pk}/say", {"text": "Are you there?"})
    assert refused.status_code == 409
    html = refused.content.decode()
    shows(html, "This chat is open in a terminal", ">Are you there?</textarea>", "aiswe chat --resume")


def test_a_chat_begins_on_its_projects_page_and_is_listed_there(client: Client, project: Project, run: Run) -> None:
    assert "New chat" in read(client, f"/p/{project.pk}/")
    made = client.post(f"/p/{project.pk}/chats")
    new = Run.objects.latest("pk")
    assert (made.headers["Location"], new.kind) == (f"/runs/{new.pk}", Run.Kind.CHAT)
    assert "Say what you want to be done." in read(client, f"/runs/{new.pk}")
    for path in ("/runs", f"/p/{project.pk}/"):
        html = read(client, path)
        shows(html, f"Chat {run.pk}</a>", "Create hello.py &lt;b&gt;now&lt;/b&gt;", "your turn")


def test_who_may_only_look_sees_no_way_to_write(client: Client, project: Project, run: Run) -> None:
    client.force_login(make_user("vera", role="viewer", project=project))
    html = read(client, f"/runs/{run.pk}")
    assert "can write here" in html
    assert client.post(f"/runs/{run.pk}/say", {"text": "Hello?"}).status_code == 403
    asked = Approval.objects.get(run=run)
    assert client.post(f"/runs/{run.pk}/answer/{asked.pk}", {"leave": "once"}).status_code == 403
    assert client.post(f"/p/{project.pk}/chats").status_code == 403
    client.force_login(make_user("stranger"))
    assert client.get(f"/runs/{run.pk}/turns").status_code == 404


def test_words_that_a_turn_takes_up_while_the_page_is_made_are_on_it(project: Project, settings: Any) -> None:
    run = engine.new_chat(project, by=owner_of(project))
    chats.send(run, by=owner_of(project), text="Hello?")
    read_before = fresh(run)
    with answering(settings, ["Hello."]):
        chat_jobs.chat_turn(run.pk)
    shown = conversation.context(read_before)
    assert [turn.event.payload["text"] for turn in shown["talk"].turns] == ["Hello?"]


def test_a_turn_that_broke_off_can_be_gone_on_with(client: Client, project: Project, settings: Any) -> None:
    run = engine.new_chat(project, by=owner_of(project))
    client.post(f"/runs/{run.pk}/say", {"text": "Hello?"})
    assert "waits for a free worker" in read(client, f"/runs/{run.pk}")
    chat_jobs.chat_turn(run.pk)
    html = read(client, f"/runs/{run.pk}")
    shows(html, "No model server answers", ">Go on</button>")
    with answering(settings, ["Hello."]):
        client.post(f"/runs/{run.pk}/resume")
        chat_jobs.chat_turn(run.pk)
    html = read(client, f"/runs/{run.pk}")
    assert "<p>Hello.</p>" in html
    assert "Go on" not in html


@pytest.fixture
def replay(run: Run, project: Project) -> Run:
    lines = b"".join(replays.export_run(run, by=make_user("root", superuser=True)))
    assert gzip.decompress(lines)
    return replays.replay_run(io.BytesIO(lines), by=owner_of(project))


def test_a_chat_is_replayed_as_a_conversation_and_looked_at_as_it_was(client: Client, run: Run, replay: Run) -> None:
    html = read(client, f"/runs/{replay.pk}")
    shows(html, "<em>look</em>", "This is a replay: nobody reads what is said to it.")
    first = run.events.get(type="human.message").seq
    then = read(client, f"/runs/{run.pk}?view=conversation&at={first}")
    assert "Create hello.py" in then
    assert "look" not in then.partition('id="turns"')[2].partition('class="lanes"')[0]
    assert "Go back to live to write." in then


def test_a_long_chat_shows_new_turns_and_links_earlier_ones(client: Client, project: Project, settings: Any) -> None:
    run = engine.new_chat(project, by=owner_of(project))
    with (
        answering(settings, lambda asked: "<<READ: a>>" if "Number" in asked[-1]["content"] else "Done."),
        engine.open_chat(run, by=owner_of(project), surface=Person("session")) as opened,
    ):
        for number in range(22):
            opened.say(f"Number {number}.")
    html = read(client, f"/runs/{run.pk}")
    assert html.count('class="turn"') == 20
    assert "Number 1." not in html.partition('id="turns"')[2]
    earlier = int(re.findall(r"before=(\d+)", html)[0])
    assert "Number 1." in read(client, f"/runs/{run.pk}?before={earlier}")
    assert html.count("<h4>Output</h4>") == 4
    since, before = re.findall(r'data-since="(\d+)"\s+data-before="(\d+)"', html)[0]
    assert "<h4>Output</h4>" in read(client, f"/runs/{run.pk}/turns?since={since}&before={before}")
