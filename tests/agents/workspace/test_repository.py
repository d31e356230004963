"""The repository survives crashes, keeps tasks apart and runs nothing that lies in it."""

from pathlib import Path

import pytest

from agents.workspace.git import GitError
from agents.workspace.repository import Repository
from tests.agents.workspace.by_hand import git

TRAILERS = {"Task": "T-01", "Requirement": "FR-01", "Run": "7", "Event": "12", "Audit-Head": "ab" * 32}


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repo", tmp_path / "trees")
    made.ensure("Chores")
    return made


def commit(repository, name, files, base=None, trailers=TRAILERS):
    base = base or repository.head()
    tree = repository.worktree(name, base)
    tree.write(files)
    return tree.commit(base, "A title", "What one sees", trailers)


def test_a_new_repository_has_one_commit_and_making_it_again_changes_nothing(repository):
    first = repository.head()
    assert repository.ensure("Chores") == first
    assert repository.files(first) == [".gitignore", "README.md"]


def test_half_a_repository_left_by_a_crash_is_made_anew(tmp_path):
    (tmp_path / ".repo.new" / "objects").mkdir(parents=True)  # it has its name only when it is whole
    (tmp_path / "repo").mkdir()
    made = Repository(tmp_path / "repo", tmp_path / "trees")
    assert made.ensure("Chores") == made.head()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["repo", "trees"]


def test_a_commit_carries_its_trailers_and_reaches_main_by_fast_forward(repository):
    sha = commit(repository, "t1", {"a/b.py": "x = 1\n"})
    assert repository.merged("7", "T-01") == ""
    repository.fast_forward(sha)
    assert repository.head() == sha
    assert repository.merged("7", "T-01") == sha
    assert repository.merged("8", "T-01") == ""
    assert repository.read(sha, "a/b.py") == "x = 1\n"
    assert "Audit-Head: " + "ab" * 32 in git(repository.root, "log", "-1", "--format=%B")


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Fixes #1, closes acme/sums#2 and GH-3", "Fixes #|1, closes acme/sums#|2 and GH|-3"),
        (
            "Resolves !4 and https://localhost/acme/sums/-/issues/5",
            "Resolves !|4 and https:|//localhost/acme/sums/-/issues/5",
        ),
        ("Ask @mallory and @acme/owners [skip ci] [CI-Skip]", "Ask @|mallory and @|acme/owners [|skip ci] [|CI-Skip]"),
        ("Add C# names, a@example.org, x != 1 and https://example.org/a", None),
    ],
)
def test_nothing_in_a_title_or_a_text_makes_a_forge_act_and_the_trailers_stay(repository, written, kept):
    tree = repository.worktree("t1", repository.head())
    tree.write({"a.py": "1\n"})
    sha = tree.commit(repository.head(), written, f"So: {written}", TRAILERS | {"Requirement": "R1 (#7)"})
    said = (kept or written).replace("|", "\N{ZERO WIDTH SPACE}")
    shown = git(repository.root, "log", "-1", "--format=%B", sha)
    assert shown.startswith(f"{said}\n\nSo: {said}\n\nTask: T-01\nRequirement: R1 (#7)\n")


def test_two_tasks_that_begin_a_run_at_once_begin_it_at_the_same_commit(repository, monkeypatch):
    one, other = (Repository(repository.root, repository.worktrees, line="aiswe/run-7") for _ in range(2))
    monkeypatch.setattr(one, "base_head", lambda: other.begin())  # between a look and the move
    assert one.begin() == other.begin() == repository.head()


def test_a_worktree_forgets_an_earlier_try(repository):
    tree = repository.worktree("t1", repository.head())
    tree.write({"stale.py": "x\n", "README.md": "changed\n"})
    tree = repository.worktree("t1", repository.head())
    assert not (tree.path / "stale.py").exists()
    assert (tree.path / "README.md").read_text() == "# Chores\n"


def test_main_does_not_move_to_a_commit_that_is_not_its_descendant(repository):
    start = repository.head()
    repository.fast_forward(commit(repository, "t1", {"a.py": "1\n"}))
    stray = commit(repository, "t2", {"b.py": "2\n"}, base=start)
    with pytest.raises(GitError, match="does not build on"):
        repository.fast_forward(stray)


def test_a_change_is_replayed_on_what_others_merged(repository):
    start = repository.head()
    repository.fast_forward(commit(repository, "t1", {"a.py": "1\n"}))
    mine = commit(repository, "t2", {"b.py": "2\n"}, base=start)
    replay = repository.replay(mine, repository.head())
    assert replay.conflicts == ()
    assert replay.files == {"b.py": "2\n"}


