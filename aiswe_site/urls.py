"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.http import require_safe

from dashboard.views import account, accounts


@login_not_required
@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """For load balancers and health checks: 200 when the database answers, else 503. Says nothing about the data."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return HttpResponse("the database does not answer\n", status=503, content_type="text/plain")
    return HttpResponse("ok\n", content_type="text/plain")


handler500 = "dashboard.views.system.server_error"
urlpatterns = [
    path("alive", alive, name="alive"),
    # Before the back office's own: those would ask for no second factor and count no wrong tries.
    path("admin/login/", accounts.back_office_door, name="back-office-door"),
    path("admin/password_change/", account.overview, name="back-office-password"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("aiswe_site.api.urls")),
    path("", include("dashboard.urls")),
]
