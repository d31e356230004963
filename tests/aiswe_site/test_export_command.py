"""`aiswe export trajectories`: rewarded tries on stdout or in a file, for those who may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from projects.models import Run
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_user
from tests.projects.services.insight.test_trajectories import BAD, GOOD, Story, repaired

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


@pytest.fixture
def story() -> Story:
    make_user("root", superuser=True)
    return repaired()


def lines(cli: CommandLine, *words: str) -> list[Any]:
    return [json.loads(line) for line in cli.prints("export", "trajectories", *words).splitlines()]


def test_one_run_is_printed_a_line_for_each_chat(story: Story, cli: CommandLine) -> None:
    assert [row["messages"][-1]["content"] for row in lines(cli, str(story.run.pk), "--format", "sft")] == [GOOD]
    assert "1 lines, sft." in cli.err


def test_all_runs_go_to_a_file(story: Story, tmp_path: Path, cli: CommandLine) -> None:
    repaired()
    target = tmp_path / "tries.jsonl"
    assert lines(cli, "--all", "--format", "grpo", "-o", str(target)) == []
    assert len([json.loads(line) for line in target.read_text().splitlines()]) == 4


def test_json_is_one_array(story: Story, cli: CommandLine) -> None:
    (row,) = cli.answers("export", "trajectories", str(story.run.pk), "--format", "dpo")
    assert set(row) == {"prompt", "chosen", "rejected", "source"}


def test_a_recording_is_named_as_one(story: Story, cli: CommandLine) -> None:
    Run.objects.filter(pk=story.run.pk).update(recording=True)
    (row,) = lines(cli, "--all", "--format", "sft")
    assert row["source"]["recording"] is True
    assert f"The words of run {story.run.pk} are recorded" in cli.err


def test_all_is_only_what_this_person_may(story: Story, cli: CommandLine) -> None:
    other = repaired()
    auditor = make_user(role="auditor", project=other.run.project)
    rows = lines(cli, "--all", "--format", "sft", "--as", auditor.username)
    assert [row["source"]["run"] for row in rows] == [other.run.pk]


@pytest.mark.parametrize("which", ["--all", "one"])
def test_who_may_not_is_told_who_may(story: Story, which: str, cli: CommandLine) -> None:
    developer = make_user(role="developer", project=story.run.project)
    named = str(story.run.pk) if which == "one" else which
    refusal = cli.refuses("export", "trajectories", named, "--format", "sft", "--as", developer.username, code=1)
    assert "Who may: security, auditor" in refusal
    assert "--as" in refusal


def test_the_events_of_a_project_are_those_of_all_its_runs(story: Story, cli: CommandLine) -> None:
    other = repaired()
    Run.objects.filter(pk=story.run.pk).update(kind=Run.Kind.PLAN)
    slug = story.run.project.slug
    found = lines(cli, "--project", slug, "--format", "events")
    assert {(row["project"], row["run"]) for row in found} == {(slug, story.run.pk)}
    assert [row["texts"]["output"] for row in found if row["type"] == "thought"] == [BAD, GOOD]
    words = ("export", "trajectories", "--project", slug, "--format")
    cli.refuses(*words, "sft", code=1)  # a plan trains no coder
    auditor = make_user(role="auditor", project=other.run.project)
    cli.refuses(*words, "events", "--as", auditor.username, code=1)


@pytest.mark.parametrize("words", [[], ["1", "--all"], ["--all", "--project", "x"]], ids=["none", "both", "two"])
def test_one_run_or_all_must_be_named(words: list[str], cli: CommandLine) -> None:
    refusal = cli.refuses("export", "trajectories", *words, "--format", "sft")
    assert "Name one run, one project, or all of them." in refusal


def test_no_empty_file_is_left(tmp_path: Path, cli: CommandLine) -> None:
    make_user("root", superuser=True)
    target = tmp_path / "none.jsonl"
    refusal = cli.refuses("export", "trajectories", "--all", "--format", "sft", "-o", str(target), code=1)
    assert "nothing was built yet" in refusal
    assert not target.exists()


def test_a_folder_that_is_not_there_is_named(story: Story, tmp_path: Path, cli: CommandLine) -> None:
    target = tmp_path / "no" / "such.jsonl"
    refusal = cli.refuses("export", "trajectories", "--all", "--format", "sft", "-o", str(target))
    assert f"{target} cannot be written" in " ".join(refusal.split())
