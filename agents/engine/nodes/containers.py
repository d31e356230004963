"""Dockerfiles of a task are built and started where an engine answers; where none does, the result says so."""

from __future__ import annotations

from typing import Any

from agents.checks.configuration import is_dockerfile
from agents.engine.contracts import TaskContext
from agents.engine.effects import effect
from agents.engine.state import TaskState, files_of, key_of
from agents.events.effects import ContainerTried, EffectAnnounced
from agents.secrets.redaction import redact
from agents.workspace.worktree import Worktree
from sandbox.container_report import ContainerReport

MOST_TRIED = 3  # Dockerfiles of one task


def try_containers(
    state: TaskState, ctx: TaskContext, tree: Worktree, name: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Failures as those of tests, and a note of each Dockerfile; nothing where the context cannot try."""
    failures, notes, number = list[dict[str, Any]](), list[str](), state["counters"]["attempt"]
    if (try_container := ctx.try_container) is None:
        return failures, notes
    paths = [path for path in sorted(files_of(state["candidate"])) if is_dockerfile(path)]
    for path in paths[:MOST_TRIED]:
        key = key_of(state, f"{name}/container/{path}")
        announcement = EffectAnnounced(summary=f"builds {path} …", role="tester", effect="container", paths=[path])
        with effect(ctx.event_log, announcement, key=key, attempt=number):
            report = try_container(tree.path, path)
        problem = report.problem or secret_problem(report)
        said = f"{path}: {in_words(report, problem)}"
        tail = str(redact(report.output))[-4000:]
        failed = report.state == "failed" or (report.state == "ok" and bool(problem))
        event = ContainerTried(
            summary=said[:600],
            outcome="fail" if failed else "ok" if report.state == "ok" else "",
            path=path,
            state="failed" if failed else report.state,
            problem=problem,
            health=report.health,
            user=report.user,
            ports=report.ports,
            packages=report.packages[:1000],
            size_mb=report.size_mb,
            seconds=report.seconds,
            tail=tail,
        )
        ctx.event_log.emit(event, attempt=number, key=key)
        if failed:
            message = str(redact(problem))
            failures.append({"nodeid": path, "message": message, "traceback": f"{message}\n{tail}".strip()})
        else:
            notes.append(said[:300])
    return failures, notes


def secret_problem(report: ContainerReport) -> str:
    """Where something that redaction would take out can be read in the image; "" where nothing can."""
    places = sorted({place for place, text in report.texts if redact(text) != text})
    return (
        f"a secret can be read in the image: {', '.join(places[:5])}; pass it when the container starts"
        if places
        else ""
    )


def in_words(report: ContainerReport, problem: str) -> str:
    """The result in one line."""
    if report.state != "ok" or problem:
        return f"{report.state}: {problem}" if report.state != "ok" else problem
    parts = [f"built and started in {report.seconds:.0f} s", report.health, f"user {report.user}"]
    parts += [f"port {port}" for port in report.ports[:5]]
    return ", ".join([*parts, f"{len(report.packages)} packages", f"{report.size_mb} MB"])
