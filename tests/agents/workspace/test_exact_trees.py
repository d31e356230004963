"""What lies in the folder that is tested is what the commit holds, byte for byte, whatever the repository says."""

import os
from pathlib import Path

import pytest

from agents.workspace.git import GitError
from agents.workspace.objects import object_name
from agents.workspace.repository import Repository
from agents.workspace.store import FILE, LINK, PROGRAM, Entry
from tests.agents.workspace.by_hand import git

ATTRIBUTES = (
    b"*.txt text eol=crlf\n*.dat filter=shout\nhidden.py export-ignore\nversion.py export-subst ident\n"
    b"secret.py -diff\nbig.py diff=external\n"
)
FILES = {
    ".gitattributes": ATTRIBUTES,
    ".gitignore": b"dist/\n*.log\n",
    "unix.txt": b"a\nb\n",
    "windows.txt": b"a\r\nb\r\n",
    "mixed.txt": b"a\r\nb\nc\r",
    "loud.dat": b"quiet\n",
    "hidden.py": b"x = 1\n",
    "version.py": b'V = "$Format:%H$ $Id$"\n',
    "secret.py": b"x = 1\n",
    "big.py": b"x = 1\n",
    "binary.bin": bytes(range(256)),
    "d/run.sh": b"#!/bin/sh\n",
    "bytes\udcff.txt": b"a name that is not UTF-8\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository whose attributes and settings would change almost every file on its way."""
    made = Repository(tmp_path / "repo", tmp_path / "trees")
    base = made.ensure("Chores")
    store = made.store
    store.write_blobs([*FILES.values(), b"../../outside"])
    entries = {
        name: Entry(PROGRAM if name.endswith(".sh") else FILE, object_name("blob", content), len(content))
        for name, content in FILES.items()
    }
    entries["link"] = Entry(LINK, object_name("blob", b"../../outside"), 13)
    entries["lib"] = Entry("160000", "12" * 20)
    made.fast_forward(store.commit(store.write_tree(entries), base, "As it came\n"))
    for setting in ("filter.shout.smudge=tr a-z A-Z", "filter.shout.clean=tr a-z b-za", "diff.external.command=false"):
        key, _, value = setting.partition("=")
        git(made.root, "config", key, value)
    (made.root / "hooks").mkdir()
    for hook in ("pre-commit", "commit-msg", "reference-transaction", "post-checkout"):
        (made.root / "hooks" / hook).write_text("#!/bin/sh\nexit 1\n")
        (made.root / "hooks" / hook).chmod(0o755)
    return made


def on_disk(root: Path) -> dict[str, tuple[bytes, bool]]:
    """Every regular file with its content, and whether it can be run."""
    found = {}
    for folder, _, names in os.walk(os.fsencode(root)):
        for name in names:
            path = os.path.join(folder, name)
            assert not os.path.islink(path)
            content = Path(os.fsdecode(path)).read_bytes()
            key = os.path.relpath(path, os.fsencode(root)).decode("utf-8", "surrogateescape")
            found[key] = (content, os.access(path, os.X_OK))
    return found


def test_the_folder_holds_the_blobs_and_its_tree_is_the_commits(repository: Repository) -> None:
    head = repository.head()
    folder = repository.worktree("t", head)
    wanted = {name: (content, name.endswith(".sh")) for name, content in FILES.items()}
    assert on_disk(folder.path) == wanted | {"link": (b"../../outside", False)}
    assert folder.tree(head) == git(repository.root, "rev-parse", f"{head}^{{tree}}")
    assert folder.changes(head) == []


def test_a_commit_holds_what_was_written_and_nothing_else_differs(repository: Repository) -> None:
    head = repository.head()
    files = {"dist/made.py": "ignored = False\n", "new.txt": "a\r\nb\n", "debug.log": "kept\n", "secret.py": "x = 2\n"}
    folder = repository.candidate("t", head, files)
    tested = folder.tree(head)
    sha = folder.commit(head, "A title", "", {}, tested=tested)
    assert git(repository.root, "rev-parse", f"{sha}^{{tree}}") == tested
    before, after = repository.store.listing(head).entries, repository.store.listing(sha).entries
    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == set(files)
    assert on_disk(repository.worktree("other", sha).path) == on_disk(folder.path)
    assert repository.store.contents([after["new.txt"].hash])[after["new.txt"].hash] == b"a\r\nb\n"


def test_a_difference_is_shown_whatever_attributes_say(repository: Repository) -> None:
    head = repository.head()
    changed = {"secret.py": "x = 2\n", "big.py": "x = 2\n", "hidden.py": "x = 2\n", "nul.py": "x = '\0'\n"}
    folder = repository.candidate("t", head, changed)
    shown = {change.path: change for change in folder.changes(head)}
    assert set(shown) == set(changed)
    assert all("\n-x = 1" in change.diff or path == "nul.py" for path, change in shown.items())
    assert all("\n+x = " in change.diff for change in shown.values())


def test_what_changed_after_the_tests_is_not_committed(repository: Repository) -> None:
    head = repository.head()
    folder = repository.candidate("t", head, {"a.py": "1\n"})
    tested = folder.tree(head)
    (folder.path / "a.py").write_text("2\n")
    with pytest.raises(GitError, match="not those that were tested"):
        folder.commit(head, "A title", "", {}, tested=tested)


def test_a_link_that_is_written_becomes_a_file_and_says_so(repository: Repository) -> None:
    head = repository.head()
    folder = repository.candidate("t", head, {"link": "x = 1\n"})
    (change,) = folder.changes(head)
    assert "deleted file mode 120000" in change.diff
    assert "new file mode 100644" in change.diff
    assert repository.store.listing(folder.commit(head, "A title", "", {})).entries["link"].mode == FILE


def test_a_folder_of_git_in_a_commit_is_not_put_on_the_disk(repository: Repository) -> None:
    store, head = repository.store, repository.head()
    store.write_blobs([b"[core]\n\tfsmonitor = touch /tmp/x\n"])
    sha = object_name("blob", b"[core]\n\tfsmonitor = touch /tmp/x\n")
    evil = store.commit(store.write_tree({".git/config": Entry(FILE, sha, 32)}), head, "evil\n")
    with pytest.raises(GitError, match="not written"):
        repository.worktree("t", evil)
    with pytest.raises(GitError, match="not written"):
        repository.worktree("t", head).write({"sub/.GIT/config": "x"})


def test_commits_of_before_a_run_say_nothing_of_it(repository: Repository) -> None:
    """They may come from another installation, with the same numbers."""
    head = repository.head()
    forged = repository.worktree("t", head).commit(head, "Old", "", {"Run": "7", "Task": "T-01"})
    repository.fast_forward(forged)
    run = Repository(repository.root, repository.worktrees, line="aiswe/run-7")
    run.begin()
    assert run.merged("7", "T-01") == ""
    sha = run.worktree("t", run.head()).commit(run.head(), "New", "", {"Run": "7", "Task": "T-01"})
    run.fast_forward(sha)
    assert run.merged("7", "T-01") == sha
