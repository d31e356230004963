"""The limits of a project: the one table that the engine, forms, the command line and the documentation read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LimitSpec:
    """One limit: its default, the range that is accepted, its label and why the default is what it is.

    The highest value only stops typing errors.
    """

    default: int
    low: int
    high: int
    label: str
    reason: str = ""


DAY_S = 86_400
LIMITS: dict[str, LimitSpec] = {
    "max_retries": LimitSpec(5, 0, 50, "Repairs per task", "SWE-FR-09; after that the task is escalated"),
    "max_iterations": LimitSpec(15, 1, 200, "Model replies per task", "ACA-1"),
    "warn_iterations": LimitSpec(12, 1, 200, "Answers after which a warning is emitted", "ACA-1"),
    "samples": LimitSpec(1, 1, 16, "First versions to choose from", "more measured no better; test runs choose"),
    "more_samples": LimitSpec(
        1, 1, 16, "Versions to choose from after two failed tries", "a measured gain only for models that repair badly"
    ),
    "task_tokens": LimitSpec(400_000, 1_000, 1_000_000_000, "Tokens per task"),
    "task_seconds": LimitSpec(3_600, 10, 7 * DAY_S, "Seconds per task"),
    "run_tokens": LimitSpec(4_000_000, 1_000, 10_000_000_000, "Tokens per run"),
    "run_seconds": LimitSpec(DAY_S, 10, 90 * DAY_S, "Seconds per run"),
    "parallel_tasks": LimitSpec(2, 1, 64, "Tasks at a time"),
    "sandbox_cpus": LimitSpec(1, 1, 64, "CPUs of a sandbox", "ACA-6"),
    "sandbox_memory_mb": LimitSpec(1_024, 128, 65_536, "Memory of a sandbox, in MB", "ACA-6, SWE-NFR-04"),
    "sandbox_processes": LimitSpec(128, 16, 4_096, "Processes in a sandbox", "ACA-6"),
    "sandbox_disk_mb": LimitSpec(512, 32, 65_536, "Disk space of a sandbox, in MB"),
    "sandbox_seconds": LimitSpec(300, 5, 3_600, "Seconds of one command in a sandbox", "SWE-NFR-04"),
}
PER_TASK = tuple(LIMITS)[:9]  # what a task can run into


def default_limits() -> dict[str, int]:
    """The limits of a new project."""
    return {name: spec.default for name, spec in LIMITS.items()}
