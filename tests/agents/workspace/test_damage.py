"""Ten ways to break a repository: nothing is lost, and a sentence says what happened and what to do."""

import os
from pathlib import Path

import pytest

from agents.workspace import objects, turns
from agents.workspace.git import DiskFull, GitError, RepositoryDamaged
from agents.workspace.repository import Repository
from tests.agents.workspace.by_hand import git


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A run in the middle: one task is merged, the next is committed."""
    Repository(tmp_path / "repo", tmp_path / "trees").ensure("Chores")
    made = Repository(tmp_path / "repo", tmp_path / "trees", line="aiswe/run-1")
    made.begin()
    made.fast_forward(commit(made, {"a.py": "1\n"}))
    return made


def commit(repository: Repository, files: dict[str, str], base: str = "") -> str:
    tree = repository.candidate("t", base or repository.head(), files)
    return tree.commit(base or repository.head(), "A title", "", {"Task": "T-01", "Run": "1"})


def everything(root: Path) -> dict[str, bytes]:
    """All that lies in the repository."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def refused(repository: Repository) -> str:
    """What is said when work begins, by every door, with nothing changed."""
    before = everything(repository.root)
    with pytest.raises(RepositoryDamaged) as said:
        repository.ensure("Chores")
    with pytest.raises(RepositoryDamaged):
        repository.ensure("Chores", new=False)
    assert everything(repository.root) == before
    assert str(repository.root) in str(said.value)
    return str(said.value)


@pytest.mark.parametrize("line", ["refs/heads/main", "refs/heads/aiswe/run-1"])
def test_a_reference_of_zero_bytes(repository: Repository, line: str) -> None:
    kept = (repository.root / line).read_bytes()
    (repository.root / line).write_bytes(b"\0" * 41)
    broken = repository if "run" in line else Repository(repository.root, repository.worktrees)
    assert line in refused(broken)
    (repository.root / line).write_bytes(kept)
    assert broken.ensure("Chores") == repository.head()


def test_a_renamed_base_branch(repository: Repository) -> None:
    git(repository.root, "branch", "-m", "main", "trunk")
    told = refused(Repository(repository.root, repository.worktrees))
    assert "no branch main" in told
    assert "trunk" in told


def test_a_branch_of_the_run_that_somebody_deleted_is_not_begun_anew(repository: Repository) -> None:
    git(repository.root, "update-ref", "-d", "refs/heads/aiswe/run-1")
    assert "aiswe/run-1 is gone" in refused(repository)


def test_torn_packed_references(repository: Repository) -> None:
    git(repository.root, "pack-refs", "--all", "--prune")
    assert repository.check() == repository.head()
    path = repository.root / "packed-refs"
    path.write_bytes(path.read_bytes()[:-9])
    assert "packed-refs" in refused(repository)


@pytest.mark.parametrize("name", ["config", "HEAD"])
@pytest.mark.parametrize("content", [b"", b"\0" * 60])
def test_torn_files_of_git(repository: Repository, name: str, content: bytes) -> None:
    (repository.root / name).write_bytes(content)
    assert name in refused(repository)


def test_a_commit_that_is_not_there(repository: Repository) -> None:
    head = repository.head()
    (repository.root / "objects" / head[:2] / head[2:]).unlink()
    assert head in refused(Repository(repository.root, repository.worktrees, line="aiswe/run-1"))


def test_another_owner(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    told = refused(repository)
    assert "another user" in told
    assert "chown" in told


def test_a_folder_of_something_else_and_one_that_vanished(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "thesis.txt").write_text("mine")
    assert "not a bare git repository" in refused(Repository(tmp_path / "repo", tmp_path / "trees"))
    with pytest.raises(RepositoryDamaged, match="missing"):
        Repository(tmp_path / "gone", tmp_path / "trees").ensure("Chores", new=False)
    assert not (tmp_path / "gone").exists()


def test_a_damaged_repository_inside_a_persons_checkout_does_not_lead_to_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "theirs")
    home = tmp_path / ".aiswe"
    repository = Repository(home / "repo", home / "trees")
    sha = repository.ensure("Chores")
    (repository.root / "HEAD").unlink()
    with pytest.raises(RepositoryDamaged):
        repository.branch("new", sha)
    assert git(tmp_path, "branch", "--format=%(refname:short)") == "main"


