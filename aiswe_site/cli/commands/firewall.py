"""aiswe firewall: what would it say?"""

from __future__ import annotations

import json
import sys

import click

from aiswe_site.terminal import output
from aiswe_site.terminal.problems import NO


@click.group()
def command() -> None:
    """Check commands, code, output and paths with the firewall."""


@command.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON array instead of one verdict per line.")
@click.option("--layers", is_flag=True, help="Also show what each layer found.")
def check(as_json: bool, layers: bool) -> int:
    """Check JSON lines from stdin, {"kind": "command|code|output|path", "text": "…"}; print one verdict per line.

    Exit code 1 when anything was denied.
    """
    from agents.firewall.judge import check_lines

    denied = False
    verdicts = []
    for line in check_lines(click.open_file("-", encoding="utf-8", errors="replace"), layers=layers):
        verdict = json.loads(line) if isinstance(line, str) else line
        denied = denied or verdict.get("decision") == "deny"
        if as_json:
            verdicts.append(verdict)
        else:
            sys.stdout.write(json.dumps(verdict, ensure_ascii=False) + "\n")
            sys.stdout.flush()
    if as_json:
        output.print_json(verdicts)
    return NO if denied else 0
