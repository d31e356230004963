"""The addresses of the pages."""

from __future__ import annotations

from django.urls import path

from core import views

urlpatterns = [
    path("", views.start, name="start"),
]
