"""Who wrote each line: the replay of the changes says what git blame says."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.workspace.blame import lines_of
from agents.workspace.git import CommitSettings, git
from agents.workspace.repository import Repository
from agents.workspace.store import Store
from agents.workspace.written import WrittenLines, written
from tests.sizes import scaled

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "+++ x", "--- y", "\\ No newline", "@@ -1 +1 @@"]), max_size=8)
FILES = st.dictionaries(st.sampled_from(["one.py", "a b.txt", 'quo"te.md', "ümlaut.md"]), TEXTS, max_size=3)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository", tmp_path / "worktrees")
    made.ensure("Project")
    return made


def commit(repository: Repository, base: str, files: dict[str, str | None], title: str = "Change") -> str:
    tree = repository.worktree(title, base)
    for path, text in files.items():
        if text is None:
            tree.remove(path)
        else:
            tree.write({path: text})
    return tree.commit(base, title, "", {})


def by_line(found: WrittenLines, path: str, lines: int) -> list[str]:
    rows = [""] * lines
    for sha, spans in found.spans.items():
        for span in spans:
            if span.path == path:
                rows[span.first - 1 : span.last] = [sha] * span.lines
    return rows


def check(repository: Repository, head: str, commits: list[str]) -> WrittenLines:
    found = written(repository.git_dir, head, commits)
    total = 0
    for path in repository.files(head):
        blamed = [sha if sha in commits else "" for sha in lines_of(repository.git_dir, head, path)]
        total += len(blamed)
        assert by_line(found, path, len(blamed)) == blamed, path
    assert found.lines == total
    return found


def test_lines_follow_changes_renames_and_removals(repository: Repository) -> None:
    base = repository.head()
    long = "".join(f"line {number}\n" for number in range(30))
    first = commit(repository, base, {"a.py": long, "gone.py": "x\n", "end.txt": "no newline"}, "1")
    second = commit(repository, first, {"a.py": None, "b.py": long + "more\n", "gone.py": None}, "2")
    third = commit(
        repository, second, {"b.py": "top\n" + long.replace("line 7\n", "") + "more\n", "end.txt": "x\n"}, "3"
    )
    found = check(repository, third, [first, second, third])
    assert by_line(found, "b.py", 31) == [third, *[first] * 29, second]


def test_tests_are_found_where_they_stand_now(repository: Repository) -> None:
    base = repository.head()
    text = "import x\n\n\ndef test_one():\n    pass\n\n\nasync def test_two():\n    pass\n"
    first = commit(repository, base, {"tests/test_a.py": text, "a.py": "def test_no():\n    pass\n"}, "1")
    second = commit(repository, first, {"tests/test_a.py": "'''Tests.'''\n" + text}, "2")
    found = written(repository.git_dir, second, [first])
    assert [(test.line, test.name) for test in found.tests[first]] == [(5, "test_one"), (9, "test_two")]


def test_what_was_there_before_the_first_commit_of_interest_is_counted_alone(repository: Repository) -> None:
    base = repository.head()
    there = commit(repository, base, {f"src/{n}.py": "a\nb\n" for n in range(50)}, "there")
    built = commit(repository, there, {"src/1.py": "a\nc\nb\n"}, "built")
    found = check(repository, built, [built])
    assert list(found.spans) == [built]
    assert written(repository.git_dir, there, []).spans == {}


def test_lines_that_a_merge_brought_belong_to_who_wrote_them(repository: Repository) -> None:
    base = repository.head()
    first = commit(repository, base, {"a.py": "1\n"}, "1")
    side = commit(repository, first, {"b.py": "2\n3\n"}, "2")
    tree = git(repository.git_dir, "rev-parse", f"{side}^{{tree}}").stdout.strip()
    argv = ("commit-tree", tree, "-p", first, "-p", side, "-m", "Merge")
    merge = git(repository.git_dir, *argv, author=CommitSettings()).stdout.strip()
    check(repository, merge, [first, side])


@settings(max_examples=scaled(40, 5), derandomize=True)
@given(versions=st.lists(FILES, min_size=1, max_size=5))
def test_replay_and_blame_agree(versions: list[dict[str, list[str]]], tmp_path_factory: object) -> None:
    folder: Path = tmp_path_factory.mktemp("history")  # type: ignore[attr-defined]  # pytest's factory
    repository = Repository(folder / "repository", folder / "worktrees")
    head, commits = repository.ensure("Project"), []
    for number, files in enumerate(versions):
        there = Store(repository.git_dir).listing(head).entries
        gone = {path: None for path in there if path not in files and not path.startswith(".")}
        texts = {path: "\n".join(lines) + "\n" * bool(number % 2 and lines) for path, lines in files.items()}
        head = commit(repository, head, gone | texts, str(number))
        commits.append(head)
    check(repository, head, commits)
