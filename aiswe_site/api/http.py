"""A request to the API: its token, its arguments, one verb, and an answer or a problem.

Only a token is accepted. A session's cookie is not, so another site's page that makes a browser post here gets
nothing, and no CSRF token is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from pydantic import BaseModel, ValidationError

from aiswe_site.api.problems import RequestRefused, answer_of, refused_by
from aiswe_site.verbs.callers import Caller
from aiswe_site.verbs.insight import Streamed
from aiswe_site.verbs.problems import is_text, misfit_list, misfits
from aiswe_site.verbs.table import Verb
from dashboard.access import address, rate
from dashboard.access.authentication import NO_TOKEN, WRONG_TOKEN, find_token
from dashboard.http.streaming import as_file
from projects.models import ApiToken
from projects.services.accounts import idempotency
from projects.services.audit.sitelog import note

JSON = "application/json"
KEY, LAST_EVENT = "Idempotency-Key", "Last-Event-ID"
View = Callable[..., HttpResponseBase]


def view_of(verbs: Iterable[Verb]) -> View:
    """The view of one address: its verbs by method."""
    by_method = {verb.method: verb for verb in verbs}

    def view(request: HttpRequest, **places: str) -> HttpResponseBase:
        try:
            token = _token(request)
            verb = by_method.get(request.method or "")
            if verb is None:
                words = f"This address accepts {' and '.join(by_method)}."
                raise RequestRefused(405, words, headers={"Allow": ", ".join(by_method)})
            response = _answered(request, token, verb, places)
        except Exception as error:  # noqa: BLE001  the last door: whatever it is becomes a problem
            response = answer_of(refused_by(error))
        response["Cache-Control"] = "no-store"
        return response

    view.open_to_tokens = True  # type: ignore[attr-defined]  # the gatekeeper leaves these views to the token
    return login_not_required(csrf_exempt(view))


@login_not_required
@csrf_exempt
def nothing(request: HttpRequest) -> HttpResponse:
    """The answer at addresses that do not exist."""
    return answer_of(RequestRefused(404, "There is no such address; /api/v1/openapi.json lists them."))


def _token(request: HttpRequest) -> ApiToken:
    """The token that was sent. Raises RequestRefused and TooManyTries."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not text.strip():
        raise RequestRefused(401, NO_TOKEN, headers={"WWW-Authenticate": "Bearer"})
    token = find_token(text.strip(), address.of(request))
    if token is None:
        raise RequestRefused(401, WRONG_TOKEN, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
    if wait := rate.too_often(token.pk):
        raise RequestRefused(
            429, f"Too many requests; try again in {wait} seconds.", headers={"Retry-After": str(wait)}
        )
    return token


def _answered(request: HttpRequest, token: ApiToken, verb: Verb, places: dict[str, str]) -> HttpResponseBase:
    """Do what the verb says. What it changes goes on the trail, done or refused."""
    if verb.method == "GET":
        return _done(request, token, verb, places)
    status = 500
    try:
        response = _done(request, token, verb, places)
        status = response.status_code
    except Exception as error:
        refusal = refused_by(error)
        status = refusal.status
        raise refusal from error
    finally:
        detail = {"token": token.public, "status": status}
        outcome = "ok" if status < 400 else "fail"
        note(token.user, "token.used", f"{request.method} {request.path}", detail, outcome=outcome)
    return response


def _done(request: HttpRequest, token: ApiToken, verb: Verb, places: dict[str, str]) -> HttpResponseBase:
    caller = Caller(token.user, token)
    caller.require(verb.scope, verb.command)
    try:
        where = _checked(verb.places, places)
    except (ValidationError, RequestRefused):
        raise RequestRefused(404, "This does not exist, or you do not have access to it.") from None
    try:
        given = _query(request, verb) if verb.method == "GET" else _body(request, verb)
    except ValidationError as wrong:
        raise RequestRefused(422, misfits(wrong), errors=misfit_list(wrong)) from None
    arguments = {name: getattr(model, name) for model in (where, given) for name in type(model).model_fields}
    if not all(map(is_text, arguments.values())):
        raise RequestRefused(422, "The request contains a character that is not valid text. Leave it out.")
    key = request.headers.get(KEY) if verb.method == "POST" else None
    if key is None:
        return _response(verb, verb.function(caller, **arguments))
    seal = hashlib.sha256(f"{request.path}\n{given.model_dump_json()}".encode()).hexdigest()
    kept, is_new = idempotency.begin(token, key, seal)
    if not is_new:
        return HttpResponse(kept.body, JSON, kept.status, headers={"Idempotency-Replayed": "true"})
    try:
        response = _response(verb, verb.function(caller, **arguments))
    except Exception as error:
        if (refusal := refused_by(error)).status < 500 or refusal.status == 503:
            kept.delete()  # nothing was done: the same request may be tried again
        raise refusal from error
    idempotency.keep(kept, response.status_code, getattr(response, "content", b"").decode())
    return response


def _checked(model: type[BaseModel], given: dict[str, str]) -> BaseModel:
    """Arguments from an address. Raises ValidationError, and RequestRefused for a number that is not in digits."""
    for name, text in given.items():
        field = model.model_fields.get(name)
        if field is not None and field.annotation is int and not (text.isascii() and text.isdecimal()):
            raise RequestRefused(
                422, f"{name!r} should be a number in digits.", errors=[(name, "not a number in digits")]
            )
    return model.model_validate(given)


def _query(request: HttpRequest, verb: Verb) -> BaseModel:
    try:
        given = {str(name): str(value) for name, value in request.GET.items()}
    except SuspiciousOperation:
        raise RequestRefused(422, "The query has too many names.") from None
    found = _checked(verb.inputs, given)
    last = request.headers.get(LAST_EVENT) if "after" in verb.inputs.model_fields else None
    return found if last is None else _checked(verb.inputs, {**given, "after": last})


def _body(request: HttpRequest, verb: Verb) -> BaseModel:
    try:
        raw = request.body
    except RequestDataTooBig:
        raise RequestRefused(413, "The request body is too large; the limit is 6 MB.") from None
    if raw and request.content_type != JSON:
        raise RequestRefused(415, "Send JSON: `Content-Type: application/json`.")
    return verb.inputs.model_validate_json(raw or b"{}", strict=True)


def _response(verb: Verb, answer: Any) -> HttpResponseBase:
    if isinstance(answer, Streamed):
        headers = as_file(answer.filename) if answer.filename else {"X-Accel-Buffering": "no"}
        return StreamingHttpResponse(answer.pieces, content_type=answer.media, headers=headers)
    return HttpResponse(answer.model_dump_json(), JSON, 201 if "new" in verb.marks.split() else 200)
