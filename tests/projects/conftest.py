"""Jobs in the test's own thread, a forge, and a project whose data folder is the test's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from projects.models import Project
from tests.factories import make_project, make_user
from tests.forge_server import KINDS, ServedForge
from tests.projects.jobs_driver import Driver
from tests.projects.services.forges.served import running


@pytest.fixture
def home(tmp_path: Path, settings: Any) -> Path:
    """The data folder of this test alone."""
    settings.AISWE_HOME = tmp_path
    return tmp_path


@pytest.fixture
def ada() -> Any:
    return make_user("ada")


@pytest.fixture
def root() -> Any:
    return make_user("root", superuser=True)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    return Driver(monkeypatch)


@pytest.fixture
def project(tmp_path: Path, settings: Any) -> Project:
    settings.AISWE_HOME, settings.SANDBOX_BACKEND = tmp_path / "home", "bubblewrap"
    return make_project("Workspace")


@pytest.fixture(params=KINDS)
def served(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Iterator[ServedForge]:
    """A forge of each kind."""
    yield from running(request.param, tmp_path, monkeypatch, settings)
