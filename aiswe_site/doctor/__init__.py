"""Checks of the installation, in order of importance, each with how to get what is missing."""

from __future__ import annotations

from collections.abc import Collection

from aiswe_site.doctor import model, store, tools
from aiswe_site.doctor.result import CheckResult, DoctorCheck

BUILDING = "building tasks"

CHECKS = (
    DoctorCheck("Python", tools.python, "everything"),
    DoctorCheck("Disk", tools.disk, "everything"),
    DoctorCheck("Database", store.database, "everything"),
    DoctorCheck("Channel layer", store.channel_layer, "live pages"),
    DoctorCheck("Memory", store.memory, "lessons from earlier runs, questions about code", needed=False),
    DoctorCheck("Static files", store.static_files, "pages"),
    DoctorCheck("git", tools.git, BUILDING),
    DoctorCheck("Sandbox", tools.sandbox, BUILDING),
    DoctorCheck("Docker", tools.docker, "sandboxes in containers; bubblewrap serves where it works", needed=False),
    DoctorCheck("Sandbox Python", tools.sandbox_python, BUILDING),
    DoctorCheck("Sandbox Node", tools.sandbox_node, "tests of projects in JavaScript and TypeScript", needed=False),
    DoctorCheck("Test servers", tools.test_servers, "tests that need PostgreSQL, MySQL or Redis", needed=False),
    DoctorCheck("Bandit", tools.bandit, "merging: a gate that cannot scan blocks"),
    DoctorCheck("Semgrep", tools.semgrep, "merging: a gate that cannot scan blocks"),
    DoctorCheck("Advisories", tools.advisories, "changes that name packages", needed=False),
    DoctorCheck("Model server", model.server, "planning and building your own projects; the demo works", needed=False),
    DoctorCheck(
        "Context window", model.window, "planning and building your own projects; the demo works", needed=False
    ),
    DoctorCheck("Model size", model.size, "fast replies", needed=False),
    DoctorCheck("Prompt cache", model.prefix, "fast replies", needed=False),
    DoctorCheck("Web search", tools.web_search, "searches of a chat", needed=False),
)


def checks(awaited: Collection[str] | None = None) -> list[CheckResult]:
    """Every check's answer; with names, only those that every task needs and the named ones. Needs Django."""
    model.forget()
    return [check.run() for check in CHECKS if awaited is None or check.needed or check.name in awaited]
