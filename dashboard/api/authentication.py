"""Authentication of the API: a bearer token, its scope, JSON in and JSON out.

Only a token is accepted. A session's cookie is not, so another site's page that makes a browser post here gets
nothing, and no CSRF token is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db.models import Model
from django.http import Http404, HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt

from dashboard import access, address
from dashboard.api import rate
from dashboard.refusals import status_of
from projects.errors import BadInput, ProjectsError, TooManyTries
from projects.models import ApiToken
from projects.services.accounts import api_tokens, throttle
from projects.services.audit.sitelog import note

Answer = dict[str, Any] | JsonResponse
Handler = Callable[..., Answer]
NO_TOKEN = "Send a token: `Authorization: Bearer aiswe_…`. You create one under Account."  # noqa: S105  it is a hint


def problem(status: int, words: str, **headers: str) -> JsonResponse:
    """An error as JSON: what was wrong, in words for a person."""
    return JsonResponse({"error": words, "status": status}, status=status, headers=headers)


def _token(request: HttpRequest) -> ApiToken | JsonResponse:
    """The token that was sent, or the refusal."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not text.strip():
        return problem(401, NO_TOKEN, **{"WWW-Authenticate": "Bearer"})
    try:
        token = find_token(text.strip(), request)
    except TooManyTries as wait:
        return problem(429, str(wait), **{"Retry-After": str(wait.seconds)})
    if token is not None:
        return token
    words = "This token does not work: it is wrong, revoked or expired, or its owner cannot sign in."
    return problem(401, words, **{"WWW-Authenticate": 'Bearer error="invalid_token"'})


def find_token(text: str, request: HttpRequest) -> ApiToken | None:
    """The working token of this text; wrong ones are counted by address. Raises TooManyTries."""
    token = api_tokens.find(text)
    if token is None:
        throttle.begin("token", "", address.of(request))
    return token


def _body(request: HttpRequest) -> dict[str, Any]:
    """The JSON object that was sent; {} for an empty body. Raises BadInput."""
    try:
        raw = request.body
    except RequestDataTooBig as big:
        raise BadInput("The request body is too large; the limit is 6 MB.") from big
    if not raw:
        return {}
    if request.content_type != "application/json":
        raise BadInput("Send JSON: `Content-Type: application/json`.")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as wrong:
        raise BadInput("The request body is not valid JSON.") from wrong
    if not isinstance(found, dict):
        raise BadInput("The request body must be a JSON object.")
    return found


def text(body: dict[str, Any], name: str, *, most: int, default: str | None = None) -> str:
    """A string of the body. Raises BadInput when it is missing, not a string or too long."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise BadInput(f"{name!r} is required and must be a string.")
    try:
        value.encode()
    except UnicodeEncodeError as half:
        raise BadInput(f"{name!r} contains an unpaired surrogate and is not valid text.") from half
    if "\x00" in value:
        raise BadInput(f"{name!r} contains a NUL character and is not valid text.")
    if len(value) > most:
        raise BadInput(f"{name!r} has {len(value):,} characters; {most:,} are read.")
    return value


def _only(body: dict[str, Any], names: list[str]) -> None:
    """Refuse names this endpoint does not know, so that a typing error is not silently ignored. Raises BadInput."""
    unknown = sorted(set(body) - set(names))
    if unknown:
        known = f"It knows: {', '.join(names)}." if names else "This endpoint takes no request body."
        raise BadInput(f"Unknown: {', '.join(name[:40] for name in unknown[:5])}. {known}")


def endpoint(model: type[Model] | None = None, **handlers: tuple[str, Handler]) -> Callable[..., JsonResponse]:
    """A view from handlers by method, each with the scope it takes: endpoint(GET=("read", show), POST=("run", start)).

    A handler gets the request, whose user is the token's owner, and with a `model` the row that the address's `pk`
    names, if the owner may see it. For other methods than GET it also gets the body; the scope is followed by the
    names the body may have: POST=("run text", say).
    """

    def view(request: HttpRequest, **places: Any) -> JsonResponse:
        token = _token(request)
        if isinstance(token, JsonResponse):
            return token
        if wait := rate.too_often(token.pk):
            return problem(429, f"Too many requests; try again in {wait} seconds.", **{"Retry-After": str(wait)})
        if request.method not in handlers:
            words = f"This endpoint accepts {' and '.join(handlers)}."
            return problem(405, words, Allow=", ".join(handlers))
        request.user = token.user
        rights, handler = handlers[request.method]
        scope, *names = rights.split()
        try:
            api_tokens.require_scope(token, scope)
            if request.method != "GET":
                places["body"] = _body(request)
            row = () if model is None else (get_object_or_404(access.visible(model, token.user), pk=places.pop("pk")),)
            _only(places.get("body", {}), names)
            answer = handler(request, *row, **places)
        except Http404:
            response = problem(404, "This does not exist, or you do not have access to it.")
        except ProjectsError as refusal:
            response = problem(status_of(refusal), str(refusal))
        else:
            response = answer if isinstance(answer, JsonResponse) else JsonResponse(answer)
        if request.method != "GET":
            detail = {"token": token.public, "status": response.status_code}
            outcome = "ok" if response.status_code < 400 else "fail"
            note(token.user, "token.used", f"{request.method} {request.path}", detail, outcome=outcome)
        response["Cache-Control"] = "no-store"
        return response

    view.open_to_tokens = True  # type: ignore[attr-defined]  # the gatekeeper leaves these views to the token
    return login_not_required(csrf_exempt(view))
