"""What a project's repository says of a run: its merged commits, and the places of the trail that they name."""

from __future__ import annotations

from agents.workspace.git import GitError
from projects.models import Run, Task
from projects.services.audit.checkpoints import Anchor
from projects.storage.paths import repository_of


def commit_anchors(run: Run) -> tuple[list[Anchor], str]:
    """The places of the trail that commits of the run name, and what is wrong with the commits, "" for nothing.

    Every commit that a merged task names must be there, on the run's branch or on the base. A repository that cannot be
    read proves nothing, which is wrong too unless the run merged nothing and never began.
    """
    merged = dict(run.tasks.filter(status=Task.Status.MERGED).exclude(commit="").values_list("key", "commit"))
    repository = repository_of(run.project, run)
    if not merged and not run.base_commit and not repository.root.exists():
        return [], ""
    try:
        repository.check()
        found = repository.audit_heads(str(run.pk))
        gone = set(repository.unreachable(merged.values()))
    except (GitError, OSError) as refused:
        return [], f"The commits of the run could not be checked. {refused}"
    anchors = [Anchor(seq, digest, f"commit {sha[:10]}") for seq, digest, sha in found]
    missing = [f"{key} ({sha[:10]})" for key, sha in merged.items() if sha in gone]
    if missing:
        where = f"neither on {repository.line} nor on {repository.base}" if repository.line else "not there"
        return anchors, f"The merged commits of {', '.join(missing)} are {where}."
    return anchors, ""
