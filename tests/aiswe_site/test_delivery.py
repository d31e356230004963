"""`aiswe project export|clone|take`: what was built goes out."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from projects.storage.paths import repository_of
from tests.aiswe_site.answers import CommandLine
from tests.dashboard.story import CODE, Story, add_code, tell
from tests.factories import make_requirement

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


@pytest.fixture
def story(tmp_path: Path, settings: Any, enqueued: list[Any]) -> Story:
    settings.AISWE_HOME = tmp_path / "home"
    told = tell()
    add_code(told)
    return told


def checkout(folder: Path, files: dict[str, str]) -> Path:
    """A person's own repository."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git = ["git", "-C", str(folder), "-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
    for argv in (["init", "-q"], ["config", "user.name", "Eve"], ["config", "user.email", "e@example.org"]):
        subprocess.run([*git, *argv], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Mine"], check=True)
    return folder


def test_the_bill_of_a_project_names_its_packages_with_licences_and_follows_the_schema(
    story: Story, tmp_path: Path, cli: CommandLine
) -> None:
    lock = {"packages": {"node_modules/@a/b": {"version": "2.0.0", "license": "MIT OR ISC"}}}
    locked = {"requirements.lock.txt": "flask==3.1.0 \\\n    --hash=sha256:00\n", "package-lock.json": json.dumps(lock)}
    code = {"requirements.txt": "flask\nleft-pad\n", "notes.txt": "flask==1.0 is old\n"}
    repository = repository_of(story.project)
    tree = repository.candidate("packages", repository.head(), {**locked, **code})
    repository.fast_forward(tree.commit(repository.head(), "Lock", "", {}))
    text = cli.prints("project", "bill", story.project.slug)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    made = json.loads(text)
    assert made["metadata"]["component"]["name"] == story.project.slug
    licences = {
        one["purl"]: [entry.get("expression") for entry in one.get("licenses", [])] for one in made["components"]
    }
    assert licences == {"pkg:npm/%40a/b@2.0.0": ["MIT OR ISC"], "pkg:pypi/flask@3.1.0": [], "pkg:pypi/left-pad": []}
    target = tmp_path / "bill.json"
    cli.prints("project", "bill", story.project.slug, "-o", str(target))
    assert json.loads(target.read_text())["components"] == made["components"]


def test_a_commit_is_written_as_a_zip_or_a_bundle(story: Story, tmp_path: Path, cli: CommandLine) -> None:
    target = tmp_path / "out.zip"
    found = cli.answers("project", "export", story.project.slug, "-o", str(target))
    assert (found["commit"], found["bytes"]) == (story.done.commit, target.stat().st_size)
    archive = zipfile.ZipFile(target)
    assert {name: archive.read(name).decode() for name in CODE} == CODE
    bundle = tmp_path / "out.bundle"
    cli.answers("project", "export", story.project.slug, "--commit", "main", "-o", str(bundle))
    subprocess.run(["git", "clone", "-q", str(bundle), str(tmp_path / "cloned")], check=True)
    assert (tmp_path / "cloned" / "README.md").read_text() == CODE["README.md"]


def test_a_refused_export_leaves_no_file(story: Story, tmp_path: Path, cli: CommandLine) -> None:
    slug = story.project.slug
    cli.answers("project", "export", slug, "-o", str(tmp_path / "x.rar"), code=2)
    found = cli.answers("project", "export", slug, "--commit", "nowhere", "-o", str(tmp_path / "x.zip"), code=1)
    assert "nowhere" in found["error"]
    other = story.waiting_plan.project.slug
    assert "no code yet" in cli.refuses("project", "export", other, "-o", str(tmp_path / "y.zip"), code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_clone_goes_into_a_new_folder_only(story: Story, tmp_path: Path, cli: CommandLine) -> None:
    target = tmp_path / "cloned"
    found = cli.answers("project", "clone", story.project.slug, str(target))
    assert found["head"] == story.done.commit
    assert (target / "app" / "todos.py").read_text() == CODE["app/todos.py"]
    cli.answers("project", "clone", story.project.slug, str(target), code=2)


def test_one_task_is_taken_over_into_a_checkout_of_ones_own(story: Story, tmp_path: Path, cli: CommandLine) -> None:
    mine = checkout(tmp_path / "mine", {"README.md": f"# {story.project.name}\n", "own.txt": "mine\n"})
    found = cli.answers("project", "take", story.project.slug, "T-01", str(mine))
    assert (found["applied"], found["commit"]) == (True, story.done.commit)
    assert (mine / "app" / "todos.py").read_text() == CODE["app/todos.py"]
    assert (mine / "own.txt").read_text() == "mine\n"
    other = checkout(tmp_path / "other", {"app/todos.py": "another = 1\n"})
    found = cli.answers("project", "take", story.project.slug, "T-01", str(other), code=1)
    assert found["applied"] is False
    cli.answers("project", "take", story.project.slug, "T-02", str(mine), code=2)


def test_the_trace_is_a_table_json_or_csv(story: Story, cli: CommandLine) -> None:
    slug = story.project.slug
    found = cli.answers("trace", slug)
    rows = {row["requirement"]: row for row in found["rows"]}
    assert (found["at"], rows["FR-02"]["state"]) == ("main", "in work")
    assert "tests/test_todos.py:4 test_add" in rows["FR-01"]["tests"]
    assert cli.prints("trace", slug, "--csv").startswith("requirement,author_id,")
    assert "FR-01" in cli.prints("trace", slug)
    make_requirement(story.document, "X-1")
    cli.prints("trace", slug, "--csv", code=1)  # something is missing
