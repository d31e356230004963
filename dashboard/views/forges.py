"""Where forges send what happened: no session, no form; the signature is the only credential."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from projects.services.forges import receiving


def _words(status: int, text: str, **headers: str) -> HttpResponse:
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8", headers=headers)


@csrf_exempt
@login_not_required
def webhook(request: HttpRequest, key: str) -> HttpResponse:
    """Take a delivery in. An address that was made up gets the answer of one that leads nowhere."""
    if request.method != "POST":
        return _words(405, "This address takes POST.", Allow="POST")
    link = receiving.link_at(key)
    if link is None:
        return _words(404, "There is nothing at this address.")
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        new = receiving.receive(link, headers, _body(request))
    except receiving.NotTaken as refused:
        return _words(refused.status, str(refused))
    return _words(202, "Taken." if new else "This delivery was here before.")


def _body(request: HttpRequest) -> bytes:
    try:
        return request.body
    except RequestDataTooBig:
        raise receiving.NotTaken("That is too much for a delivery.", 413) from None


webhook.open_to_tokens = True  # type: ignore[attr-defined]  # whoever calls it has no session
