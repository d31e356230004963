"""What tests of commands share: a document, a project, and a database that is there already."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiswe_site.cli import arguments
from aiswe_site.startup import django as site_django
from projects.models import Project
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_project, make_user

PRD = """# Requirements

| ID | Requirement |
|---|---|
| FR-01 | The system shall store notes. |
| FR-02 | The system shall delete notes. |

# Background

Written by a friend.
"""


@pytest.fixture
def prd(tmp_path: Path) -> str:
    path = tmp_path / "prd.md"
    path.write_text(PRD)
    return str(path)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands find the database ready, and no server runs on it."""
    monkeypatch.setattr(site_django, "start", lambda **_: None)
    monkeypatch.setattr(arguments, "tell_worker", lambda: None)


@pytest.fixture
def project() -> Project:
    return make_project("Todo", by=make_user("ada", superuser=True))
