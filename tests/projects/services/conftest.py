"""What tests of services share."""

from pathlib import Path
from typing import Any

import pytest

from aiswe_site.startup import django as site_django
from tests.dashboard.story import Story, add_code, tell


@pytest.fixture
def story_with_code(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, enqueued: list[Any]) -> Story:
    """A project with a repository in a data folder of its own, which commands can be given too."""
    monkeypatch.setattr(site_django, "start", lambda migrate=True: None)
    settings.AISWE_HOME = tmp_path
    told = tell()
    add_code(told)
    return told
