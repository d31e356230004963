"""Source text as lines of HTML with syntax colours: classes alone, no style, no script."""

from __future__ import annotations

import time
from functools import partial
from html import escape

from django.utils.safestring import SafeString, mark_safe
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Generic, Keyword, Name, Number, String, _TokenType
from pygments.util import ClassNotFound

from dashboard.text.safe import plain

MOST = 200_000  # characters that are coloured
SECONDS = 2.0  # after which the rest stays uncoloured
MOST_OF_LINE = 2_000
# The first kind that a token belongs to gives it its class; other tokens have none.
CLASSES = (
    (Comment, "tc"),
    (String, "ts"),
    (Number, "tn"),
    (Keyword, "tk"),
    (Name.Function, "tf"),
    (Name.Class, "tf"),
    (Name.Tag, "tk"),
    (Name.Decorator, "td"),
    (Name.Builtin, "tb"),
    (Generic.Error, "te"),
    (Name.Exception, "te"),
)
TRACE = "a trace"  # in place of the name of a file
_TRACEBACK = "Traceback (most recent call last)"


def _class_of(kind: _TokenType) -> str:
    return next((name for parent, name in CLASSES if parent in kind.split()), "")


def _visible(text: str) -> str:
    """The same text in the same lines, nothing in it hidden or obeyed by a terminal."""
    kept = text.replace("\r\n", "\n").replace("\r", "\u240d").replace("\x1b", "\u241b")
    return plain(kept, len(kept))


def lines(name: str, text: str) -> list[SafeString]:
    """The lines of a file called `name`, as HTML."""
    shown = _visible(text)
    rows: list[str] = [""]
    used = 0
    for word, cls in _tokens(name, shown):
        for number, part in enumerate(word.split("\n")):
            if number:
                rows.append("")
                used = 0
            room = max(0, MOST_OF_LINE - used)
            if part and room:
                piece = escape(part[:room]) + ("…" if len(part) > room else "")
                rows[-1] += f'<span class="{cls}">{piece}</span>' if cls else piece
            used += len(part)
    if len(rows) > 1 and not rows[-1]:
        rows.pop()  # after the last line's end
    return [mark_safe(row) for row in rows]  # noqa: S308  every part was escaped


def output(text: str, limit: int) -> SafeString:
    """What a program printed: tracebacks with their colours, long lines cut."""
    shown = plain(text, limit)
    return block(TRACE if _TRACEBACK in shown else "output.txt", shown)


def block(name: str, text: str) -> SafeString:
    """All of a file called `name`, for one element that keeps its lines."""
    return mark_safe("\n".join(lines(name, f"{text}\n")))  # noqa: S308  every line was escaped


def _tokens(name: str, text: str) -> list[tuple[str, str]]:
    """Words and their classes; together they are the text."""
    try:
        by_name = partial(get_lexer_by_name, "pytb") if name == TRACE else partial(get_lexer_for_filename, name)
        lexer = by_name(stripnl=False, ensurenl=False) if len(text) <= MOST else None
    except ClassNotFound:
        lexer = None
    if lexer is None:
        return [(text, "")]
    found, size, until = [], 0, time.monotonic() + SECONDS
    for kind, word in lexer.get_tokens(text):
        found.append((word, _class_of(kind)))
        size += len(word)
        if time.monotonic() > until:
            break
    whole = "".join(word for word, _ in found)
    return [*found, (text[size:], "")] if text.startswith(whole) else [(text, "")]
