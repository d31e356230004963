"""Reports: what the agents did in a week, what it cost, and how well they did it."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from dashboard.access import visibility
from dashboard.http.pages import page, show
from dashboard.http.requests import AuthenticatedHttpRequest
from dashboard.http.streaming import as_file
from projects.models import Project, ReportMail, ReportSchedule, Task
from projects.models.reports import WEEKDAYS
from projects.services.accounts import rights
from projects.services.insight import mailing
from projects.services.insight.attention import waiting_for
from projects.services.insight.cost_rows import CostRow
from projects.services.insight.costs import Bill, by_group
from projects.services.insight.report import WeeklyReport, weekly_report
from projects.services.insight.weeks import Week
from projects.values.time_windows import zones

MOST_ROWS = 200  # of the table of costs


def report_of(request: AuthenticatedHttpRequest) -> tuple[WeeklyReport, Project | None]:
    """The report that the address asks for, of the person's projects; and the project when it is of one alone."""
    now, projects, only = timezone.now(), visibility.visible(Project, request.user), None
    if slug := request.GET.get("project"):
        projects = projects.filter(slug=slug)
        only = projects.first()
        if only is None:
            raise Http404("No such project.")
    week = Week.parse(request.GET["week"]) if request.GET.get("week") else Week.of(now)
    needs = waiting_for(request.user, now, None if only is None else [only.pk])
    recording = True if request.GET.get("recordings") else None
    return weekly_report(projects, week, now=now, needs=needs, recording=recording), only


@page("GET")
def weekly(request: AuthenticatedHttpRequest) -> HttpResponse:
    """One week on one page, fit for print."""
    report, only = report_of(request)
    around = {"before": report.week.shifted(-1), "after": report.week.shifted(1)}
    choices = visibility.visible(Project, request.user).order_by("name")[:200]
    context = {"report": report, "only": only, "choices": choices, "this_week": Week.of(report.as_of), **around}
    return show(request, "pages/report_weekly.html", context)


@page("GET")
def weekly_csv(request: AuthenticatedHttpRequest) -> HttpResponse:
    """The costs of a week as CSV."""
    report, only = report_of(request)
    headers = as_file(f"costs-{report.week}{f'-{only.slug}' if only else ''}.csv")
    return HttpResponse(report.csv(), content_type="text/csv; charset=utf-8", headers=headers)


GROUPS = ("task", "project", "week")


class ScheduleForm(forms.Form):
    """When the report is sent every week, and to whom."""

    weekday = forms.TypedChoiceField(label="Every", choices=WEEKDAYS, coerce=int)
    hour = forms.TypedChoiceField(label="At", choices=[(hour, f"{hour}:00") for hour in range(24)], coerce=int)
    time_zone = forms.ChoiceField(label="Time zone", choices=lambda: [(name, name) for name in zones()])
    recipients = forms.CharField(
        label="To",
        widget=forms.Textarea({"rows": 2}),
        help_text="Addresses with commas. The report is of all projects that you manage; from Thursday on it is of the "
        "same week, before that of the last.",
    )


@page("GET")
def index(request: AuthenticatedHttpRequest) -> HttpResponse:
    """The measures with the cases behind them, and what work cost by task, project and week."""
    return _index(request)


def _index(request: AuthenticatedHttpRequest, status: int = 200, form: ScheduleForm | None = None) -> HttpResponse:
    report, only = report_of(request)
    group = request.GET.get("by", "")
    group = group if group in GROUPS else GROUPS[0]
    plan = ReportSchedule.objects.filter(user=request.user).first()
    shown = plan or ReportSchedule(recipients=[request.user.email])
    start = {name: getattr(shown, name) for name in ("weekday", "hour", "time_zone")}
    context = {
        "report": report,
        "only": only,
        "group": group,
        "groups": GROUPS,
        "rows": _rows(report, group),
        "schedule": plan,
        "form": form or ScheduleForm(initial=start | {"recipients": ", ".join(shown.recipients)}),
        "may_schedule": rights.projects_where(request.user, "report.send").exists(),
        "mails": ReportMail.objects.filter(user=request.user)[:5],
        "has_server": bool(settings.EMAIL_HOST),
    }
    return show(request, "pages/reports.html", context, status=status)


@page("POST")
def mail(request: AuthenticatedHttpRequest) -> HttpResponse:
    """E-mail the report of a week to the person who asks."""
    week = Week.parse(request.POST.get("week", ""))
    project = request.POST.get("project", "")
    if project and not visibility.visible(Project, request.user).filter(slug=project).exists():
        raise Http404("No such project.")
    sent = mailing.mail_to_self(request.user, week, project=project, origin=_origin(request), now=timezone.now())
    messages.success(request, f"The report of week {week.number} is on its way to {sent.recipients[0]}.")
    return redirect(f"{reverse('reports')}#mail")


@page("POST")
def schedule(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Send the report every week, or no more."""
    if request.POST.get("do") == "stop":
        mailing.stop_schedule(request.user)
        messages.success(request, "The report is sent no more.")
        return redirect(f"{reverse('reports')}#mail")
    form = ScheduleForm(request.POST)
    if not form.is_valid():
        return _index(request, 422, form)
    data = form.cleaned_data
    data["recipients"] = mailing.addresses_in(data["recipients"])
    saved = mailing.save_schedule(request.user, **data, origin=_origin(request), now=timezone.now())
    messages.success(request, f"The report goes out on {saved.when}.")
    return redirect(f"{reverse('reports')}#mail")


def _origin(request: AuthenticatedHttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def _rows(report: WeeklyReport, group: str) -> list[CostRow]:
    """The week's costs by task or project, or those of the last weeks."""
    if group == "week":
        here = reverse("report-weekly")
        return [CostRow(str(one.week), one.bill, href=f"{here}?week={one.week}") for one in report.trend[::-1]]
    bills: dict[int | None, Bill] = by_group(report.entries, lambda entry: getattr(entry, group))
    rows = sorted(bills.items(), key=lambda one: -one[1].tokens)[:MOST_ROWS]
    if group == "project":
        names = {one.pk: one.name for one in report.projects}
        return [CostRow(names[pk], bill, href=reverse("project", args=[pk])) for pk, bill in rows if pk]
    tasks = Task.objects.select_related("run__project").in_bulk([pk for pk, _ in rows if pk is not None])
    found = []
    for pk, bill in rows:
        task = tasks.get(pk) if pk is not None else None
        name = f"{task.run.project.name}: {task.key} {task.title}" if task else "No task: planning and tests on request"
        found.append(CostRow(name, bill, href=reverse("task", args=[pk]) if task else ""))
    return found
