"""The trials keep lessons in a store of their own, as the engine's tests do."""

from tests.agents.conftest import store

__all__ = ["store"]
