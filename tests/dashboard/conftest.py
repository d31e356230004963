"""The story and its owner's eyes, for every test of a page."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from channels.layers import channel_layers
from django.db import connections
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from tests.dashboard.story import Story, add_code, tell
from tests.rows import undone


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Story | None]:
    """The story, written once for a file: what its tests do to it is undone after each. None if one of them commits."""
    markers = (item.get_closest_marker("django_db") for item in request.session.items if item.path == request.path)
    if any(marker and marker.kwargs.get("transaction") for marker in markers):
        yield None
        return
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch, undone():
        patch.setattr(
            connections["default"], "close", lambda: None
        )  # as Django does after each test; it would undo the story
        yield tell()


@pytest.fixture
def story(told: Story | None, enqueued: list[Any]) -> Story:
    """One project with everything on its pages."""
    return deepcopy(told) or tell()


@pytest.fixture
def story_with_code(story: Story, tmp_path: Path, settings: Any, client: Client) -> Story:
    """The story with a repository in a data folder of its own; its owner is signed in."""
    settings.AISWE_HOME = tmp_path
    add_code(story)
    client.force_login(story.owner)
    return story


@pytest.fixture
def page(story: Story, client: Client) -> Callable[..., str]:
    """Reads a page by the name of its address, signed in as the owner."""
    client.force_login(story.owner)

    def read(name: str, *args: object, query: str = "", status: int = 200) -> str:
        response = client.get(reverse(name, args=args) + query)
        assert response.status_code == status, response.content[:2000]
        return response.content.decode()

    return read


@pytest.fixture
def owner(story: Story, client: Client) -> Client:
    client.force_login(story.owner)
    return client


@pytest.fixture
def own_layer(settings: Any) -> Iterator[None]:
    """Channels of a test's own."""
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()
