"""The web search that this installation is set to."""

from __future__ import annotations

from django.conf import settings

from agents.conversation.web_search import WebSearch, make_search


def web_search() -> WebSearch:
    """A new search with nothing spent yet; it says in each answer when it is off, or what its settings lack."""
    return make_search(settings.SEARCH, settings.SEARCH_KEY, settings.SEARCH_ENGINE, settings.SEARCH_URL)
