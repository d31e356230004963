"""A worker that merges three tasks as the engine does; it is killed and started again (test_kills.py).

`python -m tests.agents.workspace.merging_worker FOLDER`
"""

import sys
from pathlib import Path

from agents.workspace.repository import Repository

TASKS = {
    "T-01": {"a.py": "a = 1\n", "d/deep.py": "x = 1\n"},
    "T-02": {"b.py": "b = 2\n", "dist/ignored.py": "kept = True\n"},
    "T-03": {"c.py": "c = 3\n", "README.md": "# Three tasks\n"},
}


def of(place: Path) -> Repository:
    """The repository of the one run."""
    return Repository(place / "repo", place / "trees", line="aiswe/run-1")


def work(place: Path) -> None:
    """Bring every task to the line; what is merged already is not merged again."""
    repository = of(place)
    repository.ensure("Killed")
    start = repository.begin()
    for key, files in TASKS.items():
        if repository.merged("1", key):
            repository.follow()
            continue
        trailers = {"Task": key, "Run": "1", "Event": "3", "Audit-Head": "ab" * 32}
        sha, head = repository.candidate(key, start, files).commit(start, key, "", trailers), repository.head()
        if head != start:
            folder = repository.candidate(key, head, repository.replay(sha, head).files)
            sha = folder.commit(head, key, "", trailers, tested=folder.tree(head))
        repository.fast_forward(sha)
        repository.remove(key)
    repository.pack()


if __name__ == "__main__":
    work(Path(sys.argv[1]))
