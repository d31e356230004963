"""The table of commands, and the one place where errors end."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from aiswe_site import VERSION
from aiswe_site.cli import output
from aiswe_site.cli.problems import WRONG_USE, problem_from

# name → (module below aiswe_site.cli.commands, one line of help). Imported on use: `aiswe --help` stays fast.
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("up", "Serve the dashboard and work, until stopped."),
    "demo": ("demo", "Watch a recorded model build a real, tested program."),
    "doctor": ("doctor", "Check what is needed, and say how to get what is missing."),
    "requirements": ("requirements", "List every requirement in a document; no model is needed."),
    "project": ("project", "Make a project from a requirements document."),
    "plan": ("plan", "Show, check and approve plans."),
    "run": ("run", "Start, watch and steer runs."),
    "history": ("history", "List past and present runs."),
    "bench": ("bench", "Measure models, or the loop itself, on tasks with known answers."),
    "tests": ("tests", "Have tests written for a module, until its branches are covered."),
    "gate": ("gate", "Run the review gates on any folder."),
    "firewall": ("firewall", "Ask the firewall about commands, code, output and paths."),
    "sandbox": ("sandbox", "Run a command in the sandbox, or probe its walls."),
    "packages": ("packages", "Ask whether a package may be used, and what is known about it."),
    "audit": ("audit", "Verify and export the audit trail of a run."),
    "export": ("export", "Take rewarded tries away as training data."),
    "config": ("config", "Show the settings in force and where they come from."),
}


class LazyGroup(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None when there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"aiswe_site.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list for --help, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done · 1 the answer is no · 2 wrong use · 3 something needed is missing.",
)
@click.version_option(VERSION, "--version", prog_name="aiswe", message="%(prog)s %(version)s")
def cli() -> None:
    """AI SWE: from a requirements document to an approved plan to tested, gated, traceable code. All on this machine."""


def run(argv: Sequence[str]) -> int:
    """Do what `argv` says and return the exit code; nothing but text for people and JSON ever comes out."""
    wants_json = "--json" in argv
    try:
        answer = cli.main(args=list(argv), prog_name="aiswe", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as wrong:
        wrong.show()
        return WRONG_USE
    except click.UsageError as wrong:
        wrong.show()
        if wants_json:
            output.print_json({"error": wrong.format_message(), "way_out": "See the command's --help."})
        return WRONG_USE
    except (click.Abort, KeyboardInterrupt):
        output.note("Stopped.")
        return 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough
        return 0
    except Exception as error:  # noqa: BLE001  the last door: whatever it is becomes a sentence
        problem = problem_from(error)
        output.complain(problem.message, problem.way_out)
        if wants_json:
            output.print_json({"error": problem.message, "way_out": problem.way_out})
        return problem.exit_code
    return answer if isinstance(answer, int) else 0


def main() -> NoReturn:
    """Entry point of the installed command."""
    sys.exit(run(sys.argv[1:]))
