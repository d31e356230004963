"""Chats in a project of their own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.conversation.state import Exchange
from projects.engine.chat import OpenChat, new_chat, open_chat
from projects.models import Project, Run
from tests.factories import owner_of
from tests.projects.engine.talking import Person, Talked, Talking, answering
from tests.projects.engine.todo_replies import TASK
from tests.replying_model import Reply, ReplyingModel


@pytest.fixture
def anna(settings: Any, tmp_path: Path) -> User:
    """An administrator, whose sandboxes are those of bubblewrap."""
    settings.AISWE_HOME, settings.SANDBOX_BACKEND = tmp_path / "home", "bubblewrap"
    return User.objects.create_superuser("anna")


@pytest.fixture
def talking(project: Project, settings: Any) -> Talking:
    @contextmanager
    def talk(
        replies: Sequence[str] | Reply, person: Person, run: Run | None = None
    ) -> Iterator[tuple[OpenChat, ReplyingModel]]:
        by = owner_of(project)
        with (
            answering(settings, replies) as model,
            open_chat(run or new_chat(project, by=by), by=by, surface=person) as chat,
        ):
            yield chat, model

    return talk


@pytest.fixture
def talked(talking: Talking) -> Talked:
    def talk(replies: Sequence[str] | Reply, person: Person, *prompts: str) -> tuple[OpenChat, ReplyingModel, Exchange]:
        with talking(replies, person) as (chat, model):
            exchanges = [chat.say(prompt) for prompt in prompts]
        return chat, model, exchanges[-1]

    return talk


@pytest.fixture
def working(talking: Talking) -> Talking:
    @contextmanager
    def work(*given: Any, **more: Any) -> Iterator[tuple[OpenChat, ReplyingModel]]:
        with talking(*given, **more) as (chat, model):
            chat.set_mode("todo")
            yield chat, model

    return work


@pytest.fixture
def worked(working: Talking) -> Talked:
    def work(replies: Sequence[str] | Reply, person: Person) -> tuple[OpenChat, ReplyingModel, Exchange]:
        with working(replies, person) as (chat, model):
            exchange = chat.say(TASK)
        return chat, model, exchange

    return work
