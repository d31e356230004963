"""Filters and tags of every page: safe text, states, icons, times, rights."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any, NamedTuple

from django import template
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard.drawing import states
from dashboard.live import stream
from dashboard.presenters import places, prompt_breakdown, queue
from dashboard.text import highlight, safe
from dashboard.text import markdown as md
from projects.models.project import Role
from projects.services.accounts import rights
from projects.services.audit.vocabulary import is_known, look_of
from projects.values.wording import span

register = template.Library()
# A chat that nobody holds is at rest, not held up.
CHAT_LOOKS = {"queued": "your_turn", "paused": "your_turn", "finished": "ended", "cancelled": "ended"}

register.filter("plain", safe.plain)
register.filter("line", safe.one_line)
register.filter("listed", safe.listed)
register.filter("part", prompt_breakdown.words_of)
register.filter("share", prompt_breakdown.share_of)
register.filter("look", states.look_of_state)
register.filter("sentence", places.sentence)
register.filter("decision_address", queue.address_of)
register.filter("span", span)


@register.filter
def markdown(value: object) -> SafeString:
    """Untrusted Markdown."""
    return md.render(str(value or ""))


@register.filter
def with_code(value: object) -> SafeString:
    """A sentence whose words in backticks are shown as code."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(safe.plain(str(value or ""), 2_000)))
    return mark_safe(marked)  # noqa: S308  escaped


@register.filter
def spoken(value: object) -> SafeString:
    """Untrusted Markdown of a reply, line by line."""
    return md.render(str(value or ""), breaks=True)


@register.filter
def printed(value: object, limit: int = 20_000) -> SafeString:
    """What a program printed, or another text to be read as it is."""
    return highlight.output(str(value or ""), limit)


@register.filter
def source(value: object, name: object) -> SafeString:
    """The text of a file called `name`, with syntax colours."""
    return highlight.block(str(name), safe.plain(value, 40_000))


@register.filter
def as_json(value: object) -> str:
    """A payload as indented JSON text."""
    return safe.plain(json.dumps(value, indent=2, ensure_ascii=False, default=str))


@register.simple_tag
def icon(name: str, cls: str = "") -> SafeString:
    """A symbol of the sprite; a screen reader skips it, so a word goes with it."""
    return format_html('<svg class="i {}" aria-hidden="true"><use href="#i-{}"/></svg>', cls, name)


@register.simple_tag
def chip(state: str, word: str = "") -> SafeString:
    """A state as shape, word and tint."""
    look = states.look_of_state(str(state))
    return format_html(
        '<span class="chip tone-{}">{}<span>{}</span></span>', look.tone, icon(look.icon), word or look.word
    )


@register.simple_tag
def run_chip(run: Any) -> SafeString:
    """A run's state. A finished build with tasks left out says so, and never looks like a success."""
    if hasattr(run, "done") and hasattr(run, "all"):  # counted by the list's own query; one a row would be slow
        left = run.all - run.done if run.kind == "build" and run.status == "finished" else 0
    else:
        left = run.left_out
    if run.kind == "chat":
        return chip(CHAT_LOOKS.get(run.status, run.status))
    return chip("left_out", f"finished, {left} left out") if left else chip(run.status)


@register.simple_tag
def severity(name: str) -> SafeString:
    """A finding's severity: its first letter in a tinted box, then the word."""
    word = safe.one_line(name, 10)
    return format_html('<span class="sev {}"><b>{}</b>{}</span>', word.upper(), word[:1], word)


@register.simple_tag
def event_rows(rows: list[Any] | None, seq: int | None = None, fold: bool = True) -> SafeString:
    """Rows of the stream as the socket sends them; without rows nothing at all, so that `:empty` matches."""
    return SafeString(stream.render_rows(rows, seq, fold=fold)) if rows else SafeString()


@register.simple_tag(takes_context=True)
def current(context: dict[str, Any], entry: str) -> SafeString:
    """The attribute that marks a navigation entry: "page" on its own page, "true" on a page below it."""
    if context.get("section") == entry:
        return SafeString(' aria-current="page"')
    return SafeString(' aria-current="true"' if context.get("nav") == entry else "")


@register.filter
def found_by(way: str) -> str:
    """How a lesson was found, in plain words."""
    return states.FOUND_BY.get(str(way)) or safe.one_line(way, 20)


@register.filter
def prefixed(value: object, prefix: str) -> str:
    """The value after a prefix; nothing for an empty value."""
    return f"{prefix}{value}" if value else ""


@register.filter
def counts(numbers: Any, names: str) -> str:
    """Named counts in one line: the first always, the others unless they are zero."""
    first, *others = names.split()
    shown = [first, *(name for name in others if numbers.get(name))]
    return ", ".join(f"{safe.one_line(numbers.get(name) or 0, 9)} {name}" for name in shown)


@register.filter
def test_counts(result: Any) -> str:
    """A test run's numbers: 3 passed, 1 failed; errors and skipped tests only when there are some."""
    if not isinstance(result, dict):
        return "no result"
    return ", ".join(
        f"{safe.one_line(result.get(name) or 0, 9)} {name}"
        for name in ("passed", "failed", "errors", "skipped")
        if result.get(name) or name in ("passed", "failed")
    )


@register.filter
def event_look(event: Any) -> states.Look:
    """The look of an event: the one of its kind, with the tone of its outcome."""
    look = look_of(event.type)
    return states.Look(look.icon, look.word, look.tone_of(event.outcome))


@register.filter
def inspector_partials(event: Any) -> tuple[str, ...]:
    """What shows an event's payload in words: the partial of its kind if there is one, else a list of its fields."""
    own = (f"partials/events/{event.type}.html",) if is_known(event.type) else ()  # a stored type is no file name
    return (*own, "partials/events/other.html")


@register.filter
def fields(event: Any) -> list[tuple[str, str]]:
    """The payload of an event as names and texts."""
    payload = event.payload if isinstance(event.payload, dict) else {}
    return [
        (name, safe.plain(value, 2_000) if isinstance(value, str) else as_json(value))
        for name, value in payload.items()
    ]


@register.filter
def since(moment: datetime | None) -> str:
    """How long ago, in words."""
    return span((timezone.now() - moment).total_seconds()) if moment else ""


@register.filter
def ms(value: int) -> str:
    """Milliseconds in words."""
    return f"{value} ms" if value < 1000 else span(value / 1000)


@register.simple_tag
def stamp(moment: datetime | None, fmt: str = "date") -> SafeString:
    """A <time> in UTC; the page's script shows it in the reader's zone."""
    if moment is None:
        return SafeString("–")
    words = f"{moment:%H:%M:%S}" if fmt == "time" else f"{moment:%Y-%m-%d %H:%M}"
    return format_html('<time datetime="{}" title="{} UTC">{}</time>', moment.isoformat(), f"{moment:%F %T}", words)


class May(NamedTuple):
    """One verb for one person: allowed or not, and the roles that are."""

    ok: bool
    who: str


@register.simple_tag(takes_context=True)
def may(context: dict[str, Any], project: Any, verb: str) -> May:
    """Whether the person asking may do `verb` in the project, and which roles may: "Architect or Developer"."""
    labels = [str(Role(role).label) for role in rights.roles_that_may(verb)]
    who = " or ".join([", ".join(labels[:-1]), labels[-1]] if len(labels) > 1 else labels) or "an administrator"
    return May(rights.can(context["request"].user, project, verb), who)


@register.filter
def get(mapping: Any, key: Any) -> Any:
    """A mapping's value under a variable key."""
    return mapping.get(key) if mapping else None


@register.filter
def percent(part: float, whole: float) -> int:
    """Part of a whole in whole percent; 0 of 0 is 0."""
    return round(100 * part / whole) if whole else 0


@register.filter
def short(digest: str) -> str:
    """The first characters of a hash."""
    return str(digest)[:12]
