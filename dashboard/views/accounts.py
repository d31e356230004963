"""Signing in and out, the first administrator, and what a person keeps in cookies."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import get_user_model, login, logout
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dashboard.access import address, gatekeeper
from dashboard.forms.projects import CodeForm, FirstAdminForm
from dashboard.http.context import THEMES
from dashboard.http.refusals import local_path
from dashboard.views.account import WRONG_CODE
from projects.errors import NotAllowed, ProjectsError, TooManyTries
from projects.services.accounts import console_token, second_factor, throttle, users
from projects.services.accounts.browser_sessions import SessionStore
from projects.services.audit.notifications import announce_recheck
from projects.services.audit.sitelog import note

YEAR = 365 * 24 * 3600
BACKEND = "django.contrib.auth.backends.ModelBackend"
PENDING = "awaits_code"  # in the session of somebody whose password was right and whose code is still to come
PENDING_FOR = 10 * 60  # seconds
NOT_PRINTED = (
    "That is not the set-up token. The console of the server shows it since its last start; without a console, "
    "`aiswe config admin NAME` on the server makes the administrator."
)
USED_LINK = (
    "This link was used, or the demo was started again since. The console of the demo shows the link that works."
)


def enter(request: HttpRequest, user: Any) -> None:
    """Begin the session under a new key, so that one planted before is useless."""
    SessionStore.clear_expired()
    login(request, user, backend=BACKEND)
    now = int(time.time())
    request.session[gatekeeper.BEGAN] = request.session[gatekeeper.SEEN] = now
    note(user, "session.started", user.get_username(), {"from": address.of(request)})


def told_to_wait(request: HttpRequest, template: str, form: Any, wait: TooManyTries, **more: Any) -> HttpResponse:
    """The form again, with when to try again."""
    response = render(request, template, {"form": form, "wait": str(wait), **more}, status=429)
    response["Retry-After"] = str(wait.seconds)
    return response


@method_decorator([login_not_required, never_cache], name="dispatch")
class SignIn(LoginView):
    """The sign-in form; on a new server, the way to the set-up."""

    http_method_names = ["get", "post", "head", "options"]  # it would take PUT for a post
    template_name = "pages/sign_in.html"
    redirect_authenticated_user = True

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Show the form, or the set-up when there is nobody to sign in."""
        return redirect("setup") if users.needs_first_admin() else super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Check a name and a password, unless there were too many wrong ones."""
        name, place = request.POST.get("username", "").replace("\x00", ""), address.of(request)
        try:
            throttle.begin("password", name, place)
        except TooManyTries as wait:
            form = self.get_form_class()(request, initial={"username": name[:150]})
            return told_to_wait(request, self.template_name, form, wait, next=self.get_redirect_url())
        form = self.get_form()
        if form.is_valid():
            throttle.succeeded("password", name, place)
            return self.form_valid(form)
        # What was typed as a name may be a password: only names of people are kept.
        known = get_user_model().objects.filter(username=name.strip()).exists()
        note(None, "session.refused", name.strip() if known else "nobody", {"from": place}, outcome="fail")
        return self.form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        """Sign the person in, or ask for their code first."""
        user = form.get_user()
        if not second_factor.has_one(user):
            enter(self.request, user)
            return redirect(self.get_success_url())
        self.request.session.flush()
        self.request.session[PENDING] = {
            "user": user.pk,
            "hash": user.get_session_auth_hash(),
            "at": time.time(),
            "next": self.get_success_url(),
        }
        return redirect("sign-in-code")


def _pending(request: HttpRequest) -> AbstractBaseUser | None:
    """Whose code is awaited in this browser; nobody's once it took too long or the password was changed."""
    waits = request.session.get(PENDING)
    if not waits or not 0 <= time.time() - waits["at"] <= PENDING_FOR:
        return None
    user = get_user_model().objects.filter(pk=waits["user"], is_active=True).first()
    if user is None or not constant_time_compare(waits["hash"], user.get_session_auth_hash()):
        return None
    return user


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """The second step: a code of the authenticator app, or a recovery code."""
    user: Any = _pending(request)
    if user is None:
        return redirect("sign-in")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        place = address.of(request)
        try:
            right = throttle.guarded(
                "code", str(user.pk), place, lambda: second_factor.check(user, form.cleaned_data["code"])
            )
        except TooManyTries as wait:
            return told_to_wait(request, "pages/sign_in_code.html", CodeForm(), wait)
        if right:
            there = request.session[PENDING]["next"]
            request.session.flush()
            enter(request, user)
            return redirect(there)
        note(None, "session.refused", user.get_username(), {"from": place, "step": "code"}, outcome="fail")
        form.add_error("code", WRONG_CODE)
    return render(request, "pages/sign_in_code.html", {"form": form}, status=422 if form.errors else 200)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this session."""
    user: Any = request.user
    note(user, "session.ended", user.get_username())
    logout(request)
    announce_recheck(user.pk)
    return redirect("sign-in")


@login_not_required
@require_GET
def back_office_door(request: HttpRequest) -> HttpResponse:
    """The back office has no sign-in of its own: it would ask for no second factor and count no wrong tries."""
    if request.user.is_authenticated:
        return render(request, "403.html", status=403)
    return redirect(f"{reverse('sign-in')}?{urlencode({'next': request.GET.get('next', '')})}")


@login_not_required
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Make the first administrator; this page exists only while nobody can sign in.

    Whoever is not at the machine itself needs the token that its console shows.
    """
    if not users.needs_first_admin():
        raise Http404("An administrator already exists.")
    needs_token = not address.is_this_machine(request)
    form = FirstAdminForm(request.POST or None, needs_token=needs_token)
    if request.method == "POST" and form.is_valid():
        try:
            given = form.cleaned_data.get("token", "")
            if needs_token and not console_token.is_right(console_token.SETUP, given, address.of(request)):
                note(None, "setup.refused", "", {"from": address.of(request)}, outcome="fail")
                raise NotAllowed(NOT_PRINTED)
            user = users.create_first_admin(form.cleaned_data["username"], form.cleaned_data["password"])
        except TooManyTries as wait:
            return told_to_wait(request, "pages/setup.html", form, wait)
        except ProjectsError as refusal:
            form.add_error(None, str(refusal))
        else:
            console_token.use(console_token.SETUP)
            enter(request, user)
            return redirect("projects")
    return render(request, "pages/setup.html", {"form": form}, status=422 if form.errors else 200)


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def demo_entry(request: HttpRequest) -> HttpResponse:
    """Sign in as the demo's viewer with the link on its console, once; a GET uses nothing, for previews send one."""
    given = request.POST.get("token", "") or request.GET.get("token", "")
    viewer = get_user_model().objects.filter(username=users.DEMO_VIEWER, is_active=True).first()
    if viewer is None:
        raise Http404("This server shows no demo.")
    if request.method == "GET":
        return render(request, "pages/demo_entry.html", {"token": given})
    try:
        right = console_token.is_right(console_token.DEMO, given, address.of(request))
    except TooManyTries as wait:
        return told_to_wait(request, "pages/demo_entry.html", None, wait, token=given)
    if not (right and console_token.use(console_token.DEMO)):
        return render(request, "pages/demo_entry.html", {"refusal": USED_LINK}, status=403)
    enter(request, viewer)
    return redirect("projects")


@login_not_required
@require_POST
def preferences(request: HttpRequest) -> HttpResponse:
    """Keep the theme and the shortcut switch in cookies, so that the server renders them without a flash."""
    response = redirect(local_path(request))
    theme, keys = request.POST.get("theme"), request.POST.get("keys")
    if theme in THEMES:
        response.set_cookie("theme", theme, max_age=YEAR, samesite="Lax", secure=request.is_secure())
    if keys in ("on", "off"):
        response.set_cookie("keys", keys, max_age=YEAR, samesite="Lax", secure=request.is_secure())
    return response
