"""Every address of the site."""

from django.contrib import admin
from django.urls import include, path

from aiswe_site.alive import alive
from dashboard.views import account, accounts

urlpatterns = [
    path("alive", alive, name="alive"),
    # Before the back office's own: those would ask for no second factor and count no wrong tries.
    path("admin/login/", accounts.back_office_door, name="back-office-door"),
    path("admin/password_change/", account.overview, name="back-office-password"),
    path("admin/", admin.site.urls),
    path("", include("dashboard.urls")),
]
