"""A project deployed to a namespace: rollout, failing probe, rollback, against a stand-in for the cluster's API."""

import time
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from projects.engine.operations import hosts, rollout
from projects.models import Deployment, Target
from projects.services.operations import releases, targets
from tests.projects.engine.operations.support import commit, shop, until, version
from tests.rows import fresh
from tests.sandbox.hosting.authority import Authority
from tests.sandbox.hosting.conftest import api as api
from tests.sandbox.hosting.conftest import authority as authority
from tests.sandbox.hosting.kubernetes_api import KubernetesApi
from tests.sandbox.hosting.kubernetes_cluster import write_config
from tests.sandbox.hosting.kubernetes_script import Script

pytestmark = pytest.mark.django_db
Status = Deployment.Status


def test_a_rollout_that_fails_goes_back(anna: User, tmp_path: Path, api: KubernetesApi, authority: Authority) -> None:
    project = shop(anna)
    config = write_config(tmp_path / "config", api.url, authority.ca)
    options = {"kubeconfig": str(config), "namespace": "staging", "image": "registry.example/shop:{commit}"}
    target = targets.add_target(project, name="cluster", kind="kubernetes", by=anna, options=options)
    releases.deploy(target, releases.newest_commit(project), by=anna)
    target = until(target, lambda row: row.status == Status.LIVE)
    assert hosts.host_of(target).names() == [target.live.release_name]  # type: ignore[union-attr]
    second = commit(project, version(2))
    api.scripts[f"registry.example/shop:{second}"] = Script(never_ready=True)
    releases.deploy(target, second, by=anna)
    end = time.monotonic() + 60
    while not Deployment.objects.get(number=2).step.startswith("waiting for its health check"):
        rollout.tend(Target.objects.get())
        assert time.monotonic() < end
    assert fresh(target).live is not None
    assert (target.live.number, target.live.status) == (1, Status.LIVE)
