"""To which project an editor's session belongs, and what is listed of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aiswe_site.acp import sessions
from projects.errors import BadInput, NotFound
from projects.models import Chat, Project
from tests.factories import make_project, make_user

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.AISWE_HOME = tmp_path / "home"
    place = tmp_path / "my tool"
    place.mkdir()
    return place


def test_a_session_belongs_to_the_project_of_its_folder(folder: Path) -> None:
    by = make_user("ada", superuser=True)
    first, second = sessions.begin(str(folder), by), sessions.begin(str(folder), by)
    assert (first.project.name, second.project) == ("my tool", first.project)
    imported = make_project("Imported", by=by)
    Project.objects.filter(pk=imported.pk).update(source=str(folder))
    assert sessions.begin(str(folder), by).project == imported


def test_the_projects_of_others_are_not_found(folder: Path) -> None:
    run = sessions.begin(str(folder), make_user("ada"))
    Chat.objects.filter(run=run).update(title="Hello")
    other = make_user("bob")
    assert sessions.begin(str(folder), other).project != run.project
    assert sessions.listed(str(folder), None, other) == ([], None)
    with pytest.raises(NotFound):
        sessions.named(f"chat-{run.pk}", str(folder), other)


def test_sessions_are_listed_in_pages_and_only_those_in_which_something_was_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "A_PAGE", 2)
    by = make_user("ada")
    runs = [sessions.begin(str(folder), by) for _ in range(4)]
    Chat.objects.filter(run__in=runs[:3]).update(title="Said")
    page, cursor = sessions.listed(str(folder), None, by)
    rest, end = sessions.listed(str(folder), cursor, by)
    assert [one.session_id for one in (*page, *rest)] == [f"chat-{run.pk}" for run in reversed(runs[:3])]
    assert end is None


def test_a_chat_without_a_folder_is_gone_on_with_where_it_works(folder: Path) -> None:
    by = make_user("ada")
    run = sessions.begin(str(folder), by)
    Chat.objects.filter(run=run).update(folder="")
    with pytest.raises(BadInput, match="works on a branch"):
        sessions.named(f"chat-{run.pk}", str(folder), by)
