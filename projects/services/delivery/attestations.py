"""Each merge gets a signed attestation: requirement, task, tests, findings, approvals and the head of the trail."""

from __future__ import annotations

import logging
from typing import Any

from agents.workspace.export import commit_at
from agents.workspace.git import GitError
from agents.workspace.notes import facts_of, noted, write_note
from projects.errors import ProjectsError
from projects.models import Approval, Run, Task
from projects.services.audit import signing
from projects.services.audit.attestation import envelope
from projects.services.delivery.downloads import git_dir_of
from projects.storage.paths import repository_of

log = logging.getLogger("aiswe.attestations")
FINDING = ("tool", "rule", "severity", "path", "state", "disposition", "reason")


def attest_merges(run: Run) -> int:
    """Attest every merged task of a run that has no attestation yet; returns how many were written.

    May be called again at any time: what a killed worker left out is written then. A merge that cannot be attested is
    logged and stays merged; `aiswe audit verify-commit` says that it has none.
    """
    merged = list(run.tasks.filter(status=Task.Status.MERGED).exclude(commit=""))
    if not merged:
        return 0
    written = 0
    try:
        folder, key = git_dir_of(run.project), signing.private_key()
        known = noted(folder)
        missing = [task for task in merged if task.commit not in known]
    except (GitError, ProjectsError, OSError) as trouble:
        log.warning("run %s: its merges could not be attested: %s", run.pk, trouble)
        return 0
    for task in missing:
        try:
            commit = commit_at(folder, task.commit)
            facts = facts_of(folder, commit)
            if (facts["run"], facts["task"]) != (str(run.pk), task.key):
                raise GitError(f"commit {commit[:10]} names another task")
            write_note(repository_of(run.project), commit, envelope(commit, {**predicate_of(task), **facts}, key))
            written += 1
        except (GitError, OSError) as trouble:
            log.warning("run %s: the merge of %s could not be attested: %s", run.pk, task.key, trouble)
    return written


def predicate_of(task: Task) -> dict[str, Any]:
    """What is known of a task when it is merged, as plain data."""
    run = Run.objects.select_related("project").get(pk=task.run_id)
    attempt = task.attempts.filter(outcome="passed").exclude(tests={}).order_by("-number").first()
    counts = ("passed", "failed", "errors", "skipped")
    tests = {name: attempt.tests.get(name, 0) for name in counts} if attempt else {}
    answered = Approval.objects.filter(project=run.project).exclude(status=Approval.Status.PENDING)
    approvals = [*answered.filter(run=run, task=task), *answered.filter(kind=Approval.Kind.PLAN, subject=run.plan_hash)]
    return {
        "project": run.project.slug,
        "title": task.title,
        "plan": run.plan_hash,
        "model": run.project.model_name,
        "recording": run.recording,
        "requirements": [{"key": row.key, "text": row.text} for row in task.requirements.order_by("ordinal")],
        "tests": tests,
        "branch_coverage": attempt.branch_coverage if attempt else None,
        "findings": list(task.findings.order_by("pk").values(*FINDING)),
        "approvals": [
            {
                "kind": row.kind,
                "subject": row.subject,
                "answer": row.status,
                "by": row.decided_by.get_username() if row.decided_by else "",
                "at": row.decided_at.isoformat() if row.decided_at else "",
            }
            for row in approvals
        ],
        "trail": {"run": run.pk, "seq": run.last_seq, "head": run.head_hash},
    }
