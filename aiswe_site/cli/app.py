"""The group of all commands, and the one place where errors end."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from aiswe_site import VERSION
from aiswe_site.cli.overview import ABOUT, COMMANDS, columns, module_of, overview
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WRONG_USE, Missing, WrongUse, problem_from


class LazyGroup(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None when there is no such command. Raises Missing when it is not installed."""
        if cmd_name not in COMMANDS:
            return None
        module = module_of(cmd_name)
        try:
            command: click.Command = importlib.import_module(module).command
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there; what it imports is not
            message = f"`aiswe {cmd_name}` needs the package {module.partition('.')[0]!r}, which is not installed."
            raise Missing(message, "Run it from a checkout of the source.") from None
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called; with a server, the one that asks it."""
        if not ctx.params.get("server") or args[0] not in COMMANDS:
            return super().resolve_command(ctx, args)
        from aiswe_site.cli.remote.commands import REMOTE, only_here

        if args[0] not in REMOTE:
            raise only_here(args[0])
        return args[0], REMOTE[args[0]], args[1:]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, without importing any command."""
        formatter.write(overview(columns()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, help=ABOUT)
@click.version_option(VERSION, "--version", prog_name="aiswe", message="%(prog)s %(version)s")
@click.option("--server", envvar="AISWE_SERVER", default="", metavar="URL")
@click.option("--token-file", type=click.Path(path_type=Path))
@click.pass_context
def cli(context: click.Context, server: str, token_file: Path | None) -> None:
    """All commands."""
    if server:
        from aiswe_site.cli.remote.server import RemoteServer

        context.obj = RemoteServer(server, token_file)
    elif token_file:
        raise WrongUse("A token is for a server.", "Name it with --server URL or AISWE_SERVER.")


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
            output.print_json({"error": wrong.format_message(), "hint": "See the command's --help."})
        return WRONG_USE
    except (click.Abort, KeyboardInterrupt):
        output.note("Stopped.")
        return 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough
        return 0
    except Exception as error:  # noqa: BLE001  the last door: whatever it is becomes a sentence
        problem = problem_from(error)
        output.complain(str(problem), problem.hint)
        if wants_json:
            output.print_json({"error": str(problem), "hint": problem.hint})
        return problem.exit_code
    return answer if isinstance(answer, int) else 0
