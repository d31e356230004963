"""The sandbox of a project: its choice of backend, its limits, and the ones that stand ready."""

from collections.abc import Iterator
from typing import Any

import pytest

from projects.engine import sandboxes
from projects.errors import BadInput
from projects.models import Baseline
from projects.services.planning import projects
from sandbox.pool import Fitted, ReadyPool
from tests.factories import make_project, owner_of
from tests.sandbox.fake_backend import FakeBackend

pytestmark = pytest.mark.django_db


@pytest.fixture
def keeping(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[FakeBackend]:
    """A process that keeps sandboxes ready, of a backend that passes for a real one."""
    backend = FakeBackend()
    backend.name = "bubblewrap"
    monkeypatch.setattr(sandboxes, "open_backend", lambda name: backend)
    settings.SANDBOX_READY = 1
    sandboxes.keep_ready()
    yield backend
    sandboxes._keeping.clear()
    for pool in sandboxes._pools.values():
        pool.close()
    sandboxes._pools.clear()


def test_a_project_chooses_its_backend(settings):
    settings.SANDBOX_BACKEND = "bubblewrap"
    project = make_project()
    assert sandboxes.name_for(project) == "bubblewrap"
    projects.update_settings(project, by=owner_of(project), sandbox_backend="docker")
    assert sandboxes.name_for(project) == "docker"


def test_a_project_sets_what_its_sandboxes_may_use():
    project = make_project()
    limits = {"sandbox_memory_mb": 512, "sandbox_seconds": 60, "sandbox_cpus": 2, "sandbox_disk_mb": 64}
    projects.update_settings(project, by=owner_of(project), limits=limits)
    found = sandboxes.limits_of(project)
    assert (found.memory_mb, found.seconds, found.cpus, found.disk_mb, found.processes) == (512, 60.0, 2.0, 64, 128)
    with pytest.raises(BadInput, match="sandbox_memory_mb is 1; it must be an integer from 128"):
        projects.update_settings(project, by=owner_of(project), limits={"sandbox_memory_mb": 1})


def test_a_project_from_before_these_limits_has_the_usual_ones():
    project = make_project()
    project.limits = {"max_retries": 5}
    assert sandboxes.limits_of(project).memory_mb == 1024


def test_a_command_may_take_as_long_as_the_measured_suite():
    project = make_project()
    assert sandboxes.limits_of(project, 900.0).seconds == 900
    assert sandboxes.limits_of(project).seconds == 300
    Baseline.objects.create(project=project, commit="0", status=Baseline.Status.READY, setup={"suite_seconds": 1500.0})
    assert sandboxes.limits_of(project).seconds == 1500


def test_a_worker_hands_over_what_stands_ready(keeping):
    backend = sandboxes.fitted(keeping, make_project())
    assert isinstance(backend, Fitted)
    assert isinstance(backend._backend, ReadyPool)
    assert backend._backend is sandboxes.fitted(keeping, make_project())._backend
    with backend.open() as box:
        assert box in keeping.opened


def test_a_single_command_keeps_none_ready():
    backend = FakeBackend()
    backend.name = "bubblewrap"
    assert sandboxes.fitted(backend, make_project())._backend is backend


def test_nothing_is_kept_when_the_setting_says_none(monkeypatch, settings):
    settings.SANDBOX_READY = 0
    monkeypatch.setattr(sandboxes, "open_backend", lambda name: pytest.fail("opened"))
    sandboxes.keep_ready()


def test_tidying_tells_what_dead_workers_left(monkeypatch, caplog):
    monkeypatch.setattr(sandboxes, "reap_all", lambda: {"docker": 2, "bubblewrap": 0})
    caplog.set_level("WARNING", "aiswe.sandboxes")
    assert sandboxes.tidy() == {"docker": 2, "bubblewrap": 0}
    assert "removed 2 sandbox(es)" in caplog.text
