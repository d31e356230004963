"""What a person is told of and how, and the news for the pages they have open."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache

from dashboard.http.pages import page, show
from dashboard.http.refusals import status_of
from dashboard.http.requests import AuthenticatedHttpRequest, number
from projects.errors import ProjectsError
from projects.models import Notice, NoticeChannel, NoticeKind
from projects.services.decisions import approvals
from projects.services.notices import outbox, preferences
from projects.values.time_windows import zones

NEWS = (NoticeChannel.PAGE, NoticeChannel.BROWSER)


def clock_field(label: str) -> forms.TimeField:
    """An optional time of day."""
    return forms.TimeField(label=label, required=False, widget=forms.TimeInput({"type": "time"}, format="%H:%M"))


class NoticeForm(forms.Form):
    """Quiet hours and the webhook; the table of channels is read apart."""

    quiet_from = clock_field("Quiet from")
    quiet_until = clock_field("Quiet until")
    time_zone = forms.ChoiceField(label="Time zone", choices=lambda: [(name, name) for name in zones()])
    webhook_url = forms.CharField(
        label="Webhook address",
        required=False,
        max_length=500,
        widget=forms.URLInput({"autocomplete": "off", "spellcheck": "false"}),
        help_text="Messages are posted there, signed as standardwebhooks.com says. A new address gets a new secret.",
    )


def _page(request: AuthenticatedHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    user = request.user
    chosen = outbox.preferences_of(user)
    fields = ("quiet_from", "quiet_until", "time_zone", "webhook_url")
    unset = {
        NoticeChannel.EMAIL: ""
        if settings.EMAIL_HOST and user.email
        else "no mail server, or no address in your account",
        NoticeChannel.WEBHOOK: "" if chosen.webhook_url else "no address yet",
    }
    context = {
        "form": NoticeForm(initial={name: getattr(chosen, name) for name in fields}),
        "channels": [(value, label, unset.get(NoticeChannel(value), "")) for value, label in NoticeChannel.choices],
        "kinds": [(kind.value, kind.label, chosen.channels.get(kind, [])) for kind in NoticeKind],
        "sent": user.notices.filter(channel__in=outbox.DELIVERED).exclude(status=Notice.Status.MERGED)[:10],
        "may_webhook": preferences.may_name_webhooks(user),
        "has_decided": preferences.has_decided(user),
        "chosen": chosen,
        **more,
    }
    return show(request, "pages/notices.html", context, status=status)


@never_cache
@page("GET POST")
def overview(request: AuthenticatedHttpRequest) -> HttpResponse:
    """See and change one's own choice."""
    if request.method == "GET":
        return _page(request)
    form = NoticeForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, form=form)
    data = form.cleaned_data
    try:
        secret = preferences.save(
            request.user,
            channels={kind: request.POST.getlist(kind) for kind in NoticeKind.values},
            time_zone=data["time_zone"],
            quiet=(data["quiet_from"], data["quiet_until"]),
            webhook_url=data["webhook_url"].strip(),
            origin=f"{request.scheme}://{request.get_host()}",
        )
    except ProjectsError as refusal:
        form.add_error(None, str(refusal))
        return _page(request, status_of(refusal), form=form)
    if secret:
        return _page(request, secret=secret)  # shown this once
    messages.success(request, "Saved.")
    return redirect("notices")


@page("POST")
def test(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Send a test by every way that is chosen."""
    ways = preferences.send_test(request.user, timezone.now())
    messages.success(request, f"A test goes out by: {', '.join(ways)}." if ways else "No way is chosen yet.")
    return redirect("notices")


@never_cache
@page("GET")
def news(request: AuthenticatedHttpRequest) -> JsonResponse:
    """For open pages: how many questions wait, and what was told since message `after`."""
    rows = request.user.notices.filter(channel__in=NEWS, status=Notice.Status.SENT)
    last, after = rows.values_list("pk", flat=True).first() or 0, number(request.GET, "after")
    new = rows.filter(pk__gt=last if after is None else after).order_by("pk")[:20]
    told = [
        {"id": row.pk, "channel": row.channel, "title": outbox.subject(row), "link": row.items[0]["link"]}
        for row in new
    ]
    waiting = approvals.pending_for(request.user).count()
    return JsonResponse({"waiting": waiting, "last": max([last, *(row["id"] for row in told)]), "news": told})
