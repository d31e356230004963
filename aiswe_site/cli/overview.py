"""The table of commands and the text of `aiswe --help`, made without importing anything large."""

from __future__ import annotations

import shutil
import textwrap

# name → (module, in full or below aiswe_site.cli.commands; one line of help), in the order in which people need them.
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("up", "Serve the dashboard and work, until stopped."),
    "demo": ("demo", "Watch a recorded model build a real, tested program."),
    "build": ("build", "Build a program from a sentence: plan, yes, tested code, files."),
    "doctor": ("doctor", "Check requirements and explain how to install what is missing."),
    "requirements": ("requirements", "List the requirements in a document; add to and confirm those of a project."),
    "project": ("project", "Create, list, set up, archive projects; take out what was built."),
    "recipes": ("recipes", "List and show what projects can start from."),
    "scaffold": ("scaffold", "Make folders, container files and pipelines from an architecture diagram."),
    "plan": ("plan", "List, show, check, edit and approve plans."),
    "backlog": ("backlog", "List, add and assign tickets that the agents work on by themselves."),
    "forge": ("forge", "Link a project to its forge; webhook, polling and comments."),
    "fix": ("fix", "Have a failed build fixed from its log, or a bug from its trace."),
    "upgrade": ("upgrade", "Have a package upgraded: resolver, notes, tests."),
    "docs": ("docs", "Have pages rewritten that name what was removed."),
    "trace": ("trace", "Trace requirements to tasks, code, tests and commits, and name the gaps."),
    "run": ("run", "Start, show, watch and steer runs."),
    "deploy": ("deploy", "Deploy what was built, and see or steer what runs."),
    "target": ("target", "Add, list, set up and remove places to deploy to."),
    "incident": ("incident", "List, show, retry and close what went wrong where projects run."),
    "acp": ("acp", "Hold chats in an editor, by the Agent Client Protocol."),
    "approvals": ("approvals", "List, show and answer the questions that wait for a person."),
    "chat": ("chat", "Talk with the model: it reads, writes and runs with your leave."),
    "mcp": ("mcp", "Offer projects, plans and runs to other programs over the Model Context Protocol."),
    "ask": ("ask", "Ask where a project's code does something."),
    "history": ("history", "List past and present runs."),
    "report": ("report", "Show what a week brought, what it cost and what is stuck."),
    "rehearse": ("rehearse", "Do past commits of a repository again: how far can it be trusted here?"),
    "bench": ("measure.commands.bench", "Measure models, or the loop itself, on tasks with known answers."),
    "tests": ("tests", "Write tests for a module until its branches are covered."),
    "review": ("review", "Review a change: few remarks, each on a changed line with its evidence."),
    "gate": ("gate", "Run the review gates on any folder."),
    "firewall": ("firewall", "Check commands, code, output and paths with the firewall."),
    "sandbox": ("sandbox", "Run a command in the sandbox, test its isolation, or make its image."),
    "packages": ("packages", "Check whether a package is allowed and what is known about it."),
    "audit": ("audit", "Verify and export the audit trail of a run."),
    "backup": ("backup", "Write everything of this installation into one file, while it runs."),
    "restore": ("restore", "Put a backup into an empty data folder, and verify it."),
    "export": ("export", "Export rewarded attempts as training data, or whole trajectories."),
    "config": ("config", "Show the effective settings and their sources."),
}
ABOUT = "AI SWE: from a requirements document to an approved plan to tested, gated, traceable code, on this machine."
EXIT_CODES = "Exit codes: 0 success · 1 negative result · 2 usage error · 3 missing requirement."
OPTIONS = {
    "--server URL": "Work with the server at this address instead of this machine's installation (AISWE_SERVER).",
    "--token-file FILE": "The API token for the server (AISWE_TOKEN).",
    "--version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}
WIDEST = 78


def overview(columns: int) -> str:
    """Usage, options and commands, wrapped to a terminal of so many columns."""
    width = max(40, min(columns - 2, WIDEST))
    commands = {name: about for name, (_, about) in COMMANDS.items()}
    paragraphs = [
        "Usage: aiswe [OPTIONS] COMMAND [ARGS]...",
        textwrap.fill(ABOUT, width, initial_indent="  ", subsequent_indent="  "),
        f"Options:\n{_table(OPTIONS, width)}",
        f"Commands:\n{_table(commands, width)}",
        textwrap.fill(EXIT_CODES, width, initial_indent="  ", subsequent_indent="  "),
    ]
    return "\n\n".join(paragraphs) + "\n"


def module_of(name: str) -> str:
    """The full name of the module that has this command."""
    module = COMMANDS[name][0]
    return module if "." in module else f"aiswe_site.cli.commands.{module}"


def _table(rows: dict[str, str], width: int) -> str:
    first = max(map(len, rows)) + 4
    return "\n".join(
        textwrap.fill(about, width, initial_indent=f"  {name}".ljust(first), subsequent_indent=" " * first)
        for name, about in rows.items()
    )


def columns() -> int:
    """The width of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns
