"""Markup that pages share: breadcrumbs, facts, tables, the button of a form."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.templatetags.look import May, may
from dashboard.text import safe
from projects.models import Project, Run, Task

register = template.Library()


@register.simple_tag
def crumbs(*places: Any) -> SafeString:
    """The way to a page: links to a project, run or task, and to the main page that a text names; None is left out.

    A text at the end is the page itself.
    """
    found = SafeString()
    for number, place in enumerate(places, 1):
        if isinstance(place, Project):
            found += _link("Projects", "projects") + _link(place.name, "project", place.pk)
        elif isinstance(place, Run):
            found += _link(f"Run {place.pk}", "run", place.pk)
        elif isinstance(place, Task):
            found += _link(place.key, "task", place.pk)
        elif place and number < len(places):
            found += _link(place, place.lower())
        elif place:
            found += format_html('<li aria-current="page">{}</li>', place)
    return found


def _link(words: str, view: str, *key: int) -> SafeString:
    return format_html('<li><a href="{}">{}</a></li>', reverse(view, args=key), safe.one_line(words, 60))


@register.simple_block_tag
def fact(content: SafeString, name: str, css: str = "") -> SafeString:
    """An entry of a `<dl>`: its name, and what stands between the tags."""
    return format_html("<div><dt>{}</dt><dd{}>{}</dd></div>", name, _class(css), content)


@register.simple_block_tag
def table(content: SafeString, label: str, *columns: str, css: str = "") -> SafeString:
    """Rows with the heads of their columns, in a box of its own that scrolls; a column of numbers begins with "#"."""
    heads = ((_class("num" if name.startswith("#") else ""), name.removeprefix("#")) for name in columns)
    return format_html(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}">'
        "<table{}><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        label,
        _class(css),
        format_html_join("", '<th scope="col"{}>{}</th>', heads),
        content,
    )


def _class(css: str) -> SafeString:
    return format_html(' class="{}"', css) if css else SafeString()


@register.simple_tag
def submit(right: May, label: str, css: str = "") -> SafeString:
    """The button of a form; for somebody who may not use it, disabled and with the roles that may."""
    if right.ok:
        return format_html('<div class="row"><button class="button {}">{}</button></div>', css, label)
    return format_html(
        '<div class="row"><button class="button {}" disabled>{}</button><span class="who">{} can</span></div>',
        css,
        label,
        right.who,
    )


@register.inclusion_tag("partials/post.html", takes_context=True)
def post(context: dict[str, Any], label: str, view: str, *key: object, verb: str = "", css: str = "") -> dict[str, Any]:
    """A button that posts to a page; with `verb`, for those who may do that in the project of this page."""
    right = may(context, context["project"], verb) if verb else May(True, "")
    address = reverse(view, args=key)
    return {"address": address, "label": label, "css": css, "right": right, "csrf_token": context.get("csrf_token")}
