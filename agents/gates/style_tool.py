"""Style: ruff's checks and formatting, with the product's configuration only. Reported, never blocking.

`ruff format` writes what Black writes. JavaScript and TypeScript are compared with prettier where it is installed;
where not, the report says so.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents.gates.base import RawFinding, Severity, own_finding
from agents.gates.program import failures_as_problems, find_program, run_program
from agents.gates.scanner import Scan, Stage, canary

_RULES = "E4,E7,E9,F,I,UP,B,SIM,C4"
# E501 belongs to the formatter; scripts import late (E402); I001 needs to know the project; B008 is FastAPI's Depends.
_IGNORED = "E402,E501,I001,B008"


def find_prettier() -> Path | None:
    """The prettier named by AISWE_PRETTIER or on PATH; never one that the scanned project brings along."""
    return find_program("prettier", variable="AISWE_PRETTIER")


class StyleScanner:
    """Ruff for Python, Prettier for scripts where it is installed. `# noqa` and configuration files have no effect."""

    name = "style"
    languages = frozenset({"python", "javascript", "typescript"})
    canaries = (canary("style.py", "python", "import os  # noqa\nx = {  'a':1 }\n", "F401", "format"),)

    def scan(self, stage: Stage) -> Scan:
        """Check, then compare with the formatted text."""
        scan = Scan()
        program = find_program("ruff", beside=Path(sys.executable).parent / "ruff")
        if program is None:
            scan.problem = "is not installed: pip install ruff into the product's environment"
            return scan
        folder = stage.write()
        common = [
            "--isolated",
            "--no-cache",
            "--line-length",
            str(stage.policy.line_length),
            "--target-version",
            "py311",
        ]
        common += ["--output-format", "json", str(folder)]
        rules = ["--select", _RULES, "--ignore", _IGNORED, "--ignore-noqa", "--exit-zero"]
        with failures_as_problems(scan):
            scan.version = _run(program, ["--version"], folder, stage).decode().removeprefix("ruff").strip()
            linted = json.loads(_run(program, ["check", *rules, *common], folder, stage))
            formatted = json.loads(_run(program, ["format", "--check", "--preview", *common], folder, stage))
            scan.findings += [*map(_lint, linted), *map(_format, formatted), *_prettier(folder, stage)]
            scan.ran = True
            scan.scanned = {unit.name for unit in stage.units}
        return scan


def _prettier(folder: Path, stage: Stage) -> list[RawFinding]:
    """What prettier would write differently; one INFO finding when there is no prettier to ask."""
    scripts = [unit.name for unit in stage.units if unit.path and unit.language in ("javascript", "typescript")]
    program = find_prettier()
    if not scripts:
        return []
    if program is None:
        return [own_finding("style-not-checked", scripts[0], 1, count=len(scripts))]
    options = ["--list-different", "--no-config", "--no-editorconfig", "--ignore-path", os.devnull]
    different = _run(program, [*options, *scripts], folder, stage).decode("utf-8", "replace").splitlines()
    return [own_finding("format", name, 1, program="prettier --write") for name in scripts if name in different]


def _run(program: Path, arguments: list[str], folder: Path, stage: Stage) -> bytes:
    code, output = run_program(stage, [str(program), *arguments], folder, NO_COLOR="1")
    # 1 says that something was found, 2 that a file does not parse; both come with JSON.
    if code not in (0, 1, 2):
        raise ValueError(f"exit {code}")
    return output


def _lint(entry: dict[str, Any]) -> RawFinding:
    code = str(entry["code"] or "syntax")
    fix = (entry.get("fix") or {}).get("message") or "See the rule's name; rewrite the line accordingly."
    return RawFinding(
        *(Path(entry["filename"]).name, int(entry["location"]["row"]), code, Severity.LOW, "HIGH", "CWE-1076"),
        *(str(entry["message"]), str(fix)),
    )


def _format(entry: dict[str, Any]) -> RawFinding:
    row = int((entry.get("location") or {}).get("row", 1))
    found = own_finding("format", Path(entry["filename"]).name, row, program="ruff format")
    return found if entry["code"] == "unformatted" else replace(found, rule=str(entry["code"]))
