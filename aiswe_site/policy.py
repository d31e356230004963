"""The content security policy, with the one exception it needs."""

from __future__ import annotations

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse


class PolicyMiddleware(CSPMiddleware):
    """Pages of ours may only make markup through named policies; the back office's jQuery knows no Trusted Types."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """The policy of one response."""
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith(reverse("admin:index")):
            without = {"require-trusted-types-for": None, "trusted-types": None}
            parts.replace = {**(parts.replace or {}), **without}
        return parts
