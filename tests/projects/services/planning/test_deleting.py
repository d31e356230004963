"""A project is deleted whole, by an administrator who names it; the trails say that it was."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from agents.memory.base import Lesson
from agents.memory.chroma import ChromaLessons
from aiswe_site.cli.app import run as command
from projects.errors import BadInput, IllegalMove, NotAllowed
from projects.jobs.upkeep import sweep
from projects.models import Blob, Event, GraphCheckpoint, Project, Run, SiteEvent, Transition
from projects.models.insert_only import drop_statements
from projects.services.audit.chain import DELETED, missing_runs, verify_site
from projects.services.audit.checkpoints import note_heads, read_heads, trail_of
from projects.services.audit.decisions import differences
from projects.services.memory import lessons
from projects.services.planning.deleting import delete_project
from projects.services.planning.projects import create_project
from projects.storage.paths import repository_path
from tests.dashboard.story import Story, finish
from tests.projects.models.triggers import missing_triggers
from tests.rows import emit, run_statements

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story_with_code: Story) -> Story:
    return story_with_code


def test_everything_of_it_goes_and_nothing_else(story: Story, root: Any, tmp_path: Path) -> None:
    other, slug = story.waiting_plan.project, story.project.slug
    kept_run = Run.objects.create(project=other, kind=Run.Kind.BUILD, status=Run.Status.RUNNING)
    emit(kept_run.pk, "thought", summary="x", blobs={"prompt": ["You write code.", "kept alone"]})
    GraphCheckpoint.objects.create(thread_id=f"task-{story.done.pk}-g1", checkpoint_id="1", kind="k", blob=b"")
    GraphCheckpoint.objects.create(thread_id=f"task-{story.done.pk}0-g1", checkpoint_id="1", kind="k", blob=b"")
    for name in (f"repositories/{slug}.set-aside-20261122-120000", f"worktrees/{slug}/T-01", "repositories/notes"):
        (tmp_path / name).mkdir(parents=True)
    finish(story)
    note_heads()
    kept = delete_project(story.project, by=root, named=slug)

    assert list(Project.objects.all()) == [other]
    assert set(Event.objects.values_list("run", flat=True)) == {kept_run.pk}
    assert Transition.objects.filter(kind="run").count() == 0
    assert set(Blob.objects.values_list("content", flat=True)) == {"You write code.", "kept alone"}
    assert GraphCheckpoint.objects.get().thread_id == f"task-{story.done.pk}0-g1"
    assert sorted(path.name for path in (tmp_path / "repositories").iterdir()) == ["notes"]
    assert not list((tmp_path / "worktrees").iterdir())
    assert missing_triggers(connection) == []

    assert (kept.actor, kept.subject, [end["run"] for end in kept.detail["runs"]]) == ("root", slug, [story.run.pk])
    heads = read_heads()
    assert heads.ok
    assert missing_runs(heads) == []
    assert verify_site(heads).ok
    assert differences() == []


def test_verification_says_what_who_deleted(story: Story, root: Any, capsys: pytest.CaptureFixture[str]) -> None:
    finish(story)
    note_heads()
    delete_project(story.project, by=root, named=story.project.slug)
    assert command(["audit", "verify", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["project"], row["by"]) for row in found["deleted"]] == [(story.project.slug, "root")]
    assert command(["audit", "verify"]) == 0
    assert f"project {story.project.slug} was deleted by root" in capsys.readouterr().out


def test_a_run_that_went_another_way_is_still_missing(story: Story, root: Any) -> None:
    finish(story)
    emit(story.run.pk, "cmd", summary="x")
    note_heads()
    slug, run = story.project.slug, story.run
    end = {"run": run.pk, "seq": run.last_seq, "hash": run.head_hash}  # of before the last event
    delete_project(story.project, by=root, named=slug)
    assert missing_runs(read_heads()) == []
    run_statements(connection, drop_statements(connection.vendor))
    row = SiteEvent.objects.filter(action=DELETED)
    for forged in ([], [end], [{**end, "seq": end["seq"] + 1, "hash": "0" * 64}]):
        row.update(detail={"runs": forged})
        assert missing_runs(read_heads()) == [trail_of(run.pk)]


def test_it_is_refused_without_the_right_the_name_or_an_end_of_the_work(story: Story, root: Any) -> None:
    before = Event.objects.count(), SiteEvent.objects.count()
    with pytest.raises(NotAllowed, match="administrators"):
        delete_project(story.project, by=story.owner, named=story.project.slug)
    with pytest.raises(BadInput, match="type the short name"):
        delete_project(story.project, by=root, named=story.project.name)
    with pytest.raises(IllegalMove, match="is open"):
        delete_project(story.project, by=root, named=story.project.slug)
    assert (Event.objects.count(), SiteEvent.objects.count()) == before
    assert missing_triggers(connection) == []
    assert (repository_path(story.project) / "HEAD").is_file()


def test_what_fails_half_way_leaves_all_of_it(story: Story, root: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(story)
    before = Event.objects.count(), Blob.objects.count()

    def broken(*_: Any) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr("projects.services.planning.deleting.note", broken)
    with pytest.raises(RuntimeError):
        delete_project(story.project, by=root, named=story.project.slug)
    assert (Event.objects.count(), Blob.objects.count()) == before
    assert Project.objects.filter(pk=story.project.pk).exists()
    assert missing_triggers(connection) == []
    assert (repository_path(story.project) / "HEAD").is_file()


def test_its_short_name_is_never_given_again_and_a_link_is_left(story: Story, root: Any, tmp_path: Path) -> None:
    finish(story)
    slug = story.project.slug
    delete_project(story.project, by=root, named=slug)
    assert create_project(story.project.name, by=story.owner).slug != slug
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (tmp_path / "repositories" / slug).symlink_to(precious)
    delete_project(story.waiting_plan.project, by=root, named=story.waiting_plan.project.slug)
    assert (precious / "file").exists()
    assert differences() == []


def test_the_command_asks_for_the_name_and_takes_a_backup_first(
    story: Story, root: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(story)
    slug = story.project.slug
    assert command(["project", "delete", slug, "--json"]) == 1
    assert "type the short name" in json.loads(capsys.readouterr().out)["error"]
    made: list[Path] = []
    monkeypatch.setattr(
        "projects.services.installation.backups.write_backup", lambda file: made.append(file) or {"file": str(file)}
    )
    words = ["project", "delete", slug, "--name", slug, "--backup", str(tmp_path / "b.zip"), "--json"]
    assert command(words) == 0
    assert json.loads(capsys.readouterr().out)["backup"] == str(tmp_path / "b.zip")
    assert made == [tmp_path / "b.zip"]
    assert not Project.objects.filter(slug=slug).exists()


@pytest.fixture
def memory() -> Iterator[ChromaLessons]:
    lessons.store.cache_clear()
    yield lessons.store()
    lessons.store().close()
    lessons.store.cache_clear()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_its_lessons_go_with_it_at_once_or_where_the_memory_is(
    story: Story, root: Any, memory: ChromaLessons, elsewhere: bool, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.jobs.upkeep.close_old_connections", lambda: None)
    finish(story)
    other = story.waiting_plan.project.slug
    for slug in (story.project.slug, other):
        memory.add(Lesson(slug, "s1", f"cause in {slug}", "fix", 1.0, slug, "T-01", "1"))
    settings.REDIS_URL = "redis://elsewhere" if elsewhere else ""  # then the workers have the memory
    delete_project(story.project, by=root, named=story.project.slug)
    assert len(memory.all()) == 1 + elsewhere
    sweep()
    assert [lesson.project for lesson in memory.all()] == [other]
