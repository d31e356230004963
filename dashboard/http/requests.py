"""Requests as views read them: what the middleware adds, as a type, and the values of a query string."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class AuthenticatedHttpRequest(HttpRequest):
    """A request of a view that requires a sign-in, or of an API handler: its user is never anonymous."""

    user: User
    htmx: HtmxDetails
    about: dict[str, Model]  # what the page is about, by the names of templates


def number(query: Mapping[str, str], name: str, digits: int = 18) -> int | None:
    """A value as a whole number; None when it is missing, something else or longer than `digits`."""
    text = query.get(name, "")
    return int(text) if text.isdecimal() and len(text) <= digits else None


def words(query: Mapping[str, str], name: str) -> str:
    """A value to search for: at most 200 characters, as every database takes them."""
    return query.get(name, "").replace("\x00", "")[:200].strip()
