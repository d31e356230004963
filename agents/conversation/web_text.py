"""Foreign text from the web as short plain lines: no markup, no boilerplate, nothing that a terminal would obey."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

MAX_TITLE, MAX_URL, MAX_SNIPPET = 100, 300, 300  # characters
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.S)
_URL = re.compile(rf"https?://[^\s<>\"`\\]{{1,{MAX_URL}}}", re.I)
_FRAGMENTS = re.compile(r"(?<=[.!?…])\s+|\s*\n\s*|\s+[·|•»›]\s+")
_BOILERPLATE = re.compile(
    r"(?:skip to (?:main )?content|accept (?:all )?cookies|(?:we|this (?:web)?site) uses? cookies|all rights reserved|"
    r"cookie (?:policy|settings)|(?:please )?enable javascript|sign in to |sign up for |subscribe to our ).{0,80}",
    re.I,
)


def is_address(url: str) -> bool:
    """Whether it is an address of the web in plain letters, with nothing to sign in with."""
    try:
        parts = urlsplit(url)
        usable = parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False
    return bool(usable and url.isprintable() and _URL.fullmatch(url))


def one_line(text: object, *, markup: bool = True) -> str:
    """Foreign text as one line without tags, escape sequences, control and invisible characters."""
    if not isinstance(text, str):
        return ""
    words = _ESCAPES.sub("", _without_tags(text) if markup else text)
    return " ".join("".join(char if char.isprintable() else " " for char in words).split())


def as_snippet(text: object) -> str:
    """Foreign text as one short line without what every page says."""
    fragments = _FRAGMENTS.split(_without_tags(text)) if isinstance(text, str) else []
    lines = [one_line(part, markup=False) for part in fragments]
    return shortened(" ".join(part for part in lines if part and not _BOILERPLATE.fullmatch(part)), MAX_SNIPPET)


def shortened(text: str, limit: int) -> str:
    """At most so many characters of a line and a mark for what is left out, cut between words where there are any."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    return (head.rpartition(" ")[0] if " " in head[limit // 2 :] else head).rstrip(" ,;:") + "…"


def _without_tags(text: str) -> str:
    import nh3

    whole = html.unescape(text).encode("utf-8", "replace").decode()  # half of a surrogate pair is legal in JSON
    return html.unescape(nh3.clean(whole, tags=set()))
