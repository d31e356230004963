"""A damaged repository makes room for the one of a backup; nothing that can be read is set aside."""

import json
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from aiswe_site.cli.app import run as command
from projects.errors import IllegalMove, NotAllowed
from projects.models import SiteEvent, Task
from projects.services.delivery.replacing import replace_repository
from projects.storage import backup
from projects.storage.paths import repository_of, repository_path
from tests.dashboard.story import Story
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story_with_code: Story) -> Story:
    Task.objects.filter(run=story_with_code.run, status="running").update(status="needs_you")
    return story_with_code


@pytest.fixture
def file(story: Story, tmp_path: Path) -> Path:
    """A backup with the repository."""
    database = tmp_path / "db.sqlite3"
    subprocess.run(
        ["python3", "-c", f"import sqlite3; sqlite3.connect({str(database)!r}).execute('create table t(n)')"]
    )
    folders = {story.project.slug: repository_path(story.project)}
    backup.back_up(backup.Installation(tmp_path, database, folders, nullcontext), tmp_path / "b.zip", "1")
    return tmp_path / "b.zip"


def test_the_repository_of_a_backup_is_put_in(story: Story, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_user("root", superuser=True)
    root = repository_path(story.project)
    (root / "HEAD").write_text("torn")
    assert command(["project", "set-aside", story.project.slug, "--from", str(file), "--json"]) == 0
    aside = Path(json.loads(capsys.readouterr().out)["aside"])
    assert (aside / "HEAD").read_text() == "torn"
    assert repository_of(story.project).check() == story.done.commit
    row = SiteEvent.objects.get(action="repository.set_aside")
    assert row.detail == {"aside": aside.name, "backup": "b.zip"}
    assert not list(root.parent.glob(".replacing-*"))


def test_one_that_can_be_read_or_is_at_work_stays(story: Story) -> None:
    with pytest.raises(IllegalMove, match="can be read"):
        replace_repository(story.project, by=story.owner)
    (repository_path(story.project) / "HEAD").write_text("torn")
    with pytest.raises(NotAllowed):
        replace_repository(story.project, by=make_user("eve"))
    Task.objects.filter(pk=story.stuck.pk).update(status="running")
    with pytest.raises(IllegalMove, match="is at work"):
        replace_repository(story.project, by=story.owner)
    assert repository_path(story.project).is_dir()


def test_a_backup_that_lacks_it_or_is_damaged_changes_nothing(story: Story, file: Path) -> None:
    head = repository_path(story.project) / "HEAD"
    head.write_text("torn")
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(backup.BackupFailed):
        replace_repository(story.project, by=story.owner, backup=file)
    assert head.read_text() == "torn"
