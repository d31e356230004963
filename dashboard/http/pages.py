"""What views share: who may call them, refusals as pages, and answering with a page or one part of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from dashboard.access import visibility
from dashboard.access.visibility import Row
from dashboard.http.refusals import local_path, status_of
from dashboard.http.requests import AuthenticatedHttpRequest, number
from projects.errors import ProjectsError

View = Callable[..., HttpResponseBase]


def page(methods: str, model: type[Model] | None = None) -> Callable[[View], View]:
    """Make a view answer only `methods` ("GET POST"), and turn its refusals into a page a person can act on.

    With a `model`, the view gets the row that the address's `pk` names in place of the number, and templates get it
    with what it belongs to; a row that the person may not see is a 404.
    """

    def decorate(view: View) -> View:
        @require_http_methods(methods.split())
        @wraps(view)
        def answer(request: AuthenticatedHttpRequest, **places: Any) -> HttpResponseBase:
            try:
                if model is None:
                    return view(request, **places)
                row = get_object_or_404(visibility.visible(model, request.user), pk=places.pop("pk"))
                request.about = visibility.around(row)
                return view(request, row, **places)
            except ProjectsError as refusal:
                status = status_of(refusal)
                context = {"refusal": str(refusal), "back": local_path(request), "status": status}
                return render(request, "pages/refused.html", context, status=status)

        answer.methods = tuple(methods.split())  # type: ignore[attr-defined]  # read by refusals.local_path
        return answer

    return decorate


def version_of(request: HttpRequest, versions: QuerySet[Row]) -> Row | None:
    """The version that ?v= names, else the first of `versions`. Raises Http404 for one that does not exist."""
    if not request.GET.get("v"):
        return versions.first()
    wanted = number(request.GET, "v", digits=9)
    if wanted is None:
        raise Http404("No such version.")
    return get_object_or_404(versions, version=wanted)


def show(
    request: HttpRequest, template: str, context: dict[str, Any], *, part: str = "", status: int = 200
) -> HttpResponse:
    """The page `template`, or for an htmx request `partials/<part>.html` alone, which the page includes."""
    alone = bool(part and HtmxDetails(request))
    response = TemplateResponse(request, f"partials/{part}.html" if alone else template, context, status=status)
    if part:
        patch_vary_headers(response, ["HX-Request"])  # one address, two bodies
    return response
