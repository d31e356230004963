"""What the middleware adds to a request, as a type."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class AuthenticatedHttpRequest(HttpRequest):
    """A request of a view that requires a sign-in, or of an API handler: its user is never anonymous."""

    user: User
    htmx: HtmxDetails
