"""The error of this room."""

from __future__ import annotations


class RecipeError(Exception):
    """A recipe cannot be used; the text says why, and what to do."""
