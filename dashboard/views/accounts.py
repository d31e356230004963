"""Signing in and out, the first administrator, and what a person keeps in cookies."""

from __future__ import annotations

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.context import THEMES
from dashboard.forms import FirstAdminForm
from dashboard.refusals import local_path
from projects.errors import ProjectsError
from projects.services import accounts

YEAR = 365 * 24 * 3600


@method_decorator(login_not_required, name="dispatch")
class SignIn(LoginView):
    """The sign-in form; on a new server, the way to the set-up."""

    template_name = "pages/sign_in.html"
    redirect_authenticated_user = True

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Show the form, or the set-up when there is nobody to sign in."""
        return redirect("setup") if accounts.needs_first_admin() else super().get(request, *args, **kwargs)


@login_not_required
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Make the first administrator; this page exists only while nobody can sign in."""
    if not accounts.needs_first_admin():
        raise Http404("There is an administrator already.")
    form = FirstAdminForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = accounts.create_first_admin(form.cleaned_data["username"], form.cleaned_data["password"])
        except ProjectsError as refusal:
            form.add_error(None, str(refusal))
        else:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            return redirect("projects")
    return render(request, "pages/setup.html", {"form": form}, status=422 if form.errors else 200)


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
