"""What the site of the browser tests does with a forge's deliveries; named in serve.py."""

from __future__ import annotations

from typing import Any

_sent: list[tuple[str, tuple[Any, ...]]] = []


def do_forge() -> dict[str, Any]:
    """Make a project with a pull request; from now on jobs that are sent are counted."""
    from django.urls import reverse

    from projects.models import Run
    from projects.services.forges import receiving
    from projects.workers import queue
    from tests.factories import make_project
    from tests.projects.services.forges.stand_in import SECRET, linked

    run = Run.objects.create(project=make_project(), kind="build", status="finished")
    request = linked(run, "a" * 40)
    queue.send = lambda name, args: _sent.append((name, args))
    return {"hook": reverse("forge-webhook", args=[receiving.key_of(request.link)]), "secret": SECRET}


def do_deliveries() -> dict[str, Any]:
    """What was kept of them, and the jobs that they sent; both forgotten afterwards."""
    from projects.models import ForgeDelivery

    rows = ForgeDelivery.objects.all()
    told = {
        "rows": rows.count(),
        "idents": rows.values("ident").distinct().count(),
        "waiting": rows.filter(handled_at=None).count(),
        "jobs": len(_sent),
    }
    rows.delete()
    _sent.clear()
    return told
