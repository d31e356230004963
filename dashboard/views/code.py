"""A project's code goes out: downloads, patches, and clones by stock git clients."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt

from dashboard.access import address, rate, visibility
from dashboard.access.authentication import find_token
from dashboard.http.pages import page
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.http.streaming import Pieces, attachment
from projects.errors import BadInput, LimitReached, NotFound, ProjectsError, TooManyTries
from projects.models import Project, Task
from projects.services.accounts import api_tokens
from projects.services.delivery import clones, downloads

BILL = "cdx.json"
FORMS = (("zip", "Zip"), ("tar.gz", "Tar"), ("bundle", "Bundle"), (BILL, "Bill of materials"))


def ways_out(request: HttpRequest, project: Project, at: str = "") -> dict[str, object]:
    """What partials/code_out.html shows: how the code leaves, at the commit `at` or the base branch."""
    return {
        "branches": list(downloads.branches(project)),
        "clone_url": request.build_absolute_uri(f"/p/{project.pk}/repository.git"),
        "forms": FORMS,
        "at": at,
    }


@page("GET", Project)
def archive(request: AuthenticatedHttpRequest, project: Project, form: str) -> HttpResponseBase:
    """A commit of the project, or what it is made of, as a file: ?at=<branch or commit>, the base branch by default."""
    at = request.GET.get("at", "")[:200]
    if form == BILL:
        from projects.services.delivery.bills import bill_file  # on use: writing bills takes a large library

        return attachment(bill_file(project, at))
    return attachment(downloads.download(project, form, at))


@page("GET", Task)
def patch(request: AuthenticatedHttpRequest, task: Task) -> HttpResponseBase:
    """The commit of a merged task, for `git am`."""
    return attachment(downloads.patch_of(task))


def _words(status: int, text: str, **headers: str) -> HttpResponse:
    """An answer for git, which shows plain text to the person."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8", headers=named)


NO_TOKEN = "Sign in with an API token as the password; you create one under Account. Any user name will do."  # noqa: S105


def _secret(request: HttpRequest) -> str:
    """The token that was sent, as the password or as a bearer."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return text.strip()
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _for_git(
    answer: Callable[[HttpRequest, Project], HttpResponseBase], method: str
) -> Callable[..., HttpResponseBase]:
    """A view that takes an API token as git sends it, and answers with words instead of pages."""

    def view(request: HttpRequest, pk: int) -> HttpResponseBase:
        if request.method != method:
            return _words(405, f"This address takes {method}.", Allow=method)
        asks = {"WWW_Authenticate": 'Basic realm="AI SWE", charset="UTF-8"'}
        secret = _secret(request)
        try:
            token = find_token(secret, address.of(request)) if secret else None
        except TooManyTries as wait:
            return _words(429, str(wait), Retry_After=str(wait.seconds))
        if token is None:
            return _words(401, NO_TOKEN, **asks)
        if wait_s := rate.too_often(token.pk):
            return _words(429, f"Too many requests; try again in {wait_s} seconds.", Retry_After=str(wait_s))
        request.user = token.user
        try:
            api_tokens.require_scope(token, "read")
            project = get_object_or_404(visibility.visible(Project, token.user), pk=pk)
            response = answer(request, project)
        except (Http404, NotFound):
            return _words(404, "There is no such repository, or you do not have access to it.")
        except LimitReached as busy:
            return _words(503, str(busy), Retry_After="5")
        except BadInput as wrong:
            return _words(400, str(wrong))
        except ProjectsError as refusal:
            return _words(403, str(refusal))
        response["Cache-Control"] = "no-cache"
        return response

    view.open_to_tokens = True  # type: ignore[attr-defined]  # the gatekeeper leaves these views to the token
    return login_not_required(csrf_exempt(view))


def _sent(reply: clones.BackendReply) -> StreamingHttpResponse:
    pieces = Pieces(iter(reply.read, b""), reply.close)
    kind = reply.headers.get("Content-Type", "text/plain")
    return StreamingHttpResponse(pieces, status=reply.status, content_type=kind)


def _refs(request: HttpRequest, project: Project) -> HttpResponseBase:
    protocol = request.headers.get("Git-Protocol", "")
    return _sent(clones.announce(project, service=request.GET.get("service", ""), protocol=protocol))


def _pack(request: HttpRequest, project: Project) -> HttpResponseBase:
    if request.content_type != f"application/x-{clones.SERVICE}-request":
        return _words(415, "This address takes what a git client sends.")
    try:
        body = request.body
    except RequestDataTooBig:
        raise BadInput("The request body is too large.") from None
    said = {
        "encoding": request.headers.get("Content-Encoding", ""),
        "protocol": request.headers.get("Git-Protocol", ""),
    }
    return _sent(clones.pack(project, body, **said))


refs = _for_git(_refs, "GET")
upload_pack = _for_git(_pack, "POST")
