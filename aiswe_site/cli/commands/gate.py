"""aiswe gate: the review gates on any folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from agents.gates.base import GateFinding


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
        for finding in report.findings:
            _show(finding, blocks=str(finding) in report.reasons)
        known = {str(finding) for finding in report.findings}
        for reason in report.reasons:
            if reason not in known:
                output.say(f"✕ {reason}")
        against = sum(finding in report.reasons for finding in known)
        output.say("✓ passed" if report.passed else f"✕ blocked: {against} of {len(known)} findings block")

    return output.answer(report.to_json(), people, ok=report.passed)


def _show(finding: GateFinding, *, blocks: bool) -> None:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    head = f"{'✕' if blocks else '·'} {finding.severity.name} {place} ({finding.tool}: {finding.rule})"
    for start, text in (("", head), ("    ", finding.message), ("    → ", finding.remediation)):
        output.say(start + " ".join(text.split()))
