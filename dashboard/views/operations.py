"""Where a project runs, how it fares there, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from dashboard.access import visibility
from dashboard.http.pages import page, show
from dashboard.http.refusals import status_of
from dashboard.http.requests import AuthenticatedHttpRequest
from projects.errors import BadInput, ProjectsError
from projects.models import Deployment, Incident, Project, Target
from projects.services.delivery.changes import Changed, changes_between
from projects.services.operations import incidents, releases, targets, traffic
from projects.services.operations.traffic import Metrics

MINUTES_SHOWN = 15
HISTORY, INCIDENTS = 20, 100


class TargetForm(forms.Form):
    """A place to deploy to."""

    name = forms.SlugField(max_length=30, help_text="Part of its address: staging")
    kind = forms.ChoiceField(choices=Target.Kind.choices)
    production = forms.BooleanField(
        required=False, help_text="Each deployment takes a person's yes. Only administrators can name one."
    )


class OptionsForm(forms.Form):
    """How a project is started and watched on a target."""

    command = forms.CharField(
        required=False, max_length=500, label="Start command", help_text="Found in its files by default. $PORT is 8000."
    )
    health = forms.CharField(
        required=False, max_length=300, label="Health path", help_text="Must succeed; by default / must not fail."
    )
    environment = forms.CharField(
        required=False,
        max_length=20_000,
        label="Variables",
        help_text="NAME=value, one a line.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    image = forms.CharField(
        required=False, max_length=300, help_text="{commit} stands for the commit: registry.example/shop:{commit}"
    )
    namespace = forms.CharField(required=False, max_length=63, help_text="Of the Kubernetes cluster.")
    kubeconfig = forms.CharField(required=False, max_length=500, help_text="A file of the server.")
    context = forms.CharField(required=False, max_length=200, help_text="In that file; its current one by default.")
    watched = forms.BooleanField(required=False, help_text="The operations agent answers incidents.")
    follows = forms.BooleanField(required=False, help_text="What a build merges is deployed.")

    def __init__(self, target: Target, data: Any = None) -> None:
        told = target.options
        variables = "\n".join(f"{name}={value}" for name, value in told.get("environment", {}).items())
        first = {**told, "environment": variables, "watched": target.watched, "follows": target.follows}
        super().__init__(data, initial=first, auto_id=f"id_{target.pk}_%s")
        unused = {
            Target.Kind.SANDBOX: ("image", "namespace", "kubeconfig", "context"),
            Target.Kind.COMPOSE: ("namespace", "kubeconfig", "context"),
        }
        for name in unused.get(Target.Kind(target.kind), ()):
            del self.fields[name]

    def clean_environment(self) -> dict[str, str]:
        """As names and values."""
        found = {}
        for row in filter(str.strip, self.cleaned_data["environment"].splitlines()):
            name, equals, value = row.partition("=")
            if not equals:
                raise forms.ValidationError(f"{row[:60]!r} is not NAME=value.")
            found[name.strip()] = value
        return found

    def changes(self) -> dict[str, Any]:
        """What targets.edit_target takes."""
        data = dict(self.cleaned_data)
        return {name: data.pop(name) for name in ("watched", "follows")} | {"options": data}


@dataclass
class TargetView:
    """A target as its card shows it."""

    target: Target
    deployments: list[Deployment]
    address: str
    now: Metrics | None
    bars: list[float | None]
    back: Deployment | None
    waits: Changed
    form: OptionsForm
    open_incidents: list[Incident] = field(default_factory=list)

    @property
    def newest(self) -> Deployment | None:
        """The last one that was asked for."""
        return self.deployments[0] if self.deployments else None

    @property
    def moves(self) -> Deployment | None:
        """What is on its way."""
        newest = self.newest
        return newest if newest and newest.status in ("asked", "queued", "starting") else None

    @property
    def failed(self) -> Deployment | None:
        """The newest one, where it failed."""
        newest = self.newest
        return newest if newest and newest.status == Deployment.Status.FAILED else None


@page("GET", Project)
def overview(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Targets of a project with what runs on each."""
    return _overview(request, project, TargetForm())


def _overview(
    request: AuthenticatedHttpRequest, project: Project, form: TargetForm, status: int = 200, **sent: OptionsForm
) -> HttpResponse:
    head = releases.newest_commit(project)
    rows = project.targets.select_related("live", "wanted", "project").order_by("pk")
    cards = [_card(request, target, head, sent.get(f"target_{target.pk}")) for target in rows]
    context = {
        "cards": cards,
        "form": form,
        "head": head,
        "renews": any(card.moves or card.target.live for card in cards),
        "opened": next((one for card in cards for one in card.open_incidents), None),
        "incidents": Incident.objects.filter(target__project=project).select_related("target")[:10],
    }
    return show(request, "pages/deployments.html", context, part="targets", status=status)


def _card(request: AuthenticatedHttpRequest, target: Target, head: str, form: OptionsForm | None) -> TargetView:
    live = target.live
    return TargetView(
        target=target,
        deployments=list(target.deployments.select_related("by", "returns_to")[:HISTORY]),
        address=address_of(request, target),
        now=traffic.metrics(live) if live else None,
        bars=_bars(live) if live else [],
        back=releases.previous_of(target) if live else None,
        waits=changes_between(target.project, live.commit, head) if live and head else Changed(),
        form=form or OptionsForm(target),
        open_incidents=incidents.open_for(target),
    )


