"""aiswe report: what a week brought and what it cost."""

from __future__ import annotations

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user


@click.group()
def command() -> None:
    """Show what a week brought, what it cost and what is stuck."""


@command.command()
@click.option("--week", default="", metavar="WEEK", help="A week like 2026-W48; this one by default.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the costs as CSV.")
@arguments.project_option
@arguments.as_option
@output.json_option
def weekly(week: str, as_csv: bool, slug: str, user: str) -> int:
    """Show the weekly report: headline, what needs you, delivered, stuck, cost per requirement, measures.

    Exit code 1 when its rows do not add up to the ledger.
    """
    django.start()
    from django.utils import timezone

    from projects.models import Project
    from projects.services.insight.attention import waiting_for
    from projects.services.insight.report import weekly_report
    from projects.services.insight.report_text import text_of
    from projects.services.insight.weeks import Week

    person, now = acting_user(user), timezone.now()
    projects = Project.objects.visible_to(person)
    if slug:
        projects = projects.filter(pk=arguments.project(slug).pk)
    asked = Week.parse(week) if week else Week.of(now)
    needs = waiting_for(person, now, projects.values_list("pk", flat=True) if slug else None)
    report = weekly_report(projects, asked, now=now, needs=needs)
    if as_csv:
        click.echo(report.csv(), nl=False)
        return 0 if report.adds_up else 1

    return output.answer(report.document(), text_of(report), ok=report.adds_up)
