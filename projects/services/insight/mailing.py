"""The weekly report by e-mail: once a week on a schedule, or when somebody asks for it.

A mail that a server refuses is tried again; one that a dying worker was sending is not, since it may have arrived.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F
from django.template.loader import render_to_string

from agents.secrets.redaction import redact
from projects.errors import BadInput, NotAllowed
from projects.models import Project, ReportMail, ReportSchedule
from projects.services.accounts.rights import projects_where
from projects.services.audit.canonical import clean_line
from projects.services.audit.sitelog import note
from projects.services.insight.attention import waiting_for
from projects.services.insight.report import WeeklyReport, weekly_report
from projects.services.insight.report_text import text_of
from projects.services.insight.weeks import Week
from projects.services.notices import outbox
from projects.values.time_windows import zone
from projects.workers.queue import enqueue

CLAIM = timedelta(minutes=5)  # longer than sending takes
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480))
MOST_RECIPIENTS = 50


def addresses_in(text: str) -> list[str]:
    """The addresses of a list with commas, spaces or line breaks. Raises BadInput, naming the one that is wrong."""
    found = list(dict.fromkeys(text.replace(",", " ").replace(";", " ").split()))
    for address in found:
        try:
            validate_email(address)
        except ValidationError:
            raise BadInput(f"{clean_line(address, 80)!r} is not an e-mail address.") from None
    if not 0 < len(found) <= MOST_RECIPIENTS:
        raise BadInput(f"Name 1 to {MOST_RECIPIENTS} e-mail addresses.")
    return found


def save_schedule(
    user: User, *, weekday: int, hour: int, time_zone: str, recipients: Sequence[str], origin: str, now: datetime
) -> ReportSchedule:
    """Send the report every week from now on. Raises NotAllowed for somebody who may send no project's reports."""
    if not projects_where(user, "report.send").exists():
        raise NotAllowed("Managers of a project schedule its report. Others can e-mail it to themselves.")
    zone(time_zone)
    if weekday not in range(7) or hour not in range(24):
        raise BadInput("Choose a day of the week and an hour.")
    values = {"weekday": weekday, "hour": hour, "time_zone": time_zone, "recipients": list(recipients)}
    with transaction.atomic():
        row, _ = ReportSchedule.objects.update_or_create(
            user=user, defaults={**values, "origin": origin, "saved_at": now}
        )
        note(user, "report.scheduled", row.when, values)
    return row


def stop_schedule(user: User) -> None:
    """Send no more reports on a schedule."""
    with transaction.atomic():
        if ReportSchedule.objects.filter(user=user).delete()[0]:
            note(user, "report.unscheduled", user.get_username())


def mail_to_self(user: User, week: Week, *, project: str, origin: str, now: datetime) -> ReportMail:
    """Send the report of a week to the person's own address. Raises BadInput when there is none."""
    if not user.email:
        raise BadInput("Your account has no e-mail address. An administrator adds it in /admin/.")
    mail = ReportMail.objects.create(
        user=user,
        key=f"asked:{uuid.uuid4()}",
        week=str(week),
        project=project,
        recipients=[user.email],
        origin=origin,
        due_at=now,
    )
    enqueue("projects.jobs.deliver_report", mail.pk)
    return mail


def last_due(schedule: ReportSchedule, now: datetime) -> datetime:
    """The newest moment at which it should have been sent."""
    here = now.astimezone(zone(schedule.time_zone))
    day = here.date() - timedelta(days=(here.weekday() - schedule.weekday) % 7)
    moment = datetime.combine(day, datetime.min.time(), here.tzinfo).replace(hour=schedule.hour)
    return moment if moment <= now else moment - timedelta(days=7)


def week_at(moment: datetime) -> Week:
    """The week that a report of this moment is about: from Thursday on the same one, before that the last."""
    return Week.of(moment - timedelta(days=3))


def sweep(now: datetime) -> None:
    """Put the reports that are due into the outbox, once each, and hand out what waits there."""
    for schedule in ReportSchedule.objects.select_related("user").filter(user__is_active=True):
        due = last_due(schedule, now)
        if due <= schedule.saved_at:
            continue
        key, week = f"weekly:{schedule.user_id}:{Week.of(due)}", week_at(due)
        ReportMail.objects.get_or_create(
            key=key,
            defaults={
                "user": schedule.user,
                "week": str(week),
                "recipients": schedule.recipients,
                "origin": schedule.origin,
                "scheduled": True,
                "due_at": now,
            },
        )
        outbox.tell_of_report(schedule.user, key=key, link=f"/reports?week={week}", now=now)
    dead = ReportMail.objects.filter(status=ReportMail.Status.SENDING, due_at__lte=now)
    dead.update(status=ReportMail.Status.UNKNOWN, problem="The worker stopped while sending it; it may have arrived.")
    for pk in ReportMail.objects.filter(status=ReportMail.Status.WAITING, due_at__lte=now).values_list("pk", flat=True):
        enqueue("projects.jobs.deliver_report", pk)


def deliver(pk: int, now: datetime) -> None:
    """One try to send a report that is due; of two workers one sends it."""
    mine = ReportMail.objects.filter(pk=pk, status=ReportMail.Status.WAITING, due_at__lte=now)
    if not mine.update(status=ReportMail.Status.SENDING, due_at=now + CLAIM, tries=F("tries") + 1):
        return
    mail = ReportMail.objects.select_related("user").get(pk=pk)
    try:
        _send(mail, now)
    except (BadInput, OSError, SMTPException) as trouble:
        mail.problem = clean_line(str(redact(str(trouble))), 300)
        again = mail.tries <= len(PAUSES)
        mail.status = ReportMail.Status.WAITING if again else ReportMail.Status.FAILED
        mail.due_at = now + PAUSES[mail.tries - 1] if again else now
    else:
        mail.status, mail.problem, mail.sent_at = ReportMail.Status.SENT, "", now
        note(mail.user, "report.sent", mail.week, {"recipients": mail.recipients, "scheduled": mail.scheduled})
    mail.save()


def report_for(mail: ReportMail, now: datetime) -> WeeklyReport:
    """The report that a mail carries: of the projects whose reports this person may send, else sees, at this moment."""
    projects = projects_where(mail.user, "report.send") if mail.scheduled else Project.objects.visible_to(mail.user)
    if mail.project:
        projects = projects.filter(slug=mail.project)
    needs = waiting_for(mail.user, now, list(projects.values_list("pk", flat=True)))
    return weekly_report(projects, Week.parse(mail.week), now=now, needs=needs)


def _send(mail: ReportMail, now: datetime) -> None:
    if not settings.EMAIL_HOST:
        raise BadInput("No mail server is set up (AISWE_MAIL_HOST).")
    report = report_for(mail, now)
    if not report.projects:
        raise BadInput("There is no project left of which this person may send a report.")
    subject = clean_line(f"{report.headline} · week {report.week.number}", 150)
    message = EmailMultiAlternatives(
        subject, text_of(report), to=mail.recipients, headers={"Message-ID": f"<report-{mail.pk}-{mail.week}@aiswe>"}
    )
    context = {"report": report, "mail": True, "base": mail.origin}
    message.attach_alternative(render_to_string("mail/weekly.html", context), "text/html")
    message.attach(f"costs-{report.week}.csv", report.csv(), "text/csv")
    message.send()
