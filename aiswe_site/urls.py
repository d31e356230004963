"""Every address of the site."""

from django.contrib import admin
from django.urls import include, path

from aiswe_site.alive import alive

urlpatterns = [
    path("alive", alive, name="alive"),
    path("admin/", admin.site.urls),
    path("", include("dashboard.urls")),
]
