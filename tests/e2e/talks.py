"""Chats on the site that browsers look at: begun, at work, asking, with a plan, and over; their model is scripted."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

OPEN = ExitStack()  # the model's server, for as long as the process lives
GREETING = '''"""A greeting for everybody."""


def greeting(name: str) -> str:
    """The words to say to somebody."""
    return f"Hello, {name}!"
'''
REPLIES = [
    "I look at what is there first.\n<<READ: README.md>>\n<<READ: REDME.md>>\n<<FIND: def >>",
    "There is a **README** and no code yet. I write a module with one function:\n\n"
    f"<<WRITE: greeting.py>>\n{GREETING}<</WRITE>>",
    "`greeting.py` is there. It has one function:\n\n| name | returns |\n|---|---|\n| `greeting` | the words |\n\n"
    "1. It takes a name.\n2. It returns a sentence.\n\nSay if you want a test for it.",
    "I add a farewell beside it.\n\n"
    '<<EDIT: greeting.py>>\n<<<<<<< SEARCH\n    return f"Hello, {name}!"\n=======\n    return f"Hello, {name}!"\n\n\n'
    'def farewell(name: str) -> str:\n    """The words at the end."""\n    return f"Goodbye, {name}!"\n'
    ">>>>>>> REPLACE\n<</EDIT>>\n\n<<EXEC: python -m pytest -q>>",
]
PLAN = "1. Write tests for greeting.py\n2. Write greeting.py\n3. Explain both in README.md"


def scripted(replies: Any) -> None:
    """Have the site's model answer so."""
    from django.conf import settings

    from tests.replying_model import replying_model

    model = OPEN.enter_context(replying_model(replies))
    settings.MODEL_URLS = {**settings.MODEL_URLS, "ollama": model.url}


def turn(run: Any, person: Any, words: str, *answers: str) -> None:
    """A turn, with the answers to what is asked in it."""
    from projects.jobs.chats import chat_turn
    from projects.models import Approval
    from projects.services.decisions import approvals
    from projects.services.work import chats

    chats.send(run, by=person, text=words)
    chat_turn(run.pk)
    for leave in answers:
        asked = Approval.objects.get(run=run, status=Approval.Status.PENDING)
        approvals.answer_chat(asked, by=person, leave=leave)
        chat_turn(run.pk)
    run.refresh_from_db()


def chats_of(person: Any) -> dict[str, str]:
    """A chat in each of its states; their addresses by name."""
    from projects.engine.chat import new_chat
    from projects.models import Chat, Run
    from projects.services.planning import runs
    from tests.factories import make_project

    project = make_project("Greetings", by=person)
    begun, asks, planned, over = (new_chat(project, by=person) for _ in range(4))
    scripted(REPLIES)
    turn(asks, person, "Write a module that greets people.", "once")
    turn(asks, person, "And a function that says goodbye, please.\nKeep the old one as it is.")
    scripted([PLAN])
    turn(planned, person, "/plan a tested greeting")
    scripted(["Hello. What can I do for you?", ""])
    turn(over, person, "Hello?")
    runs.cancel_run(over, by=person)
    elsewhere = new_chat(project, by=person)
    Chat.objects.filter(run=elsewhere).update(place=Chat.DASHBOARD, words="Is anybody there?")
    Run.objects.filter(pk=elsewhere.pk).update(status=Run.Status.RUNNING)
    names = {"begun": begun, "asks": asks, "plan": planned, "over": over, "works": elsewhere}
    found = {f"chat-{name}": f"/runs/{run.pk}" for name, run in names.items()}
    return found | {"chat-stream": f"/runs/{asks.pk}?view=stream"}


def do_talk(replies: list[str]) -> dict[str, Any]:
    """A project of the owner's in which chats are answered so, by jobs in threads."""
    from projects.jobs.chats import chat_turn
    from projects.services.work import chats
    from projects.workers import queue
    from tests.e2e.scenes import KEPT
    from tests.factories import make_project

    def send(name: str, args: tuple[Any, ...]) -> None:
        if name == chats.JOB:
            threading.Thread(target=_closing, args=(chat_turn, *args), daemon=True).start()

    queue.send = send  # type: ignore[assignment]
    scripted(replies)
    return {"project": make_project("Talks", by=KEPT[0].owner).pk}


def _closing(job: Any, run: int) -> None:
    from django.db import connection

    try:
        job(run)
    finally:
        connection.close()


def do_at_work(run: int) -> dict[str, Any]:
    """Whether a chat's turn goes on: its row knows before any page does."""
    from projects.models import Run

    return {"at_work": Run.objects.filter(pk=run, status=Run.Status.RUNNING).exists()}


def do_words(run: int, text: str) -> dict[str, Any]:
    """A model's words in the making."""
    from projects.services.audit.notifications import announce_delta

    announce_delta(run, lane="chat coder", id="m1", offset=0, text=text)
    return {}
