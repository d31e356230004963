"""Semgrep with the product's own rules, from an environment of its own.

The engine is called without its Python front (`--experimental`): equal findings and errors on 290 files, a tenth of
the time for one file. It does not resolve YAML aliases, so the rules are handed over expanded, as JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.gates.base import RawFinding, Severity
from agents.gates.program import failures_as_problems, find_program, run_program
from agents.gates.rule_set import rules_json as rules_json
from agents.gates.scanner import Scan, Stage, canary

_REPO = Path(__file__).parents[2]
WAY_OUT = (
    "install it into an environment of its own (python -m venv .venv-semgrep && "
    ".venv-semgrep/bin/pip install -r requirements/semgrep.lock.txt) or set AISWE_SEMGREP to the program"
)


def find_semgrep() -> Path | None:
    """The program named by AISWE_SEMGREP, else the one beside the product, else the one on PATH."""
    return find_program("semgrep", variable="AISWE_SEMGREP", beside=_REPO / ".venv-semgrep" / "bin" / "semgrep")


class SemgrepScanner:
    """Semgrep with the product's own rules. `# nosemgrep` has no effect; nothing is sent to a server."""

    name = "semgrep"
    languages = frozenset(
        "python javascript typescript template go java kotlin ruby php c cpp rust lua terraform".split()
    )
    canaries = (
        canary(
            "semgrep.py",
            "python",
            "@app.get('/')\ndef show(name: str):\n"
            "    db.execute(f'select {name}')  # nosemgrep\n    eval(name)  # nosemgrep\n",
            "py-sql-injection",
            "py-dynamic-code",
        ),
        canary("semgrep.js", "javascript", "eval(text); // nosemgrep\n", "js-code-from-text"),
        canary("semgrep.ts", "typescript", "eval(text as string); // nosemgrep\n", "js-code-from-text"),
        canary("semgrep.php", "php", "<?php\neval($x); // nosemgrep\n", "php-code-from-text"),
        canary("semgrep.html", "template", "{{ text|safe }}\n", "tpl-escaping-off"),
    )

    def scan(self, stage: Stage) -> Scan:
        """Scan all units and canaries in one call of the engine."""
        scan = Scan()
        program = find_semgrep()
        if program is None:
            scan.problem = f"is not installed: {WAY_OUT}"
            return scan
        folder = stage.write()
        # An ignore file of our own replaces the engine's default one, which leaves tests and build folders out.
        (folder / ".semgrepignore").write_text("", encoding="utf-8")
        sources = [unit.data for unit in stage.units if unit.language == "python"]
        (stage.scratch / "rules.json").write_text(rules_json(sources), encoding="utf-8")
        with failures_as_problems(scan, f": {WAY_OUT}"):
            document = json.loads(_run(program, stage))
            scan.version = str(document["version"])
            scan.ran = True
            self._read(document, stage, scan)
        return scan

    def _read(self, document: dict[str, Any], stage: Stage, scan: Scan) -> None:
        paths = {unit.name: unit.path or "the canary" for unit in stage.units}
        scan.scanned = {Path(path).name for path in document["paths"]["scanned"]} & paths.keys()
        for error in document["errors"]:
            name = Path(error.get("path") or "").name
            if not scan.problem:
                what = " ".join(str(error.get("message", "unknown error")).replace(name or "\0", "").split())[:200]
                scan.problem = f"could not read all of {paths.get(name, 'the code')}: {what}"
            scan.scanned.discard(name)
        if document.get("skipped_rules"):
            scan.problem = scan.problem or "skipped some of its rules"
        for result in document["results"]:
            extra, meta = result["extra"], result["extra"]["metadata"]
            scan.findings.append(
                RawFinding(
                    unit=Path(result["path"]).name,
                    line=int(result["start"]["line"]),
                    rule=str(result["check_id"]).rpartition(".")[2],
                    severity=Severity.read(str(extra["severity"])),
                    confidence=str(meta["confidence"]),
                    cwe=str(meta["cwe"]),
                    message=str(extra["message"]),
                    remediation=str(meta["remediation"]),
                    skip_in_tests=meta.get("skip_in_tests") is True,
                )
            )


def _run(program: Path, stage: Stage) -> bytes:
    home = stage.scratch / "home"
    home.mkdir()
    options = (
        "scan --experimental --json --quiet --metrics off --disable-version-check --disable-nosem --no-git-ignore"
        " --max-target-bytes 0 --timeout 30 --timeout-threshold 0 --jobs 2"
    )
    files = ["--config", str(stage.scratch / "rules.json"), str(stage.scratch / "code")]
    folders = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(home))
    settings = {
        "SEMGREP_SEND_METRICS": "off",
        "SEMGREP_ENABLE_VERSION_CHECK": "0",
        "SEMGREP_SETTINGS_FILE": str(home / "settings.yml"),
        "SEMGREP_LOG_FILE": str(home / "log"),
        "LANG": "C.UTF-8",
    }
    return run_program(stage, [str(program), *options.split(), *files], home, **folders, **settings)[1]
