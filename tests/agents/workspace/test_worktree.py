"""A worktree that remembers what it holds is the same, byte for byte, as one that is made anew each time."""

import subprocess
import zlib
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.workspace import git as git_module
from agents.workspace.git import GitError
from agents.workspace.objects import Remembered, loose_blob
from agents.workspace.repository import Repository
from agents.workspace.worktree import Worktree
from tests.agents.workspace.by_hand import git
from tests.sizes import scaled

NAMES = ("a.py", "README.md", "d/b.py", "d/c.pyc", "ü x.txt", ".gitignore", "d/.gitattributes", "run.sh")
TEXTS = (
    "",
    "1\n",
    "1\n2\n",
    "no end",
    "one\r\ntwo\r\n",
    "x\rdiff --git a/y b/y\n",
    "*.txt\n",
    "*.py text eol=crlf\n",
    "ü\n" * 40,
)
CANDIDATES = st.lists(
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS), max_size=5), min_size=1, max_size=4
)


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repo", tmp_path / "trees")
    base = made.ensure("Chores")
    tree = made.worktree("start", base)
    tree.write({"run.sh": "#!/bin/sh\n", "d/kept.py": "k = 1\n", "ü x.txt": "alt\n"})
    (tree.path / "run.sh").chmod(0o755)
    made.fast_forward(tree.commit(base, "As given", "", {}))
    return made


@pytest.fixture
def count(monkeypatch):
    """Processes of git that are started, by verb."""
    started, real = [], subprocess.run

    def run(argv, **options):
        if argv[:2] == ["git", "-c"]:
            started.append(argv[1 + len(git_module._SAFE)])
        return real(argv, **options)

    monkeypatch.setattr(subprocess, "run", run)
    return started


def on_disk(tree: Worktree) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(tree.path)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(tree.path.rglob("*"))
        if path.is_file() and path.name != ".git"
    }


def seen(tree: Worktree, base: str) -> list[object]:
    return [on_disk(tree), tree.changes(base), tree.diff(base)]


def made_anew(repository: Repository, base: str, files: Mapping[str, str]) -> Worktree:
    tree = Repository(repository.root, repository.worktrees).worktree("anew", base)
    tree.write(files)
    return tree


@pytest.mark.slow
@settings(max_examples=scaled(15, 5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CANDIDATES)
def test_whatever_was_tried_before_a_candidate_is_what_it_would_be_alone(repository, candidates):
    base = repository.head()
    for files in candidates:
        alone = made_anew(repository, base, files)
        tree = repository.candidate("t", base, files)
        wanted = seen(alone, base)
        assert seen(tree, base) == wanted
        assert seen(repository.candidate("t", base, files), base) == wanted
        assert seen(repository.open("t"), base) == wanted
    sha, same = tree.commit(base, "A title", "", {"Task": "T-01"}), alone.commit(base, "A title", "", {"Task": "T-01"})
    assert repository.blobs(sha) == repository.blobs(same)
    assert on_disk(repository.worktree("t", sha)) == on_disk(repository.worktree("look", same))


def test_a_repaired_file_costs_one_process_of_git_and_running_it_again_none(repository, count):
    base = repository.head()
    files = {"a.py": "1\n", "tests/test_a.py": "import a\n"}
    repository.candidate("t", base, files).changes(base)
    count.clear()
    tree = repository.candidate("t", base, files | {"a.py": "2\n"})
    (test, code) = sorted(tree.changes(base), key=lambda change: change.path, reverse=True)
    assert (test.path, code.diff.count("+2")) == ("tests/test_a.py", 1)
    assert count == ["diff"]
    again = repository.candidate("t", base, files | {"a.py": "2\n"})
    assert "+2" in again.diff(base)
    assert count == ["diff"]


@pytest.mark.parametrize("touch", ["write", "leave", "remove", "mode", "kept"])
def test_what_anybody_else_did_to_the_tree_is_undone(repository, touch):
    base, files = repository.head(), {"a.py": "1\n"}
    tree = repository.candidate("t", base, files)
    wanted = on_disk(tree)
    match touch:
        case "write":
            (tree.path / "a.py").write_text("2\n")
        case "leave":
            (tree.path / "d" / "left.pyc").write_text("x")
        case "remove":
            (tree.path / "README.md").unlink()
        case "mode":
            (tree.path / "a.py").chmod(0o755)
        case "kept":
            (tree.path / "d" / "kept.py").write_text("k = 2\n")
    assert on_disk(repository.candidate("t", base, files)) == wanted


def test_a_candidate_that_cannot_be_written_leaves_nothing_for_the_next(repository):
    base = repository.head()
    with pytest.raises(GitError, match="not a path inside"):
        repository.candidate("t", base, {"a.py": "1\n", "../out.py": "1\n"})
    alone = made_anew(repository, base, {"b.py": "1\n"})
    assert on_disk(repository.candidate("t", base, {"b.py": "1\n"})) == on_disk(alone)


def test_a_tree_that_was_taken_away_is_made_anew(repository):
    base = repository.head()
    repository.candidate("t", base, {})
    repository.remove("t")
    assert (repository.candidate("t", base, {"a.py": "1\n"}).path / "a.py").read_text() == "1\n"


def test_files_taken_away_before_the_commit_are_not_in_it(repository):
    base = repository.head()
    tree = repository.candidate("t", base, {"a.py": "1\n"})
    tree.remove("d/kept.py")
    tree.remove("never.py")
    assert "d/kept.py" not in repository.files(tree.commit(base, "A title", "", {}))


def test_reading_a_commit_starts_git_once_and_packed_files_are_read_too(repository, count):
    base = repository.head()
    assert repository.read(base, "d/kept.py") == "k = 1\n"
    assert repository.read(base, "ü x.txt") == "alt\n"
    assert repository.read(base, "d") is None
    assert repository.read(base, "../repo/README.md") is None
    assert repository.files(base)[:2] == [".gitignore", "README.md"]
    assert set(count) <= {"ls-tree"}
    assert len(count) <= 1
    git(repository.root, "gc", "-q", "--prune=now")
    other = Repository(repository.root, repository.worktrees)
    assert other.head() == base
    assert other.read(base, "README.md") == "# Chores\n"
    assert other.read("0" * 40, "README.md") is None


def test_an_object_that_is_not_what_its_name_says_is_not_believed(repository):
    base = repository.head()
    name = repository.blobs(base)["README.md"].hash
    place = repository.root / "objects" / name[:2] / name[2:]
    place.chmod(0o644)
    assert loose_blob(repository.root, name) == b"# Chores\n"
    for bad in (zlib.compress(b"blob 3\0bad"), b"not zlib", b"", place.read_bytes()[:-3]):
        place.write_bytes(bad)
        assert loose_blob(repository.root, name) is None
    assert loose_blob(repository.root, "../../config") is None


def test_the_values_used_last_are_remembered_up_to_a_weight():
    made: list[str] = []

    def make(word):
        return lambda: made.append(word) or word

    held = Remembered(40, len)
    for word in ("a" * 10, "b" * 10, "c" * 10, "d" * 10, "a" * 10, "e" * 10, "a" * 10, "b" * 10, "z" * 11, "z" * 11):
        assert held.get(("repository", word), make(word)) == word
    assert [word[0] for word in made] == ["a", "b", "c", "d", "e", "b", "z", "z"]
