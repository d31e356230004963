"""A year of usage with round figures, so that everything in its reports can be computed by hand.

Project "Clinic" has the requirements FR-01 and FR-02; T-01 is for both, T-02 for FR-02 alone (tests/factories.py).
Every ISO week of 2025 has the same four calls, so a year has 52 times as many:

  call         task   model  sent  reused  written  seconds
  plan         none   here   1,001      0      200       10
  code         T-01   here   3,000  1,000    1,001       36
  code         T-02   here   1,000      0      500       18
  review       T-02   cloud 10,000  4,000    1,000        5

PriceList: 0.30 a kWh, 1,000 W; cloud costs 2.00 / 0.50 / 10.00 per million tokens sent, reused, written.
In week 48, T-01 is merged on Tuesday and T-02 on Wednesday; on Tuesday ada answers a question about T-02 after 4 min,
and one about T-01 after an hour, of which 10 min count.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from projects.models import Approval, Project, Run, Usage
from projects.services.insight.prices import ModelPrice
from projects.services.insight.weeks import Week
from tests.factories import make_document, make_plan, make_project, make_run, make_user

WEEK = Week(2025, 48)
NOW = datetime(2025, 11, 28, 17, 30, tzinfo=UTC)  # the Friday
CALLS = (
    ("plan", None, "here", 1001, 0, 200, 10.0),
    ("code", "T-01", "here", 3000, 1000, 1001, 36.0),
    ("code", "T-02", "here", 1000, 0, 500, 18.0),
    ("review", "T-02", "cloud", 10_000, 4000, 1000, 5.0),
)


def set_prices(settings: Any) -> None:
    """The prices of the year."""
    settings.KWH_PRICE, settings.WATTS = 0.30, 1000.0
    settings.MODEL_PRICES = {"cloud": ModelPrice(Decimal(2), Decimal("0.5"), Decimal(10))}


def tell_year(name: str = "Clinic", owner: Any = None) -> Run:
    """Build it; returns the run."""
    owner = owner or make_user("ada")
    run = make_run(make_plan(make_document(make_project(name, by=owner))))
    tasks = {task.key: task for task in run.tasks.all()}
    for number in range(1, 53):
        at = Week(2025, number).start + timedelta(days=1, hours=9)
        for place, (role, key, model, sent, reused, written, seconds) in enumerate(CALLS):
            row = Usage.objects.create(
                run=run,
                task=tasks[key] if key else None,
                key=f"{number}/{place}",
                role=role,
                model=model,
                prompt_tokens=sent,
                reused_tokens=reused,
                completion_tokens=written,
                seconds=seconds,
            )
            Usage.objects.filter(pk=row.pk).update(at=at)
    tuesday = WEEK.start + timedelta(days=1, hours=12)
    for key, day in (("T-01", 0), ("T-02", 1)):
        task = tasks[key]
        type(task).objects.filter(pk=task.pk).update(status="merged", finished_at=tuesday + timedelta(days=day))
    for key, minutes in (("T-02", 4), ("T-01", 60)):
        asked = Approval.objects.create(
            project=run.project,
            run=run,
            task=tasks[key],
            kind="package",
            subject=key,
            title="Install it",
            status="approved",
            decided_by=owner,
            decided_at=tuesday,
        )
        Approval.objects.filter(pk=asked.pk).update(requested_at=tuesday - timedelta(minutes=minutes))
    return run


def all_projects() -> Any:
    """Every project."""
    return Project.objects.all()
