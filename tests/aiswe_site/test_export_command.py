"""`aiswe export trajectories`: rewarded tries on stdout or in a file, for those who may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aiswe_site.cli.app import run
from aiswe_site.startup import django as site_django
from projects.models import Run
from tests.factories import make_user
from tests.projects.services.insight.test_trajectories import BAD, GOOD, Story, repaired

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_django, "start", lambda migrate=True: None)


@pytest.fixture
def story() -> Story:
    make_user("root", superuser=True)
    return repaired()


def test_one_run_is_printed_a_line_for_each_chat(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "trajectories", str(story.run.pk), "--format", "sft"]) == 0
    said = capsys.readouterr()
    assert [json.loads(line)["messages"][-1]["content"] for line in said.out.splitlines()] == [GOOD]
    assert "1 lines, sft." in said.err


def test_all_runs_go_to_a_file(story: Story, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repaired()
    target = tmp_path / "tries.jsonl"
    assert run(["export", "trajectories", "--all", "--format", "grpo", "-o", str(target)]) == 0
    assert len([json.loads(line) for line in target.read_text().splitlines()]) == 4
    assert capsys.readouterr().out == ""


def test_json_is_one_array(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "trajectories", str(story.run.pk), "--format", "dpo", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert set(row) == {"prompt", "chosen", "rejected", "source"}


def test_a_recording_is_named_as_one(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    Run.objects.filter(pk=story.run.pk).update(recording=True)
    assert run(["export", "trajectories", "--all", "--format", "sft"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["source"]["recording"] is True
    assert f"The words of run {story.run.pk} are recorded" in said.err


def test_all_is_only_what_this_person_may(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    other = repaired()
    auditor = make_user(role="auditor", project=other.run.project)
    assert run(["export", "trajectories", "--all", "--format", "sft", "--as", auditor.username]) == 0
    assert [json.loads(line)["source"]["run"] for line in capsys.readouterr().out.splitlines()] == [other.run.pk]


@pytest.mark.parametrize("which", ["--all", "one"])
def test_who_may_not_is_told_who_may(story: Story, which: str, capsys: pytest.CaptureFixture[str]) -> None:
    developer = make_user(role="developer", project=story.run.project)
    named = str(story.run.pk) if which == "one" else which
    assert run(["export", "trajectories", named, "--format", "sft", "--as", developer.username]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "Who may: security, auditor" in said.err
    assert "--as" in said.err


def test_the_events_of_a_project_are_those_of_all_its_runs(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    other = repaired()
    Run.objects.filter(pk=story.run.pk).update(kind=Run.Kind.PLAN)
    slug = story.run.project.slug
    assert run(["export", "trajectories", "--project", slug, "--format", "events"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(row["project"], row["run"]) for row in found} == {(slug, story.run.pk)}
    assert [row["texts"]["output"] for row in found if row["type"] == "thought"] == [BAD, GOOD]
    assert run(["export", "trajectories", "--project", slug, "--format", "sft"]) == 1, "a plan trains no coder"
    auditor = make_user(role="auditor", project=other.run.project)
    capsys.readouterr()
    assert run(["export", "trajectories", "--project", slug, "--format", "events", "--as", auditor.username]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("words", [[], ["1", "--all"], ["--all", "--project", "x"]], ids=["none", "both", "two"])
def test_one_run_or_all_must_be_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "trajectories", *words, "--format", "sft"]) == 2
    assert "Name one run, one project, or all of them." in capsys.readouterr().err


def test_no_empty_file_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[Any]) -> None:
    make_user("root", superuser=True)
    target = tmp_path / "none.jsonl"
    assert run(["export", "trajectories", "--all", "--format", "sft", "-o", str(target)]) == 1
    assert "nothing was built yet" in capsys.readouterr().err
    assert not target.exists()


def test_a_folder_that_is_not_there_is_named(story: Story, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "no" / "such.jsonl"
    assert run(["export", "trajectories", "--all", "--format", "sft", "-o", str(target)]) == 2
    assert f"{target} cannot be written" in " ".join(capsys.readouterr().err.split())
