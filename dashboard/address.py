"""Where a request came from."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest


def of(request: HttpRequest) -> str:
    """The address of whoever asks, for counting wrong tries.

    A forwarded address counts only behind the proxy that AISWE_HTTPS speaks of, and only the last one, which that
    proxy added itself: anything before it is what the client claims.
    """
    if settings.HTTPS:
        claimed = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
        if claimed:
            return claimed[:64]
    return str(request.META.get("REMOTE_ADDR", ""))[:64]
