"""A project that runs somewhere: two deployments, requests, an incident. No process is started."""

from datetime import timedelta

from django.utils import timezone

from projects.models import BadRequest, Deployment, Incident, Project, Target, TrafficMinute
from projects.services.operations import incidents

TRACE = "Traceback (most recent call last):\n  File \"shop/prices.py\", line 2, in total\nKeyError: 'price'"


def operated(project: Project) -> tuple[Target, Deployment, Incident]:
    """The target, what is live on it, and an incident that needs a person."""
    now = timezone.now()
    target = Target.objects.create(project=project, name="staging", created_by=project.created_by)
    made = {"target": target, "by": project.created_by}
    old = Deployment.objects.create(
        **made, number=1, commit="a" * 40, status="replaced", live_at=now - timedelta(hours=2), ended_at=now
    )
    live = Deployment.objects.create(
        **made,
        number=2,
        commit="b" * 40,
        status="live",
        live_at=now - timedelta(minutes=20),
        healthy=True,
        memory_mb=41.5,
        log="the shop opens\n" + TRACE + "\n",
        reason="by ada",
    )
    Target.objects.filter(pk=target.pk).update(live=live, wanted=live)
    target.refresh_from_db()
    this_minute = now.replace(second=0, microsecond=0)
    for back in range(12):
        TrafficMinute.objects.create(
            deployment=live,
            minute=this_minute - timedelta(minutes=back),
            requests=10 + back % 4 * 7,
            errors=back == 3,
            milliseconds=(10 + back % 4 * 7) * 18,
            buckets=[0, 4, 6, 0, 0, back % 4 * 7, 0, 0, 0, 0, 0, 0, 0],
        )
    request = BadRequest.objects.create(
        deployment=live, method="POST", path="/orders?a=1", body='{"count": 2}', status=500, milliseconds=12
    )
    incident, _ = incidents.report(
        target,
        kind="error",
        signature="s" * 32,
        title="KeyError in shop/prices.py at POST /orders",
        deployment=live,
        evidence=TRACE,
        request=request,
    )
    cause = f"It began with #{live.number}, which brought bbbbbbbbbb “Discounts”."
    incidents.step(incident, cause, cause=cause)
    incidents.step(incident, f"Rolled back to {old.commit[:10]} (#1), because users suffer.")
    incidents.step(incident, "The plan of the fix waits for a yes: plan v2.", status="needs_you")
    return target, live, incident
