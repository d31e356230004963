"""Agents write Markdown; a page shows a small, harmless part of it as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from dashboard.text.safe import plain

# No images: fetching one would tell its server that the text was read, and what was in the address.
TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td", "span"),
}
ATTRIBUTES = {"a": {"href"}, "span": {"class"}}


def _close_link(self: object, tokens: Sequence[Token], index: int, options: object, env: dict[str, Any]) -> str:
    """Say where a link leads: its words are the agent's, its host is a fact."""
    host = env.setdefault("hosts", []).pop() if env.get("hosts") else ""
    return f"</a> <span>({host})</span>" if host else "</a>"


def _open_link(self: object, tokens: Sequence[Token], index: int, options: object, env: dict[str, Any]) -> str:
    href = str(tokens[index].attrs.get("href", ""))
    try:
        parts = urlsplit(href)
        host = (parts.hostname or "") if parts.scheme in ("http", "https") else ""
    except ValueError:
        host = ""
    env.setdefault("hosts", []).append(escape(host))
    # An address without a host of its own would be one of this site's pages, under words that a stranger chose.
    return f'<a href="{escape(href)}">' if host else "<a>"


def _made(*, breaks: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": breaks}).enable("table").disable("image")
    parser.add_render_rule("link_open", _open_link)
    parser.add_render_rule("link_close", _close_link)
    return parser


_flowing, _by_line = _made(breaks=False), _made(breaks=True)

_inline = MarkdownIt("zero", {"html": False, "breaks": True}).enable(["emphasis", "backticks", "newline", "escape"])


@lru_cache(maxsize=1024)
def render_inline(text: str) -> SafeString:
    """A few lines with emphasis and code alone, as allow-listed HTML: no blocks, no links, a line stays a line."""
    html = nh3.clean(_inline.renderInline(plain(text)), tags={"br", "strong", "em", "code"}, attributes={})
    # As a reference: a row's spaces between tags are taken out.
    return mark_safe(html.replace("> <", ">&#32;<"))  # noqa: S308  the allow-list above made it


@lru_cache(maxsize=512)
def render(text: str, limit: int = 20_000, *, breaks: bool = False) -> SafeString:
    """Markdown as allow-listed HTML: no images, no raw HTML, links only to http(s), with their host beside them.

    With `breaks` a line stays a line: small models write lists of "Cause: …" without an empty line between them.
    """
    parser = _by_line if breaks else _flowing
    html = nh3.clean(
        parser.render(plain(text, limit)),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(html)  # noqa: S308  the allow-list above made it
