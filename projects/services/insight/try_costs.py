"""What another try costs in a project: measured on its earlier tries and answers, with how many there were."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from projects.models import Approval, Attempt, Project, Task
from projects.services.insight.costs import bill_of, human_ms_of


@dataclass(frozen=True)
class TryCost:
    """Figures of one try, None where nothing was measured; `tries` and `answers` say from how many."""

    tries: int = 0
    seconds: float | None = None  # median
    tokens: int | None = None  # mean
    money: Decimal | None = None  # mean
    answers: int = 0
    minutes: float | None = None  # median that a person took to answer an escalation; an upper bound
    retried: int = 0  # tasks that people had tried again
    solved: int = 0  # of these, merged


def try_cost(project: Project) -> TryCost:
    """What tries of this project took so far."""
    done = Attempt.objects.filter(task__run__project=project, finished_at__isnull=False)
    times = list(done.values_list("started_at", "finished_at"))
    n, seconds = len(times), [(end - start).total_seconds() for start, end in times if end]
    bill = bill_of(project, task__isnull=False)
    rows = Approval.objects.filter(project=project, kind=Approval.Kind.ESCALATION, decided_by__isnull=False)
    answers = [
        human_ms_of(asked, decided) for asked, decided in rows.values_list("requested_at", "decided_at") if decided
    ]
    again = Task.objects.filter(run__project=project, generation__gt=1)
    return TryCost(
        tries=n,
        seconds=median(seconds) if seconds else None,
        tokens=bill.tokens // n if n and bill.tokens else None,
        money=bill.money / n if n and bill.money is not None else None,
        answers=len(answers),
        minutes=median(answers) / 60_000 if answers else None,
        retried=again.count(),
        solved=again.filter(status=Task.Status.MERGED).count(),
    )
