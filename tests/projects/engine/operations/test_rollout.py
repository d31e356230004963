"""Deployments in real sandboxes: started, checked, taken over, rolled back, stopped."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from projects.engine.operations import hosts, rollout
from projects.errors import NotFound
from projects.models import Approval, Deployment, SiteEvent, Target
from projects.models.project import Autonomy
from projects.services.decisions.approvals import decide
from projects.services.operations import releases, targets
from projects.storage.paths import ensure_repository
from tests.projects.engine.operations.support import commit, deployed, shop, until, version
from tests.rows import fresh

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap]
Status = Deployment.Status


def get(target: Target, path: str = "/") -> Any:
    assert target.live is not None
    return hosts.ask(target.live, "GET", path).json()


def statuses(target: Target) -> list[str]:
    return [row.status for row in target.deployments.order_by("number")]


def test_a_commit_is_deployed_and_answers_requests(anna: User) -> None:
    target = deployed(shop(anna), anna)
    assert get(target, "/a?b=1") == {"version": 1, "path": "/a?b=1"}
    observed = rollout.tend(target)
    assert observed is not None
    assert (observed.healthy, observed.seen.state) == (True, "running")
    target.live.refresh_from_db()  # type: ignore[union-attr]
    assert "the shop opens" in target.live.log  # type: ignore[union-attr]
    said = list(SiteEvent.objects.filter(action__startswith="deployment.").values_list("action", flat=True))
    assert said == ["deployment.asked", "deployment.live"]
    answer = hosts.ask(target.live, "POST", "/orders", content=json.dumps({"price": 3, "count": 2}))
    assert answer.json() == {"total": 6}
    with CaptureQueriesContext(connection) as asked:
        rollout.tend(target)
    written = [one["sql"] for one in asked.captured_queries if one["sql"].startswith('UPDATE "projects_deployment"')]
    assert not [sql for sql in written if '"log"' in sql or '"address"' in sql], "nothing is new"


def test_a_new_version_takes_over_and_one_step_leads_back(anna: User) -> None:
    project = shop(anna)
    target = deployed(project, anna)
    releases.deploy(target, commit(project, version(2)), by=anna)
    target = until(target, lambda row: row.status == Status.LIVE)
    assert get(target)["version"] == 2
    assert statuses(target) == [Status.REPLACED, Status.LIVE]
    releases.roll_back(target, by=anna, reason="it looks odd")
    target = until(target, lambda row: row.status == Status.LIVE)
    assert get(target)["version"] == 1
    assert statuses(target) == [Status.REPLACED, Status.ROLLED_BACK, Status.LIVE]
    with pytest.raises(NotFound, match="no earlier version"):
        releases.roll_back(target, by=anna, reason="further")


def test_a_version_that_does_not_start_leaves_the_one_before_in_place(anna: User) -> None:
    project = shop(anna)
    target = deployed(project, anna)
    releases.deploy(
        target, commit(project, {"app.py": "import nothing_of_the_kind  # serve_forever __main__\n"}), by=anna
    )
    target = until(target, lambda row: row.status == Status.FAILED)
    newest = target.deployments.first()
    assert newest is not None
    assert "ended 4 times" in newest.reason
    assert "No module named 'nothing_of_the_kind'" in newest.log
    assert (target.live, target.wanted) == (target.deployments.last(),) * 2
    assert get(target)["version"] == 1


def test_a_version_that_answers_with_errors_does_not_take_over(anna: User, monkeypatch: pytest.MonkeyPatch) -> None:
    project = shop(anna)
    target = deployed(project, anna)
    broken = version(2)["app.py"].replace('self.answer(200, {"version"', 'self.answer(500, {"version"')
    releases.deploy(target, commit(project, {"app.py": broken}), by=anna)
    target = until(target, lambda row: "/ answered 500" in row.step)
    assert get(target)["version"] == 1
    monkeypatch.setattr(rollout, "PATIENCE_SECONDS", 0.0)
    target = until(target, lambda row: row.status == Status.FAILED)
    assert get(target)["version"] == 1


def test_a_named_health_path_must_succeed(anna: User) -> None:
    project = shop(anna)
    target = targets.add_target(project, name="staging", kind="sandbox", by=anna, options={"health": "/health"})
    row = releases.deploy(target, ensure_repository(project).head(), by=anna)
    target = until(target, lambda row: row.status == Status.LIVE)
    assert hosts.answers(Deployment.objects.get(pk=row.pk)) == (True, "/health answered 200")
    targets.edit_target(target, by=anna, options={"health": "/nowhere", "environment": {"A": "1"}})
    missing = version(2)["app.py"].replace("self.answer(200", 'self.answer(404 if self.path == "/nowhere" else 200')
    releases.deploy(target, commit(project, {"app.py": missing}), by=anna)
    until(target, lambda row: "/nowhere answered 404" in row.step)


def test_without_a_start_command_the_way_out_is_named(anna: User) -> None:
    project = shop(anna, {"lib.py": "X = 1\n"})
    target = targets.add_target(project, name="staging", kind="sandbox", by=anna)
    row = releases.deploy(target, ensure_repository(project).head(), by=anna)
    until(target, lambda row: row.status == Status.FAILED)
    assert "no start command is known; name one" in fresh(row).reason


def test_stopping_leaves_nothing_behind(anna: User) -> None:
    target = deployed(shop(anna), anna)
    releases.stop(target, by=anna)
    target = until(target, lambda row: row.status == Status.STOPPED)
    assert target.live is None
    assert hosts.host_of(target).names() == []
    assert rollout.due() == []


def test_what_runs_comes_up_again_after_the_product_was_restarted(anna: User) -> None:
    target = deployed(shop(anna), anna)
    hosts.close()  # the sandboxes of a process end with it
    target = until(
        target, lambda row: row.status == Status.LIVE and row.healthy is True and bool(hosts.host_of(target).names())
    )
    assert until(target, lambda row: hosts.answers(row)[0])
    assert get(target)["version"] == 1


def test_a_restart_is_no_crash(anna: User) -> None:
    target = deployed(shop(anna), anna)
    releases.restart(target, by=anna)
    observed = rollout.tend(target)
    assert observed is not None
    target = until(target, lambda row: row.log.count("the shop opens") == 2 and hosts.answers(row)[0])
    assert target.live is not None
    assert (target.live.restarts, target.live.restart_asked) == (0, False)


def test_production_and_agents_wait_for_a_person(anna: User) -> None:
    project = shop(anna, autonomy=Autonomy.PLAN_AND_GATES)
    head = ensure_repository(project).head()
    real = targets.add_target(project, name="real", kind="sandbox", by=anna, production=True)
    assert releases.deploy(real, head, by=anna).status == Status.ASKED
    staging = targets.add_target(project, name="staging", kind="sandbox", by=anna)
    assert releases.deploy(staging, head, by=None, reason="a fix").status == Status.ASKED
    assert rollout.due() == []
    first, second = Approval.objects.filter(kind="deploy").order_by("pk")
    decide(first, by=anna, yes=False, reason="not today")
    decide(second, by=anna, yes=True)
    assert [row.status for row in Deployment.objects.order_by("pk")] == [Status.REFUSED, Status.QUEUED]
    until(staging, lambda row: row.status == Status.LIVE)


def test_where_no_approval_is_wanted_an_agent_deploys_to_staging_but_not_to_production(anna: User) -> None:
    project = shop(anna, autonomy=Autonomy.NONE)
    head = ensure_repository(project).head()
    staging = targets.add_target(project, name="staging", kind="sandbox", by=anna)
    real = targets.add_target(project, name="real", kind="sandbox", by=anna, production=True)
    assert releases.deploy(staging, head, by=None).status == Status.QUEUED
    assert releases.deploy(real, head, by=None).status == Status.ASKED
