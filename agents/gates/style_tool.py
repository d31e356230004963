"""Style: ruff's checks and formatting, with the product's configuration only. Reported, never blocking.

`ruff format` writes what Black writes. JavaScript and TypeScript are compared with prettier where it is installed;
where not, the report says so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agents.gates.base import Severity
from agents.gates.scanner import RawFinding, Scan, Stage, canary

_RULES = "E4,E7,E9,F,I,UP,B,SIM,C4"
# E501 belongs to the formatter; scripts import late (E402); I001 needs to know the project; B008 is FastAPI's Depends.
_IGNORED = "E402,E501,I001,B008"


def find_prettier() -> Path | None:
    """The prettier named by AISWE_PRETTIER or on PATH; never one that the scanned project brings along."""
    found = os.environ.get("AISWE_PRETTIER") or shutil.which("prettier")
    return Path(found) if found and os.access(found, os.X_OK) else None


def find_ruff() -> Path | None:
    """The ruff beside this Python, else the one on PATH."""
    beside = Path(sys.executable).parent / "ruff"
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which("ruff")
    return Path(found) if found else None


class StyleScanner:
    """Ruff for Python, Prettier for scripts where it is installed. `# noqa` and configuration files have no effect."""

    name = "style"
    languages = frozenset({"python", "javascript", "typescript"})
    canaries = (canary("style.py", "python", "import os  # noqa\nx = {  'a':1 }\n", "F401", "format"),)

    def scan(self, stage: Stage) -> Scan:
        """Check, then compare with the formatted text."""
        scan = Scan()
        program = find_ruff()
        if program is None:
            scan.problem = "is not installed: pip install ruff into the product's environment"
            return scan
        folder = stage.write()
        length = str(stage.policy.line_length)
        common = ["--isolated", "--no-cache", "--line-length", length, "--target-version", "py311"]
        check = [
            "check",
            *common,
            "--select",
            _RULES,
            "--ignore",
            _IGNORED,
            "--ignore-noqa",
            "--output-format",
            "json",
            "--exit-zero",
        ]
        try:
            scan.version = _run(program, ["--version"], folder, stage).decode().removeprefix("ruff").strip()
            for entry in json.loads(_run(program, [*check, str(folder)], folder, stage)):
                scan.findings.append(_lint(entry))
            for entry in json.loads(
                _run(
                    program,
                    ["format", *common, "--check", "--output-format", "json", "--preview", str(folder)],
                    folder,
                    stage,
                )
            ):
                scan.findings.append(_format(entry))
            scan.findings.extend(_prettier(folder, stage))
        except subprocess.TimeoutExpired:
            scan.problem = "timed out"
            return scan
        except OSError as error:
            scan.problem = f"could not be started ({error.strerror or error})"
            return scan
        except (ValueError, KeyError, TypeError) as error:
            scan.problem = f"crashed: its answer is not the expected JSON ({type(error).__name__})"
            return scan
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
        message = f"Not checked: the style of {len(scripts)} JavaScript or TypeScript files; prettier is not installed."
        hint = "Install prettier, or name it in AISWE_PRETTIER."
        return [RawFinding(scripts[0], 1, "style-not-checked", Severity.INFO, "HIGH", "CWE-1076", message, hint)]
    options = ["--list-different", "--no-config", "--no-editorconfig", "--ignore-path", os.devnull]
    different = _run(program, [*options, *scripts], folder, stage).decode("utf-8", "replace").splitlines()
    return [
        RawFinding(name, 1, "format", Severity.LOW, "HIGH", "CWE-1076", "Not formatted.", "Run prettier --write.")
        for name in scripts
        if name in different
    ]


def _run(program: Path, arguments: list[str], folder: Path, stage: Stage) -> bytes:
    timeout = max(0.1, stage.deadline - time.monotonic())
    environment = {"PATH": os.defpath, "HOME": str(stage.scratch), "NO_COLOR": "1"}
    done = subprocess.run(
        [str(program), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    # 1 says that something was found, 2 that a file does not parse; both come with JSON.
    if done.returncode not in (0, 1, 2):
        raise ValueError(f"exit {done.returncode}")
    return done.stdout


def _lint(entry: dict[str, Any]) -> RawFinding:
    code = str(entry["code"] or "syntax")
    fix = (entry.get("fix") or {}).get("message") or "See the rule's name; rewrite the line accordingly."
    return RawFinding(
        Path(entry["filename"]).name,
        int(entry["location"]["row"]),
        code,
        Severity.LOW,
        "HIGH",
        "CWE-1076",
        str(entry["message"]),
        str(fix),
    )


def _format(entry: dict[str, Any]) -> RawFinding:
    row = int((entry.get("location") or {}).get("row", 1))
    rule = "format" if entry["code"] == "unformatted" else str(entry["code"])
    return RawFinding(
        Path(entry["filename"]).name, row, rule, Severity.LOW, "HIGH", "CWE-1076", "Not formatted.", "Run ruff format."
    )
