"""`aiswe audit`: proving trails, and taking them away signed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from projects.models import Event, Run, Task
from projects.services.audit.sitelog import note
from projects.storage.paths import repository_of
from tests.aiswe_site.answers import CommandLine
from tests.aiswe_site.running import COMMAND, REPOSITORY
from tests.factories import bare_run, make_user
from tests.rows import emit
from tests.tables import each_row

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process")]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Any) -> None:
    settings.AISWE_HOME = tmp_path


@pytest.fixture
def a_run() -> Run:
    made = bare_run()
    for number in range(4):
        emit(made.pk, "cmd", summary=f"command {number}")
    note("anna", "role.given", "ben")
    return made


def test_all_trails_are_proven_at_once(a_run: Run, cli: CommandLine) -> None:
    noted, found = cli.answers("audit", "note"), cli.answers("audit", "verify")
    assert noted == {"path": found["heads"]["path"], "added": 2}
    assert (found["ok"], found["missing"], found["heads"]["lines"]) == (True, [], 2)
    assert [(row["run"], row["ok"], row["anchors"]) for row in found["runs"]] == [(a_run.pk, True, 1)]
    assert (found["site"]["events"], found["site"]["anchors"]) == (2, 1)


def test_the_first_bad_row_is_named(a_run: Run, unguarded: None, cli: CommandLine) -> None:
    Event.objects.filter(run=a_run, seq=3).update(summary="nothing happened")
    found = cli.answers("audit", "verify", str(a_run.pk), code=1)
    assert (found["ok"], found["first_bad_seq"], found["events"]) == (False, 3, 2)
    assert "Event 3 was changed" in cli.prints("audit", "verify", code=1)


def test_the_commits_of_a_run_speak_for_its_trail(a_run: Run, unguarded: None, cli: CommandLine) -> None:
    repository = repository_of(a_run.project)
    base = repository.ensure("Test")
    third = a_run.events.get(seq=3)
    tree = repository.worktree("t", base)
    tree.write({"a.py": "A = 1\n"})
    trailers = {"Task": "T-01", "Run": str(a_run.pk), "Event": "3", "Audit-Head": third.hash}
    repository.fast_forward(tree.commit(base, "A", "Expected.", trailers))
    found = cli.answers("audit", "verify", str(a_run.pk))
    assert found["anchors"] == 1
    a_run.events.filter(seq__gt=2).delete()
    Run.objects.filter(pk=a_run.pk).update(last_seq=2, head_hash=a_run.events.get(seq=2).hash)
    found = cli.answers("audit", "verify", str(a_run.pk), code=1)
    assert found["first_bad_seq"] == 3
    assert "commit" in found["problem"]


def test_a_merged_commit_that_is_not_in_the_repository_is_found(a_run: Run, cli: CommandLine) -> None:
    Task.objects.create(run=a_run, ordinal=1, key="T-01", title="t", status=Task.Status.MERGED, commit="ab" * 20)
    found = cli.answers("audit", "verify", str(a_run.pk), code=1)
    assert found["ok"] is False
    assert "missing" in found["problem"] or "cannot be read" in found["problem"]
    repository = repository_of(a_run.project)
    repository.ensure("Test")
    found = cli.answers("audit", "verify", code=1)
    (row,) = [row for row in found["runs"] if row["run"] == a_run.pk]
    assert "T-01 (ababababab)" in row["problem"]
    Task.objects.filter(run=a_run).update(commit=repository.head())
    assert "merged commits" not in cli.answers("audit", "verify", str(a_run.pk), code=1)["problem"]


def test_a_repository_that_cannot_be_read_proves_nothing(a_run: Run, cli: CommandLine) -> None:
    repository = repository_of(a_run.project)
    repository.ensure("Test")
    cli.answers("audit", "verify", str(a_run.pk))
    (repository.root / "refs/heads/main").write_bytes(bytes(41))
    found = cli.answers("audit", "verify", str(a_run.pk), code=1)
    assert "refs/heads/main names no commit" in found["problem"]


def test_what_was_announced_and_never_ended_is_told(a_run: Run, cli: CommandLine) -> None:
    emit(a_run.pk, "cmd", summary="pytest …", key="x:intent", payload={"phase": "intent", "of": "x"}, outcome="intent")
    assert "announced “pytest …”: no outcome is on record yet" in cli.prints("audit", "verify", str(a_run.pk))


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_export_is_signed_and_proven_without_the_database(
    a_run: Run, form: str, tmp_path: Path, cli: CommandLine
) -> None:
    target, key = tmp_path / f"out.{form}", tmp_path / "key.pem"
    key.write_text(cli.prints("audit", "key"))
    cli.prints("audit", "export", str(a_run.pk), "--format", form, "-o", str(target))

    def checked() -> subprocess.CompletedProcess[str]:
        words = [*COMMAND, "audit", "check-export", str(target), "--key", str(key), "--json"]
        elsewhere = {"PATH": "/usr/bin:/bin", "DJANGO_SETTINGS_MODULE": "there.is.none"}
        return subprocess.run(words, cwd=REPOSITORY, env=elsewhere, capture_output=True, text=True)

    done = checked()
    assert (done.returncode, json.loads(done.stdout)["rows"]) == (0, 4 if form == "jsonl" else 0), done.stderr
    target.write_text(target.read_text().replace("command 2", "command 9"))
    assert checked().returncode == 1


def test_the_sites_trail_can_be_exported_too(a_run: Run, cli: CommandLine) -> None:
    assert json.loads(cli.prints("audit", "export", "site"))["action"] == "role.given"


@each_row(
    "words",
    [
        ["export", "sight"],
        ["export", "424242"],
        ["verify", "--head", "0" * 64],
        ["check-export", __file__, "--key", __file__],
        ["check-export", "/no/such", "--key", __file__],
    ],
)
def test_wrong_use_is_named(words: list[str], cli: CommandLine) -> None:
    assert cli.refuses("audit", *words)


def test_an_edited_role_is_named(a_run: Run, cli: CommandLine) -> None:
    assert cli.answers("audit", "verify")["decisions"] == []
    a_run.project.memberships.create(user=make_user("mallory"), role="security")
    found = cli.answers("audit", "verify", code=1)
    assert (found["ok"], len(found["decisions"])) == (False, 1)
    assert "mallory is security" in found["decisions"][0]["problem"]