def test_lines_that_both_sides_changed_come_back_with_markers(repository):
    start = repository.head()
    repository.fast_forward(commit(repository, "t1", {"app.py": "routes = [a]\n"}))
    mine = commit(repository, "t2", {"app.py": "routes = [b]\n", "b.py": "2\n"}, base=start)
    replay = repository.replay(mine, repository.head())
    assert replay.conflicts == ("app.py",)
    assert "<<<<<<<" in replay.files["app.py"]
    assert replay.files["b.py"] == "2\n"
    # nothing was touched by it
    assert (repository.open("t2").path / "app.py").read_text() == "routes = [b]\n"
    assert repository.read(repository.head(), "app.py") == "routes = [a]\n"


def test_a_merge_interrupted_by_a_kill_is_finished_by_the_next(repository):
    sha = commit(repository, "t1", {"a.py": "1\n"})
    (repository.worktrees / ".writing").write_text('["refs/heads/main", "HEAD"]')
    for name in ("refs/heads/main.lock", "HEAD.lock"):
        (repository.root / name).touch()
    repository.fast_forward(sha)
    assert repository.head() == sha
    assert not list(repository.root.rglob("*.lock"))


def test_hooks_and_monitors_in_the_repository_are_never_run(repository, tmp_path):
    flag = tmp_path / "flag"
    script = f"#!/bin/sh\ntouch {flag}\n"
    hooks = repository.root / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("pre-commit", "post-commit", "post-checkout", "post-merge", "reference-transaction"):
        (hooks / hook).write_text(script)
        (hooks / hook).chmod(0o755)
    monitor = tmp_path / "monitor"
    monitor.write_text(script)
    monitor.chmod(0o755)
    with (repository.root / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {monitor}\n")
    repository.fast_forward(commit(repository, "t1", {"a.py": "1\n"}))
    repository.open("t1").diff(repository.head())
    assert not flag.exists()


def test_nothing_is_written_through_a_link(repository, tmp_path):
    tree = repository.worktree("t1", repository.head())
    outside = tmp_path / "outside"
    outside.mkdir()
    (tree.path / "link").symlink_to(outside)
    with pytest.raises(GitError, match="link"):
        tree.write({"link/x.py": "1\n"})
    assert list(outside.iterdir()) == []


def test_the_difference_names_new_files_with_their_counts(repository):
    tree = repository.worktree("t1", repository.head())
    tree.write({"a.py": "1\n2\n", "README.md": ""})
    first, second = tree.changes(repository.head())
    assert (first.path, first.added, first.removed) == ("README.md", 0, 1)
    assert (second.path, second.added, second.removed) == ("a.py", 2, 0)
    assert "+2" in second.diff
    assert "README" not in second.diff


def test_content_that_looks_like_a_diff_does_not_split_one(repository):
    tree = repository.worktree("t1", repository.head())
    tree.write({"a.txt": "diff --git a/x b/x\n", "b c.py": "1\n", "ü.py": "2\n"})
    found = {change.path: change.added for change in tree.changes(repository.head())}
    assert found == {"a.txt": 1, "b c.py": 1, "ü.py": 1}


@pytest.mark.parametrize("other", ["removed", "added", "program"])
def test_a_replay_keeps_what_either_side_did_to_a_file(repository, other):
    repository.fast_forward(commit(repository, "t1", {"app.py": "1\n2\n3\n", "old.py": "o\n"}))
    start = repository.head()
    tree = repository.worktree("t1", start)
    match other:
        case "removed":
            tree.remove("old.py")
        case "added":
            tree.write({"both.py": "a\n"})
        case "program":
            (tree.path / "app.py").chmod(0o755)
    repository.fast_forward(tree.commit(start, "Theirs", "", {}))
    mine = commit(repository, "t2", {"app.py": "1\n2\n4\n", "both.py": "b\n"}, base=start)
    replay = repository.replay(mine, repository.head())
    assert replay.conflicts == (("both.py",) if other == "added" else ())
    assert replay.files["app.py"] == "1\n2\n4\n"
    assert ("<<<<<<<" in replay.files["both.py"]) == (other == "added")


def test_removing_a_worktree_twice_is_harmless(repository):
    repository.worktree("t1", repository.head())
    repository.remove("t1")
    repository.remove("t1")
    assert not (Path(repository.worktrees) / "t1").exists()


def test_contents_are_read_by_hash_and_a_hash_that_is_not_there_is_left_out(repository):
    files = {"a b.txt": "one\r\ntwo\n", "empty.txt": "", "ü.txt": "ü"}
    blobs = repository.blobs(commit(repository, "t", files))
    hashes = [blob.hash for blob in blobs.values()]
    found = repository.contents([*hashes, "0" * 40])
    assert found[blobs["a b.txt"].hash] == b"one\r\ntwo\n"
    assert found[blobs["empty.txt"].hash] == b""
    assert found[blobs["ü.txt"].hash] == "ü".encode()
    assert len(found) == len(set(hashes))
    assert all(blob.size == len(found[blob.hash]) for blob in blobs.values())
