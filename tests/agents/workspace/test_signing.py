"""Commits are made in the name that the project's settings give, signed off and signed where they say so."""

import shutil
import subprocess
from pathlib import Path

import pytest

from agents.workspace.git import CommitSettings, GitError
from agents.workspace.repository import Repository
from tests.agents.workspace.by_hand import git


def commit(place: Path, settings: CommitSettings) -> tuple[Repository, str]:
    made = Repository(place / "repo", place / "trees", settings=settings)
    base = made.ensure("Chores")
    return made, made.candidate("t", base, {"a.py": "1\n"}).commit(base, "A title", "", {"Task": "T-01"})


def test_author_and_sign_off(tmp_path: Path) -> None:
    repository, sha = commit(tmp_path, CommitSettings("Ada", "ada@example.com", sign_off=True))
    form = "%an|%ae|%cn|%ce|%(trailers:key=Signed-off-by,valueonly)"
    text = git(repository.root, "log", "-1", f"--format={form}", sha)
    assert text == "Ada|ada@example.com|Ada|ada@example.com|Ada <ada@example.com>"
    assert repository.store.listing(sha).entries["a.py"]


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen")
def test_a_signature_that_git_verifies(tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    repository, sha = commit(tmp_path, CommitSettings("Ada L.", "ada@example.com", signing_key=str(key)))
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.com {key.with_suffix('.pub').read_text()}")
    git(repository.root, "-c", f"gpg.ssh.allowedSignersFile={signers}", "verify-commit", sha)


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen")
def test_a_key_that_cannot_sign_stops_the_commit(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo", tmp_path / "trees")
    base = made.ensure("Chores")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "a passphrase", "-f", str(key)], check=True)
    for path in (key, tmp_path / "gone"):
        signing = Repository(made.root, made.worktrees, settings=CommitSettings(signing_key=str(path)))
        with pytest.raises(GitError):
            signing.candidate("t", base, {"a.py": "1\n"}).commit(base, "A title", "", {})
