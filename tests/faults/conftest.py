"""A project, its jobs in the test's thread, and parts that can be made to fail."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from projects.engine import building, planning
from projects.engine import model_clients as engine_models
from tests.agents.engine.nodes.support import MemoryLessons, clean_gates
from tests.agents.llm.fake_servers import FakeModelServer
from tests.faults.stage import FaultyRunner, Stage
from tests.projects.jobs_driver import Driver
from tests.sandbox.local_index import LocalIndex


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The engine's flow is the same on every database: once is enough."""
    if connection.vendor != "sqlite":
        reason = pytest.mark.skip(reason="the engine's flow is the same on every database; run once")
        for item in items:
            if "tests/faults/" in item.nodeid and item.get_closest_marker("django_db"):
                item.add_marker(reason)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package index of the test's own; without it none answers."""
    with LocalIndex() as opened:
        monkeypatch.setenv("AISWE_PYPI_INDEX", opened.python)
        yield opened


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The model runner of the jobs: quick to give up, and able to order a fault for one persona's calls."""
    with FaultyRunner() as made:
        monkeypatch.setattr(building, "runner", lambda: made)
        monkeypatch.setattr(planning, "runner", lambda: made)
        yield made


@pytest.fixture
def real(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, settings: Any, recordings: None, runner: FaultyRunner) -> Any:
    """Everything real but the memory: bubblewrap, git, database, gates that find nothing."""
    settings.AISWE_HOME = tmp_path / "home"
    monkeypatch.setattr("projects.jobs.runs.LATER", timedelta(hours=1))
    monkeypatch.setattr(building, "gates", clean_gates)
    monkeypatch.setattr(engine_models, "ScriptedOllama", FakeModelServer)
    lessons = MemoryLessons()
    monkeypatch.setattr(building, "lessons", lambda: lessons)
    return Stage(tmp_path / "scenario", Driver(monkeypatch), runner)


@pytest.fixture
def still(real: Stage, quiet_sandbox: None) -> Stage:
    """As `real`, with a sandbox that runs nothing and finds a right sum right: for faults elsewhere."""
    return real
