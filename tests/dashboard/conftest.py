"""The story and its owner's eyes, for every test of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from channels.layers import channel_layers
from django.test import Client
from django.urls import reverse

from tests.dashboard.story import Story, tell


@pytest.fixture
def story(enqueued: list[Any]) -> Story:
    """One project with everything on its pages."""
    return tell()


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
