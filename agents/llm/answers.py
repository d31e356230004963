"""Reading what model servers answer: status codes, Retry-After, and the text of an error."""

from __future__ import annotations

import json
import re
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

REPLY_HEADER = "X-Scripted-Reply"  # of a request: the reply that a recording is asked for
RECORDED_HEADER = "X-Recorded"  # sent by a recording, so that nobody takes it for a model
BUSY = {429: "is busy", 502: "is not reachable behind its gateway", 503: "is overloaded", 504: "is not answering"}
TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|input (?:length|token count|is too long)|too many tokens|"
    r"exceeds? the (?:available|maximum)[^.]{0,40}(?:context|tokens)|prompt is too long",
    re.I,
)
_MAX_RETRY_AFTER = 3600.0
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_TEXT_KEYS = ("error", "message", "detail", "msg", "error_description")


def clean(text: object, limit: int = 300) -> str:
    """A server's text as one printable line."""
    return _UNPRINTABLE.sub(" ", str(text))[:limit].strip()


def retry_after_seconds(value: str | None) -> float | None:
    """Read a Retry-After header: seconds or a date, at most an hour; None when absent or unreadable."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(seconds, 0.0), _MAX_RETRY_AFTER) if seconds == seconds else None


def count(value: Any) -> int | None:
    """A number of tokens in a server's answer; None when it is not one."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def json_or_none(text: str) -> Any:
    """The JSON in a text; None when it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def error_text(body: Any) -> str:
    """The text of an error in any of the common shapes; empty when there is none."""
    for _ in range(5):
        if isinstance(body, list):
            body = body[0] if body else None
        if isinstance(body, str):
            # Some servers pass on another server's error, as JSON inside their own.
            inner = json_or_none(body) if body.lstrip().startswith("{") else None
            if not isinstance(inner, dict):
                return body
            body = inner
        if not isinstance(body, dict):
            return ""
        body = next((body[key] for key in _TEXT_KEYS if body.get(key)), "")
    return body if isinstance(body, str) else ""
