"""A person's own account: password, second factor, browsers and API tokens."""

from __future__ import annotations

from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from dashboard.access import address, gatekeeper
from dashboard.forms.projects import FactorForm, FactorOffForm, PasswordForm, TokenForm
from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from projects.errors import BadInput, NotAllowed, ProjectsError, TooManyTries
from projects.services.accounts import api_tokens, second_factor, throttle, users
from projects.services.accounts.second_factor import check

WRONG_CODE = "That code is wrong, or was used before. Wait for the next one."
OFFERED = "offered_secret"  # in the session until a first code of it is accepted
QUIET_ZONE = 4  # modules around a QR code that readers need


def _page(request: AuthenticatedHttpRequest, status: int = 200, **forms: Any) -> HttpResponse:
    """The account page, with the form that was refused, if any, as it was filled in."""
    user = request.user
    context = {
        "password_form": PasswordForm(prefix="pw"),
        "token_form": TokenForm(prefix="tok"),
        "off_form": FactorOffForm(prefix="off"),
        **forms,
        "factor": getattr(user, "second_factor", None),
        "codes_left": second_factor.codes_left(user),
        "browsers": user.browser_sessions.count(),
        "tokens": user.api_tokens.all()[:50],
        "mark": api_tokens.MARK,
    }
    return show(request, "pages/account.html", context, status=status)


def _refused(form: Any, refusal: ProjectsError, request: AuthenticatedHttpRequest, name: str) -> HttpResponse:
    form.add_error(None, str(refusal))
    response = _page(request, 429 if isinstance(refusal, TooManyTries) else 422, **{name: form})
    if isinstance(refusal, TooManyTries):
        response["Retry-After"] = str(refusal.seconds)
    return response


def prove(request: AuthenticatedHttpRequest, password: str, code: str | None = None) -> None:
    """The person is who signed in, not somebody at a browser that was left open.

    Wrong answers count as at the sign-in. Raises NotAllowed and TooManyTries.
    """
    person, place = request.user, address.of(request)
    if not throttle.guarded("password", person.get_username(), place, lambda: person.check_password(password)):
        raise NotAllowed("That is not your current password.")
    if code is not None and not throttle.guarded("code", str(person.pk), place, lambda: check(person, code)):
        raise NotAllowed(WRONG_CODE)


@never_cache
@page("GET")
def overview(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Everything about one's own account."""
    return _page(request)


@never_cache
@page("POST")
def password(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Change the password; other browsers are signed out."""
    form = PasswordForm(request.POST, prefix="pw")
    if not form.is_valid():
        return _page(request, 422, password_form=form)
    try:
        prove(request, form.cleaned_data["old"])
        users.change_password(request.user, old=form.cleaned_data["old"], new=form.cleaned_data["new"])
    except ProjectsError as refusal:
        return _refused(form, refusal, request, "password_form")
    # The row of this session went with the others; this makes it anew, under a new key.
    update_session_auth_hash(request, request.user)
    messages.success(request, "Password changed. Other browsers were signed out; API tokens still work.")
    return redirect("account")


def qr_path(text: str) -> tuple[str, int]:
    """The dark modules of a QR code as one SVG path, and the side of its square."""
    rows = [list(row) for row in segno.make(text, error="m", micro=False).matrix]
    parts = [
        f"M{x + QUIET_ZONE} {y + QUIET_ZONE}h1v1h-1z"
        for y, row in enumerate(rows)
        for x, dark in enumerate(row)
        if dark
    ]
    return "".join(parts), len(rows) + 2 * QUIET_ZONE


@never_cache
@page("GET POST")
def factor(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Set up the second factor: show its secret, check a first code, show the recovery codes once."""
    if second_factor.has_one(request.user):
        return redirect("account")
    secret = request.session.get(OFFERED) or second_factor.new_secret()
    request.session[OFFERED] = secret
    form = FactorForm(request.POST or None)
    status = 200
    if request.method == "POST" and form.is_valid():
        try:
            prove(request, form.cleaned_data["password"])
            codes = second_factor.turn_on(request.user, secret, form.cleaned_data["code"])
        except ProjectsError as refusal:
            form.add_error(None, str(refusal))
            status = 429 if isinstance(refusal, TooManyTries) else 422
        else:
            del request.session[OFFERED]
            # An older session that was stolen ends too.
            users.sign_out_everywhere(request.user, but=request.session.session_key)
            return show(request, "pages/recovery_codes.html", {"codes": codes, "fresh": True})
    path, side = qr_path(second_factor.address_of(secret, request.user))
    context = {
        "form": form,
        "secret": " ".join(secret[i : i + 4] for i in range(0, len(secret), 4)),
        "path": path,
        "side": side,
        "demanded": gatekeeper.lacks_factor(request.user),
    }
    return render(request, "pages/second_factor.html", context, status=422 if form.errors and status == 200 else status)


@never_cache
@page("POST")
def factor_change(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Turn the second factor off, or make new recovery codes; both take the password and a code."""
    form = FactorOffForm(request.POST, prefix="off")
    if not second_factor.has_one(request.user):
        return redirect("account")
    if not form.is_valid():
        return _page(request, 422, off_form=form)
    renew = request.POST.get("do") == "codes"
    try:
        prove(request, form.cleaned_data["password"], form.cleaned_data["code"])
        if renew:
            return show(request, "pages/recovery_codes.html", {"codes": second_factor.renew_codes(request.user)})
    except ProjectsError as refusal:
        return _refused(form, refusal, request, "off_form")
    second_factor.turn_off(request.user)
    messages.success(request, "The second factor is off. Signing in takes the password alone.")
    return redirect("account")


@page("POST")
def sign_out_everywhere(request: AuthenticatedHttpRequest) -> HttpResponse:
    """End every other session, and on request every API token."""
    ended = users.sign_out_everywhere(request.user, but=request.session.session_key)
    words = f"{ended} other session{'' if ended == 1 else 's'} ended."
    if request.POST.get("tokens") == "on":
        words += f" {api_tokens.revoke_all(request.user, by=request.user)} API tokens revoked."
    messages.success(request, words)
    return redirect("account")


@never_cache
@page("POST")
def token_make(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Make an API token and show it, this once."""
    form = TokenForm(request.POST, prefix="tok")
    if not form.is_valid():
        return _page(request, 422, token_form=form)
    data = form.cleaned_data
    try:
        prove(request, data["password"])
        token, text = api_tokens.make_token(request.user, name=data["name"], scopes=data["scopes"], days=data["days"])
    except ProjectsError as refusal:
        return _refused(form, refusal, request, "token_form")
    return show(request, "pages/token.html", {"token": token, "text": text})


@page("POST")
def token_revoke(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """End one of one's own tokens."""
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    if not token.works:
        raise BadInput("That token is already inactive.")
    api_tokens.revoke(token, by=request.user)
    messages.success(request, f"{token.name} is revoked.")
    return redirect("account")
