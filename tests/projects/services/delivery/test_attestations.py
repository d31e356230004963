"""Merges are attested once, and what is attested is checked without the database."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agents.workspace.notes import note_of, noted, write_note
from aiswe_site.cli.app import run as command
from projects.jobs.runs import schedule_run
from projects.models import Task
from projects.services.audit import signing
from projects.services.audit.attestation import envelope, verify_commit
from projects.services.delivery.attestations import attest_merges, predicate_of
from projects.storage.paths import repository_of
from tests.aiswe_site.running import REPOSITORY
from tests.dashboard.story import Story, finish
from tests.rows import fresh

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story_with_code: Story) -> Story:
    return story_with_code


@pytest.fixture
def folder(story: Story) -> Path:
    return repository_of(story.project).git_dir


def public(tmp_path: Path) -> Path:
    file = tmp_path / "aiswe.pub"
    file.write_text(signing.public_pem(signing.private_key().public_key()))
    return file


def problem(folder: Path, commit: str) -> str:
    report = verify_commit(folder, commit, signing.private_key().public_key())
    assert not report.ok
    return report.problem


def test_a_merge_is_attested_once_with_what_was_known_of_it(story: Story, folder: Path) -> None:
    assert attest_merges(story.run) == 1
    first = note_of(folder, story.done.commit)
    assert attest_merges(story.run) == 0
    assert note_of(folder, story.done.commit) == first
    report = verify_commit(folder, story.done.commit, signing.private_key().public_key())
    assert report.ok, report.problem
    story.run.refresh_from_db()
    told = report.predicate
    assert (told["task"], told["run"]) == ("T-01", str(story.run.pk))
    assert [row["key"] for row in told["requirements"]] == ["FR-01", "FR-02"]
    assert told["tests"] == {"passed": 4, "failed": 0, "errors": 0, "skipped": 0}
    assert [row["kind"] for row in told["approvals"]] == ["plan"]
    assert told["trail"]["head"] == story.run.events.get(seq=told["trail"]["seq"]).hash


@pytest.mark.django_db(transaction=True)
def test_what_a_killed_worker_left_out_is_attested_by_the_next_round(story: Story, folder: Path) -> None:
    """Killed between the merge and the note: the run's next schedule, which the sweep starts, writes it."""
    assert noted(folder) == set()
    Task.objects.filter(run=story.run).exclude(pk=story.done.pk).update(status="skipped")
    schedule_run(story.run.pk)
    assert fresh(story.run).status == "finished"
    assert noted(folder) == {story.done.commit}


def test_a_merge_that_cannot_be_attested_stays_merged(story: Story, folder: Path) -> None:
    Task.objects.filter(run=story.run, key="T-02").update(status="merged", commit=story.done.commit)
    assert attest_merges(story.run) == 1  # T-01; the commit names no T-02
    Task.objects.filter(run=story.run, key="T-02").update(commit="0" * 40)
    assert attest_merges(story.run) == 0
    finish(story)
    assert story.run.status == "finished"


def test_a_commit_is_verified_in_a_clone_without_the_installation(story: Story, folder: Path, tmp_path: Path) -> None:
    attest_merges(story.run)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(folder), str(clone)], check=True)
    argv = [sys.executable, "-m", "aiswe_site.cli", "audit", "verify-commit", str(clone), "HEAD", "--json"]
    argv += ["--key", str(public(tmp_path))]
    bare = {"PATH": "/usr/bin:/bin", "AISWE_HOME": str(tmp_path / "nowhere"), "PYTHONPATH": str(REPOSITORY)}
    missing = subprocess.run(argv, capture_output=True, text=True, env=bare)
    assert missing.returncode == 1
    assert "no attestation" in json.loads(missing.stdout)["problem"]
    fetch = ["git", "-C", str(clone), "fetch", "-q", "origin", "refs/notes/aiswe:refs/notes/aiswe"]
    subprocess.run(fetch, check=True)
    found = subprocess.run(argv, capture_output=True, text=True, env=bare)
    assert (found.returncode, json.loads(found.stdout)["ok"]) == (0, True), found.stderr
    assert not (tmp_path / "nowhere").exists()


def _forged(story: Story, change: str) -> str:
    """A note that is wrong in one way."""
    key = signing.private_key()
    facts = {"tree": "0" * 40, "run": str(story.run.pk), "task": "T-01"}
    good = note_of(repository_of(story.project).git_dir, story.done.commit)
    if change == "payload":
        packed = json.loads(good)
        payload = base64.b64decode(packed["payload"]).replace(b'"passed":4', b'"passed":9')
        return json.dumps({**packed, "payload": base64.b64encode(payload).decode()})
    if change == "key":
        return envelope(story.done.commit, predicate_of(story.done), Ed25519PrivateKey.generate())
    if change == "commit":
        return envelope("1" * 40, {**predicate_of(story.done), **facts}, key)
    if change == "tree":
        return envelope(story.done.commit, {**predicate_of(story.done), **facts}, key)
    return {"json": "not json", "list": "[1]", "none": "{}", "deep": "[" * 50_000}[change]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("payload", "not signed with the key"),
        ("key", "not signed with the key"),
        ("commit", "about another commit"),
        ("tree", "another tree"),
        ("json", "not a DSSE envelope"),
        ("list", "not a DSSE envelope"),
        ("none", "not a DSSE envelope"),
        ("deep", "not a DSSE envelope"),
    ],
)
def test_a_changed_or_moved_attestation_is_refused(story: Story, folder: Path, change: str, words: str) -> None:
    attest_merges(story.run)
    write_note(repository_of(story.project), story.done.commit, _forged(story, change))
    assert words in problem(folder, story.done.commit)


def test_a_commit_that_is_not_there_and_one_without_a_note_are_refused(
    story: Story, folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "names no commit" in problem(folder, "nowhere")
    assert "no attestation" in problem(folder, repository_of(story.project).store.parent(story.done.commit))
    code = command(["audit", "verify-commit", str(folder), "main", "--key", str(public(tmp_path))])
    assert code == 1
    assert "✕ The commit has no attestation here" in capsys.readouterr().out
