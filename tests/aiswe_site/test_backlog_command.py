"""`aiswe backlog`: add, assign, list; also when used wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aiswe_site.cli.app import run
from projects.models import Project
from tests.aiswe_site.answers import refused, said
from tests.factories import make_project

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process", "enqueued")]


@pytest.fixture
def project() -> Project:
    return make_project("Clinic")


def write(folder: Path, text: str, name: str = "tickets.txt") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_tickets_are_added_assigned_and_listed(project: Project, tmp_path: Path, capsys: Any) -> None:
    as_owner = ["--as", project.created_by.username]
    added = said(capsys, "backlog", "add", "clinic", write(tmp_path, "CL-1 First\nCL-2 Second"), *as_owner)
    assert [row["key"] for row in added] == ["CL-1", "CL-2"]
    assigned = said(capsys, "backlog", "assign", "clinic", "CL-1", "--minutes", "1h30", *as_owner)
    assert [(row["key"], row["minutes"], row["state"]) for row in assigned] == [("CL-1", 90, "waiting")]
    listed = said(capsys, "backlog", "list", "clinic")
    assert [(row["key"], row["state"]) for row in listed["items"]] == [("CL-1", "waiting"), ("CL-2", "open")]
    assert listed["headline"].startswith("The one assigned ticket")  # whether it gets done today depends on the hour


def test_a_csv_file_is_known_by_its_name(project: Project, tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path, "title;minutes\nFirst;30\n", "tickets.csv")
    said(capsys, "backlog", "add", "clinic", path, "--as", project.created_by.username)
    assert project.backlog.get().minutes == 30


def test_what_cannot_be_done_is_refused_with_a_way_out(project: Project, tmp_path: Path, capsys: Any) -> None:
    assert run(["backlog", "assign", "clinic", "NO-1"]) == 2
    assert "aiswe backlog list clinic" in capsys.readouterr().err
    assert run(["backlog", "list", "nowhere"]) == 2
    refused(capsys, "backlog", "add", "clinic", write(tmp_path, "\n"), "--as", project.created_by.username, code=1)
