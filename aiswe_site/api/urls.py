"""Addresses of the API, from the table of verbs; each is named by the first verb that it has."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path

from aiswe_site.api.http import nothing, view_of
from aiswe_site.api.openapi import document
from aiswe_site.verbs.table import VERBS, Verb


def _patterns() -> list[URLPattern]:
    by_path: dict[str, list[Verb]] = {}
    for verb in VERBS:
        by_path.setdefault(verb.path, []).append(verb)
    return [
        path(place.replace("{", "<").replace("}", ">").lstrip("/"), view_of(verbs), name=f"api-{verbs[0].name}")
        for place, verbs in by_path.items()
    ]


urlpatterns = [
    path("openapi.json", document, name="api-openapi"),
    *_patterns(),
    re_path(r"", nothing, name="api-nothing"),
]
