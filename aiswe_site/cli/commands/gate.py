"""aiswe gate: the review gates on any folder."""

from __future__ import annotations

from pathlib import Path

import click

from aiswe_site.cli import output
from aiswe_site.cli.problems import WrongUse


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--tools", metavar="NAME,…", help="Only these; all by default.")
@output.json_option
def command(path: Path, tools: str | None) -> int:
    """Run the review gates on PATH, a folder or a file. Exit code 1 when they block.

    Nothing in PATH can silence them: suppressing comments and configuration files are ignored.
    """
    from agents.gates.base import GateError
    from agents.gates.run import run_gates

    root, only = (path, None) if path.is_dir() else (path.parent, [path.name])
    names = [name.strip() for name in tools.split(",") if name.strip()] if tools is not None else None
    try:
        report = run_gates(root.resolve(), tools=names, paths=only)
    except GateError as error:
        raise WrongUse(str(error)) from None

    def people() -> None:
        rows = [
            (f.severity.name, f.tool, f.rule, f"{f.path}:{f.line}", f.message, f.remediation) for f in report.findings
        ]
        output.table(("Severity", "Tool", "Rule", "Where", "What", "Remedy"), rows, nothing="No findings.")
        output.say("✓ passed" if report.passed else "✕ blocked")
        for reason in report.reasons:
            output.say(f"  {reason}")

    return output.answer(report.to_json(), people, ok=report.passed)
