"""aiswe audit: is the trail whole, and out with it."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from aiswe_site.cli import django, output
from aiswe_site.cli.problems import NO


@click.group()
def command() -> None:
    """Verify and export the audit trail of a run."""


@command.command()
@click.argument("run", type=int)
@click.option("--head", metavar="HASH", help="A hash kept elsewhere (a commit's Audit-Head): it must be in the chain.")
@output.json_option
def verify(run: int, head: str | None, as_json: bool) -> int:
    """Recompute every hash of run RUN; exit code 1 when anything was changed, added or cut off."""
    django.start()
    from projects.models import Run
    from projects.services.chain import verify_chain

    django.row(Run, run, "run")
    report = verify_chain(run, head=head)

    def people() -> None:
        if report.ok:
            output.say(f"✓ {report.events} events, nothing changed. Head {report.head_hash or '(empty)'}")
        else:
            output.say(f"✕ {report.problem} {report.events} events before it are proven.")

    output.answer({"run": run, **asdict(report)}, as_json=as_json, people=people)
    return 0 if report.ok else NO


@command.command()
@click.argument("run", type=int)
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option("--output", "-o", "target", type=click.File("w", lazy=True), help="File to write instead of stdout.")
@output.json_option
def export(run: int, form: str, target: click.utils.LazyFile | None, as_json: bool) -> None:
    """Print every event of run RUN with its hash, oldest first. With --json: one array."""
    django.start()
    from projects.models import Run
    from projects.services.chain import export_events

    django.row(Run, run, "run")
    sink = target or sys.stdout
    if not as_json:
        for line in export_events(run, form):
            sink.write(line)
        return
    sink.write("[\n")
    for number, line in enumerate(export_events(run, "jsonl")):
        sink.write((",\n" if number else "") + line.rstrip("\n"))
    sink.write("\n]\n")
