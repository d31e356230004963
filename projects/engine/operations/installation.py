"""Watches this installation as deployments are watched: what fails is an incident until it works again.

What is safe is done at once; the rest is told to administrators, with what they can do.

A check counts when tasks cannot do without what it looks at, or when some wait for it now: a model server that nobody
needs may be off.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain

from django.utils import timezone

from agents.engine.waiting import WaitReason
from projects.engine import sandboxes
from projects.models import Incident, Run, Task
from projects.services.installation import health
from projects.services.operations import incidents
from projects.storage.disk_space import size_of
from projects.storage.paths import home

Status = Incident.Status
LARGEST = 3  # folders named when the disk is full
WORKER = "worker"
DEATHS = 3  # of workers, none an hour after the other: no accident any more
CALM = timedelta(hours=1)  # what fails again within it is the same incident
# What work waits for, by the check that tells why it is missing; nothing but the waiting itself tells it of the last.
CHECKED = {
    WaitReason.MODEL: "Model server",
    WaitReason.SANDBOX: "Sandbox",
    WaitReason.DISK_SPACE: "Disk",
    WaitReason.DATABASE: "Database",
    WaitReason.PACKAGE_INDEX: "Package index",
}
_turn = threading.Lock()


@dataclass(frozen=True)
class Fault:
    """Something of the installation that does not work now."""

    name: str  # of the check
    detail: str
    hint: str = ""
    waiting: int = 0  # tasks and plans that cannot go on

    @property
    def title(self) -> str:
        """One line."""
        wait = f", and {self.waiting} wait{'s' if self.waiting == 1 else ''} for it" if self.waiting else ""
        return f"{self.name}: {self.detail.rstrip('.')}{wait}"


def watch() -> list[Incident]:
    """One look at the installation; the incidents that are open after it. Two at once would only repeat each other."""
    if not _turn.acquire(blocking=False):
        return []
    try:
        found = {fault.name: fault for fault in faults()}
        for fault in found.values():
            _take(fault)
        for incident in incidents.open_for(None):
            calm = incident.last_seen < timezone.now() - CALM
            if calm if incident.signature == WORKER else incident.signature not in found:
                incidents.step(incident, "It works again.", status=Status.RESOLVED)
        return incidents.open_for(None)
    finally:
        _turn.release()


def faults() -> list[Fault]:
    """What fails now and matters: needed by every task, or waited for."""
    waiting, why = _waiting()
    checks = {check["name"]: check for check in health.needed_checks(waiting)}
    red = {name: check for name, check in checks.items() if check["ok"] is False}
    found = [Fault(name, check["detail"], check["hint"], waiting[name]) for name, check in red.items()]
    # Where no check looks, those who wait are the sign.
    return found + [Fault(name, why[name], "", count) for name, count in waiting.items() if name not in checks]


def _waiting() -> tuple[Counter[str], dict[str, str]]:
    """How many tasks and plans wait for what a check looks at, by its name, and what one of them says about it."""
    count, why = Counter[str](), dict[str, str]()
    going = Task.objects.exclude(run__status__in=Run.OVER), Run.objects.exclude(status__in=Run.OVER)
    rows = (row.filter(wait_reason__in=CHECKED).values_list("wait_reason", "why_detail") for row in going)
    for reason, detail in chain.from_iterable(rows):
        name = CHECKED[WaitReason(reason)]
        count[name] += 1
        why.setdefault(name, detail)
    return count, why


def _take(fault: Fault) -> None:
    """Open an incident for a fault and do what may be done, or count it on the one that is open or was just over."""
    over = Incident.objects.filter(target=None, signature=fault.name, resolved_at__gt=timezone.now() - CALM).first()
    if over is not None:
        incidents.step(over, f"It fails again: {fault.detail}", status=Status.NEEDS_YOU, count=over.count + 1)
        return
    incident, new = incidents.report(
        None, kind=Incident.Kind.PRODUCT, signature=fault.name, title=fault.title, cause=fault.detail
    )
    if not new:
        return
    done = MENDING[fault.name]() if fault.name in MENDING else "Nothing of it may be restarted from here."
    told = f"{done} What a person can do: {fault.hint}" if fault.hint else done
    incidents.step(incident, told, status=Status.NEEDS_YOU)


def _mend_sandbox() -> str:
    """Remove leftovers, and have the image made again where one is wanted and missing."""
    removed = sum(sandboxes.tidy().values())
    progress = sandboxes.tend_image(again=True)
    making = f" The sandbox image is being made: {progress}." if progress else ""
    return f"{removed} sandboxes of dead workers were removed.{making}"


def _mend_disk() -> str:
    """Remove what dead workers left, and tell what takes the room."""
    sandboxes.tidy()
    there = home().iterdir() if home().is_dir() else ()
    sizes = sorted(((size_of(one), one.name) for one in there), reverse=True)[:LARGEST]
    told = ", ".join(f"{name} {size / 1e9:.1f} GB" for size, name in sizes)
    return f"Leftovers of dead workers were removed. The largest in {home()}: {told}."


MENDING: dict[str, Callable[[], str]] = {"Sandbox": _mend_sandbox, "Disk": _mend_disk}


def worker_died(freed: int) -> None:
    """Tasks of a dead worker were taken back; when workers die again and again, a person has to look."""
    incident, new = incidents.report(
        None, kind=Incident.Kind.PRODUCT, signature=WORKER, title="A worker ended in the middle of its work"
    )
    said = f"{freed} leases of a dead worker were taken back; the work goes on."
    if incident.count == DEATHS:
        hint = "Look into the log, and at the memory of the machine: what needs too much is killed."
        incidents.step(incident, f"{said} Workers ended {DEATHS} times. {hint}", status=Status.NEEDS_YOU)
    elif new:
        incidents.step(incident, said, status=Status.WATCHING)