def test_a_full_disk_leaves_what_was_merged_and_the_next_try_goes_on(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, real = repository.head(), os.fsync

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(objects.os, "fsync", full)
    with pytest.raises(DiskFull, match="full"):
        commit(repository, {"b.py": "2\n"})
    monkeypatch.setattr(objects.os, "fsync", real)
    assert repository.check() == head
    assert not list(repository.root.rglob("tmp_obj_*"))
    repository.fast_forward(commit(repository, {"b.py": "2\n"}))
    assert repository.read(repository.base_head(), "b.py") == "2\n"


@pytest.mark.parametrize("lock", ["refs/heads/aiswe/run-1.lock", "refs/heads/main.lock", "HEAD.lock"])
def test_locks_of_a_dead_git_of_ours_are_cleared(repository: Repository, lock: str) -> None:
    (repository.worktrees / ".writing").write_text('["refs/heads/aiswe/run-1", "refs/heads/main", "HEAD"]')
    (repository.root / lock).touch()
    repository.fast_forward(commit(repository, {"b.py": "2\n"}))
    assert repository.base_head() == repository.head()


def test_locks_of_somebody_elses_git_are_waited_for_and_left(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.3)
    sha, lock = commit(repository, {"b.py": "2\n"}), repository.root / "refs/heads/aiswe/run-1.lock"
    lock.touch()
    with pytest.raises(RepositoryDamaged, match=r"run-1\.lock was made by a git process that AI SWE did not start"):
        repository.fast_forward(sha)
    assert lock.exists()
    (repository.worktrees / ".writing").write_text('["refs/heads/aiswe/run-1"]')  # a later death is no proof either
    with pytest.raises(RepositoryDamaged):
        repository.fast_forward(sha)
    assert lock.exists()
    lock.unlink()
    repository.fast_forward(sha)


def test_a_persons_worktree_with_edits_is_not_touched_and_its_branch_stays(
    repository: Repository, tmp_path: Path
) -> None:
    theirs, stood = tmp_path / "theirs", repository.base_head()
    git(repository.root, "worktree", "add", "-q", str(theirs), "main")
    (theirs / "README.md").write_text("half a sentence")
    (theirs / "staged.py").write_text("x = 1\n")
    git(theirs, "add", "staged.py")
    before = git(theirs, "status", "--porcelain")
    repository.fast_forward(commit(repository, {"b.py": "2\n"}))
    assert git(theirs, "status", "--porcelain") == before
    assert (theirs / "README.md").read_text() == "half a sentence"
    assert repository.base_head() == stood
    assert "checked out" in repository.base_left()
    git(theirs, "checkout", "-q", "--detach")
    repository.fast_forward(commit(repository, {"c.py": "3\n"}))
    assert repository.base_head() == repository.head()


def foreign(repository: Repository) -> str:
    """A commit that somebody else puts on the base."""
    base = repository.base_head()
    tree = Repository(repository.root, repository.worktrees).candidate("f", base, {"theirs.py": "t\n"})
    sha = tree.commit(base, "Theirs", "", {})
    git(repository.root, "update-ref", "refs/heads/main", sha, base)
    return sha


def test_commits_of_others_on_the_base_stay_its_head(repository: Repository) -> None:
    assert not repository.base_moved()
    theirs = foreign(repository)
    repository.fast_forward(commit(repository, {"b.py": "2\n"}))
    assert repository.base_head() == theirs
    assert repository.base_moved()
    assert "main has moved" in repository.base_left()
    assert "aiswe/run-1" in repository.base_left()
    assert repository.read(repository.head(), "b.py") == "2\n"


def test_a_base_that_somebody_set_back_is_not_brought_forward_again(repository: Repository) -> None:
    git(repository.root, "update-ref", "refs/heads/main", "main~1")
    stood = repository.base_head()
    repository.fast_forward(commit(repository, {"b.py": "2\n"}))
    assert repository.base_head() == stood
    assert repository.base_moved()


def test_a_moved_base_is_taken_in_with_trailers_kept_and_the_old_commits_reachable(repository: Repository) -> None:
    theirs = foreign(repository)
    repository.fast_forward(commit(repository, {"b.py": "2\n"}))
    old = repository.head()
    taken = repository.take_in_base()
    assert list(taken.commits) == [old]
    assert repository.head() == taken.commits[old]
    assert repository.base_head() == theirs  # nobody has tested the new tree
    assert repository.store.parent(repository.head()) == theirs
    assert repository.merged("1", "T-01") == repository.head()
    assert set(repository.files(repository.head())) >= {"theirs.py", "a.py", "b.py"}
    assert not repository.base_moved()
    assert git(repository.root, "for-each-ref", "--format=%(objectname)", "refs/aiswe/run-1/before") == old
    assert repository.take_in_base().commits == {}
    repository.fast_forward(commit(repository, {"c.py": "3\n"}))
    assert repository.base_head() == repository.head()


def test_a_base_that_conflicts_is_not_taken_in(repository: Repository) -> None:
    foreign(repository)
    repository.fast_forward(commit(repository, {"theirs.py": "mine\n"}))
    stood = (repository.head(), repository.base_head())
    assert repository.take_in_base().conflicts == ("theirs.py",)
    assert (repository.head(), repository.base_head()) == stood


def test_a_shallow_clone(repository: Repository, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", "--depth", "1", f"file://{repository.root}", "shallow")
    clone = Repository(tmp_path / "shallow", tmp_path / "trees2", line="aiswe/run-2")
    begun = clone.begin()
    clone.fast_forward(commit(clone, {"b.py": "2\n"}))
    clone.pack()
    assert clone.read(clone.base_head(), "a.py") == "1\n"
    assert clone.merged("1", "T-01") == clone.head()
    assert clone.unreachable([begun, clone.head(), "0" * 40]) == ["0" * 40]
    assert (clone.root / "shallow").exists()


def test_a_submodule_stays_in_the_tree(repository: Repository) -> None:
    base, pinned = repository.head(), "1234567890" * 4
    rows = git(repository.root, "ls-tree", base) + f"\n160000 commit {pinned}\tlib"
    tree = git(repository.root, "mktree", text=f"{rows}\n".encode())
    sha = git(repository.root, "commit-tree", tree, "-p", base, "-m", "with a submodule")
    repository.fast_forward(sha)
    folder = repository.candidate("t", sha, {"b.py": "2\n"})
    assert not (folder.path / "lib").exists()
    repository.fast_forward(folder.commit(sha, "A title", "", {}))
    assert f"160000 commit {pinned}\tlib" in git(repository.root, "ls-tree", "main")


def test_a_repository_is_set_aside_whole_and_only_when_asked(repository: Repository) -> None:
    held, head = everything(repository.root), repository.head()
    aside = repository.set_aside()
    assert aside.name.startswith("repo.set-aside-20")
    assert everything(aside) == held
    assert Repository(repository.root, repository.worktrees).ensure("Chores") != head


def test_packing_drops_nothing_even_of_what_no_branch_leads_to(repository: Repository) -> None:
    stray = commit(repository, {"tried.py": "t\n"})
    repository.pack()
    head = repository.head()
    assert not (repository.root / "objects" / head[:2] / head[2:]).exists()
    fresh = Repository(repository.root, repository.worktrees, line="aiswe/run-1")
    assert fresh.check() == repository.head()
    assert git(repository.root, "cat-file", "-t", stray) == "commit"
    fresh.fast_forward(commit(fresh, {"b.py": "2\n"}))
    git(repository.root, "fsck", "--strict")


def test_a_branch_that_is_there_is_not_overwritten(repository: Repository) -> None:
    repository.branch("tests/more", repository.head())
    with pytest.raises(GitError):
        repository.branch("tests/more", repository.base_head())
