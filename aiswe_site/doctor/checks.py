"""The list of checks, in the order in which they matter."""

from __future__ import annotations

from aiswe_site.doctor import host, model, store, tools
from aiswe_site.doctor.result import Check, Result

BUILDING = "building tasks"

CHECKS = (
    Check("Python", host.python, "everything"),
    Check("Disk", host.disk, "everything"),
    Check("Database", store.database, "everything"),
    Check("Channel layer", store.channel_layer, "live pages"),
    Check("Memory", store.memory, "lessons from earlier runs", needed=False),
    Check("Static files", store.static_files, "pages"),
    Check("git", tools.git, BUILDING),
    Check("Sandbox", tools.sandbox, BUILDING),
    Check("Sandbox Python", tools.sandbox_python, BUILDING),
    Check("Bandit", tools.bandit, "merging: a gate that cannot look blocks"),
    Check("Semgrep", tools.semgrep, "merging: a gate that cannot look blocks"),
    Check("Model server", model.server, "planning and building your own projects; the demo works", needed=False),
    Check("Context window", model.window, "planning and building your own projects; the demo works", needed=False),
)


def checks() -> list[Result]:
    """Every check's answer. Needs Django."""
    model.forget()
    return [check.run() for check in CHECKS]
