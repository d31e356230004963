"""Refusals as RFC 9457 says: one small document for every status that is an error."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from django.http import HttpResponse
from pydantic import BaseModel, Field

from aiswe_site.terminal.problems import MISSING, WRONG_USE, is_ours
from aiswe_site.verbs.problems import explained
from dashboard.http.refusals import status_of
from projects.errors import ProjectsError, TooManyTries

MEDIA = "application/problem+json"
STATUSES = {
    401: "The token is missing, wrong, revoked or expired.",
    403: "The token's scopes or its owner's roles do not include this.",
    404: "It does not exist, or you do not have access to it.",
    409: "It is in another state: it changed, is over, or somebody answered first.",
    413: "The body is larger than 6 MB.",
    415: "The body is not application/json.",
    422: "What was sent cannot be used; `detail` or `errors` names it.",
    429: "Too many requests; Retry-After says when to come again.",
    503: "Something that the server needs is not there, like its sandbox.",
}


class Misfit(BaseModel):
    """An argument that does not fit."""

    name: str = Field(description="Of the argument; empty for the whole body.")
    why: str


class ProblemDetails(BaseModel):
    """Why a request was refused."""

    type: str = Field(description="urn:aiswe:problem: and a word for the kind of refusal.")
    title: str
    status: int
    detail: str = Field(description="What was wrong, in words for a person, with the way out.")
    errors: list[Misfit] = []


class RequestRefused(Exception):
    """A request that ends with a problem."""

    def __init__(
        self, status: int, detail: str, *, errors: Sequence[tuple[str, str]] = (), headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers
        self.errors, self.kind = errors, ""


def refused_by(error: Exception) -> RequestRefused:
    """Any error as a refusal. What nobody foresaw is a 500, whose details are in the log folder alone."""
    if isinstance(error, RequestRefused):
        return error
    status, (problem, detail) = 500, explained(error)
    if isinstance(error, ProjectsError):
        status = status_of(error)
    elif is_ours(error) or problem.exit_code == MISSING:
        status = {MISSING: 503, WRONG_USE: 422}.get(problem.exit_code, 409)
    wait = {"Retry-After": str(error.seconds)} if isinstance(error, TooManyTries) else None
    found = RequestRefused(status, detail, headers=wait)
    found.kind = type(error).__name__ if isinstance(error, ProjectsError) else ""
    return found


def answer_of(refusal: RequestRefused) -> HttpResponse:
    """The answer to a refused request."""
    title = HTTPStatus(refusal.status).phrase
    kind = "".join(f"-{c.lower()}" if c.isupper() else c for c in (refusal.kind or title.title().replace(" ", "")))
    problem = ProblemDetails(
        type=f"urn:aiswe:problem:{kind.strip('-')}",
        title=title,
        status=refusal.status,
        detail=refusal.detail,
        errors=[Misfit(name=name, why=why) for name, why in refusal.errors],
    )
    return HttpResponse(problem.model_dump_json(), MEDIA, refusal.status, headers=refusal.headers)
