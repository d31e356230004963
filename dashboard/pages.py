"""Answering with a page, or with the one part of it that htmx will swap."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails


def show(
    request: HttpRequest, template: str, context: dict[str, Any], *, part: str = "", status: int = 200
) -> HttpResponse:
    """The page `template`, or for an htmx request `partials/<part>.html` alone, which the page includes."""
    alone = bool(part and HtmxDetails(request))
    response = TemplateResponse(request, f"partials/{part}.html" if alone else template, context, status=status)
    if part:
        patch_vary_headers(response, ["HX-Request"])  # one address, two bodies
    return response
