"""A repository that cannot be used stops the work with a sentence, and the work goes on once it can be read again."""

from __future__ import annotations

import subprocess

import pytest

from agents.engine.nodes import merger
from agents.workspace import objects
from projects.engine.base_branch import take_in_base
from projects.engine.commits import commit_anchors
from projects.errors import NotAllowed
from projects.models import Attempt, Event, Run, Task
from projects.storage.paths import repository_of
from tests.factories import make_user, owner_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_unreadable_branch_is_neither_replaced_nor_escalated(still):
    """Until 0.1.0 the repository was deleted and begun anew."""
    held = {}

    def tear(who):
        if not held:
            for path in (repository_of(still.project).root / "refs/heads").rglob("*"):
                if path.is_file():
                    held[path] = path.read_bytes()
                    path.write_bytes(bytes(41))

    still.runner.before = tear
    still.build("T-01")
    for _ in range(3):
        still.sweep()
    assert still.statuses() == {"T-01": Task.Status.NEEDS_YOU}
    assert "names no commit" in still.task().why
    assert "Repair it" in still.task().why
    assert still.run.status == Run.Status.NEEDS_YOU
    assert "refs/heads/" in still.run.why
    assert len(held) == 2
    assert all(path.read_bytes() == bytes(41) for path in held)
    tried = Attempt.objects.count()
    for path, content in held.items():
        path.write_bytes(content)
    still.sweep()
    assert still.statuses() == {"T-01": Task.Status.MERGED}
    assert Attempt.objects.count() == tried == 1


def test_a_repository_that_vanished_after_work_began_is_not_made_anew(still):
    still.build("T-01")
    root = repository_of(still.project).root
    root.rename(root.with_name("elsewhere"))
    task = still.task()
    Task.objects.filter(pk=task.pk).update(status=Task.Status.READY, generation=2)
    Run.objects.filter(pk=still.run.pk).update(status=Run.Status.RUNNING)
    still.sweep()
    assert "the folder is missing" in still.task().why
    assert not root.exists()


def test_a_full_disk_in_a_commit_is_waited_for(still, monkeypatch):
    real, full = objects.os.fsync, [True]

    def fsync(descriptor):
        if full[0]:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(objects.os, "fsync", fsync)
    still.build("T-01")
    assert still.statuses() == {"T-01": Task.Status.READY}
    assert still.task().why.startswith("waiting for disk space")
    full[0] = False
    still.sweep()
    assert still.statuses() == {"T-01": Task.Status.MERGED}


def test_foreign_commits_on_the_base_are_kept_and_named(still, monkeypatch):
    real, theirs = merger.lock_files, []

    def somebody_commits(state, ctx, base):
        if not theirs:
            repository = repository_of(still.project)
            tree = repository.worktree("theirs", base)
            tree.write({"theirs.py": "x = 1\n"})
            theirs.append(tree.commit(base, "Theirs", "", {}))
            repository.fast_forward(theirs[0])
        return real(state, ctx, base)

    monkeypatch.setattr(merger, "lock_files", somebody_commits)
    still.build("T-01")
    assert still.statuses() == {"T-01": Task.Status.MERGED}
    line = repository_of(still.project, still.run)
    assert line.base_head() == theirs[0]
    assert line.head() == still.task().commit
    notices = [text for text in still.summaries("system") if "main has moved" in text]
    assert len(notices) == 1
    assert line.line in notices[0]
    before = still.task().commit
    taken = take_in_base(still.run, by=owner_of(still.project))
    assert taken.commits == {before: still.task().commit}
    assert line.store.parent(still.task().commit) == theirs[0]
    assert line.base_head() == theirs[0]
    assert commit_anchors(still.run)[1] == ""
    assert take_in_base(still.run, by=owner_of(still.project)).commits == {}
    with pytest.raises(NotAllowed):
        take_in_base(still.run, by=make_user())


def test_the_suite_runs_on_the_tree_that_is_committed_and_not_again_without_need(still):
    still.build("T-01")
    runs = Event.objects.filter(run=still.run, type="test.result")
    assert runs.count() == 1
    line = repository_of(still.project, still.run)
    shown = subprocess.run(
        ["git", "rev-parse", f"{line.head()}^{{tree}}"], cwd=line.root, capture_output=True, text=True, check=True
    )
    assert line.store.listing(line.head()).tree == shown.stdout.strip()
