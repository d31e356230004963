"""`aiswe backlog`: add, assign, list; also when used wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from projects.models import Project
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_project

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process", "enqueued")]


@pytest.fixture
def project() -> Project:
    return make_project("Clinic")


def write(folder: Path, text: str, name: str = "tickets.txt") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_tickets_are_added_assigned_and_listed(project: Project, tmp_path: Path, cli: CommandLine) -> None:
    as_owner = ["--as", project.created_by.username]
    added = cli.answers("backlog", "add", "clinic", write(tmp_path, "CL-1 First\nCL-2 Second"), *as_owner)
    assert [row["key"] for row in added] == ["CL-1", "CL-2"]
    assigned = cli.answers("backlog", "assign", "clinic", "CL-1", "--minutes", "1h30", *as_owner)
    assert [(row["key"], row["minutes"], row["state"]) for row in assigned] == [("CL-1", 90, "waiting")]
    listed = cli.answers("backlog", "list", "clinic")
    assert [(row["key"], row["state"]) for row in listed["items"]] == [("CL-1", "waiting"), ("CL-2", "open")]
    assert listed["headline"].startswith("The one assigned ticket")  # whether it gets done today depends on the hour


def test_a_csv_file_is_known_by_its_name(project: Project, tmp_path: Path, cli: CommandLine) -> None:
    path = write(tmp_path, "title;minutes\nFirst;30\n", "tickets.csv")
    cli.answers("backlog", "add", "clinic", path, "--as", project.created_by.username)
    assert project.backlog.get().minutes == 30


def test_what_cannot_be_done_is_refused_with_a_way_out(project: Project, tmp_path: Path, cli: CommandLine) -> None:
    assert "aiswe backlog list clinic" in cli.refuses("backlog", "assign", "clinic", "NO-1")
    cli.refuses("backlog", "list", "nowhere")
    cli.refuses("backlog", "add", "clinic", write(tmp_path, "\n"), "--as", project.created_by.username, code=1)