def address_of(request: AuthenticatedHttpRequest, target: Target) -> str:
    """Where people open it; "" where applications are not served."""
    if not target.host_name:
        return ""
    port = request.get_port()
    usual = "443" if request.is_secure() else "80"
    return f"{request.scheme}://{target.host_name}{'' if port == usual else f':{port}'}/"


def _bars(row: Deployment) -> list[float | None]:
    now = timezone.now().replace(second=0, microsecond=0)
    found = {
        each.minute: each.requests for each in row.minutes.filter(minute__gt=now - timedelta(minutes=MINUTES_SHOWN))
    }
    return [float(found.get(now - timedelta(minutes=back), 0)) for back in range(MINUTES_SHOWN - 1, -1, -1)]


@page("POST", Project)
def add(request: AuthenticatedHttpRequest, project: Project) -> HttpResponse:
    """Name a target; `try` makes one in a sandbox and deploys the newest commit to it."""
    if "try" in request.POST:
        target = targets.add_target(project, name="staging", kind=Target.Kind.SANDBOX, by=request.user)
        releases.deploy(target, releases.newest_commit(project), by=request.user, reason="tried on this machine")
        messages.success(request, "It is being started.")
        return redirect("deployments", project.pk)
    form, status = TargetForm(request.POST), 422
    if form.is_valid():
        try:
            targets.add_target(project, by=request.user, **form.cleaned_data)
        except ProjectsError as refusal:
            form.add_error(None, str(refusal))
            status = status_of(refusal)
        else:
            messages.success(request, "The target was added.")
            return redirect("deployments", project.pk)
    return _overview(request, project, form, status)


@page("POST", Target)
def edit(request: AuthenticatedHttpRequest, target: Target) -> HttpResponse:
    """Change how it is started and watched."""
    form, status = OptionsForm(target, request.POST), 422
    if form.is_valid():
        try:
            targets.edit_target(target, by=request.user, **form.changes())
        except ProjectsError as refusal:
            form.add_error(None, str(refusal))
            status = status_of(refusal)
        else:
            messages.success(request, "Kept. It holds from the next deployment on.")
            return redirect("deployments", target.project_id)
    return _overview(request, target.project, TargetForm(), status, **{f"target_{target.pk}": form})


@page("POST", Target)
def act(request: AuthenticatedHttpRequest, target: Target, verb: str) -> HttpResponse:
    """Deploy the newest commit, roll back, restart, stop, or forget the target."""
    if verb == "deploy":
        releases.deploy(
            target, releases.newest_commit(target.project), by=request.user, reason=f"by {request.user.get_username()}"
        )
    elif verb == "back":
        releases.roll_back(target, by=request.user, reason=f"by {request.user.get_username()}")
    elif verb == "restart":
        releases.restart(target, by=request.user)
    elif verb == "stop":
        releases.stop(target, by=request.user)
    else:
        targets.remove_target(target, by=request.user)
    said = {"deploy": "It is being deployed.", "back": "It goes back.", "restart": "It is being started again."}
    messages.success(request, said.get(verb, "Stopped." if verb == "stop" else "The target is forgotten."))
    return redirect("deployments", target.project_id)


@page("GET", Deployment)
def detail(request: AuthenticatedHttpRequest, row: Deployment) -> HttpResponse:
    """One deployment: its state, its log, its requests."""
    before = row.target.deployments.exclude(live_at=None).filter(number__lt=row.number).first()
    context = {
        "row": row,
        "minutes": list(row.minutes.order_by("-minute")[:MINUTES_SHOWN]),
        "bad": list(row.bad_requests.order_by("-pk")[:20]),
        "log": row.log[-40_000:],
        "before": before,
        "changed": changes_between(row.target.project, before.commit, row.commit) if before else Changed(),
        "renews": row.status in ("queued", "starting", "live"),
    }
    return show(request, "pages/deployment.html", context, part="deployment")


@page("GET")
def all_incidents(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Incidents of all projects that the person sees."""
    rows = visibility.visible(Incident, request.user).select_related("target__project")[:INCIDENTS]
    return show(request, "pages/incidents.html", {"incidents": rows})


@page("GET POST", Incident)
def incident(request: AuthenticatedHttpRequest, row: Incident) -> HttpResponse:
    """What went wrong, what was done about it; POST tries again or closes it."""
    if request.method == "POST":
        if "retry" in request.POST:
            incidents.retry(row, by=request.user)
            messages.success(request, "The operations agent tries again.")
        elif not request.POST.get("reason", "").strip():
            raise BadInput("Give a reason: what ended it?")
        else:
            incidents.close(row, by=request.user, reason=request.POST["reason"][:1000])
            messages.success(request, "The incident is closed.")
        return redirect("incident", row.pk)
    timeline = [{**step, "at": parse_datetime(step["at"])} for step in reversed(row.timeline)]
    context = {"incident": row, "timeline": timeline, "renews": row.status not in Incident.OVER}
    return show(request, "pages/incident.html", context, part="incident")
