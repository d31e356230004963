"""Semgrep with the product's own rules, from an environment of its own.

An engine that was started ahead scans (`semgrep_engine.py`). Where there is none, or where it fails, the command does,
without its Python front (`--experimental`): equal findings and errors, a tenth of the plain command's time for one
file. Neither resolves YAML aliases, so the rules are handed over expanded, as JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from agents.gates import semgrep_engine
from agents.gates.base import RawFinding, Severity, own_finding
from agents.gates.program import failures_as_problems, find_program, run_program
from agents.gates.rule_set import languages
from agents.gates.rule_set import rules_json as rules_json
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit

# A file of these that does not parse is asked about; the engine does not know the newest of their syntax.
_FEW_RULES = frozenset("go java kotlin ruby php c cpp rust lua terraform".split())
_REPO = Path(__file__).parents[2]
_OF_ANY_LANGUAGE = frozenset({"generic", "regex"})  # rules of these are for every file
_SEMGREPS_NAMES = {"terraform": "hcl"}  # where Semgrep calls a language otherwise
_ANSWER = frozenset({"version", "results", "errors", "paths"})
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
    languages = frozenset({"python", "javascript", "typescript", "template"}) | _FEW_RULES
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
        rules = rules_json([unit.data for unit in stage.units if unit.language == "python"])
        with failures_as_problems(scan, f": {WAY_OUT}"):
            document = _ask_engine(program, rules, stage, folder) or json.loads(_run(program, rules, stage, folder))
            scan.version = str(document["version"])
            scan.ran = True
            self._read(document, stage, scan)
        return scan

    def _read(self, document: dict[str, Any], stage: Stage, scan: Scan) -> None:
        units = {unit.name: unit for unit in stage.units}
        scan.scanned = {Path(path).name for path in document["paths"]["scanned"]} & units.keys()
        for error in document["errors"]:
            unit, why = (
                units.get(Path(error.get("path") or (error.get("location") or {}).get("path") or "").name),
                _why(error),
            )
            if unit is None:
                scan.problem = scan.problem or f"could not read all of the code: {why}"
            elif unit.language in _FEW_RULES:
                line = int((re.search(r"\d+$", why) or [0])[0])
                scan.findings.append(
                    own_finding("not-checked", unit.name, line, what=f"not all of it can be read ({why})")
                )
            else:
                scan.failures.setdefault(unit.name, why)
                scan.scanned.discard(unit.name)
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


def _why(error: dict[str, Any]) -> str:
    """What went wrong, without the text of the file and the names of our copies."""
    start = (error.get("location") or {}).get("start") or {}
    found = re.search(r":(\d+)(?::|$)", str(error.get("message", "")))
    line = start.get("line") or (found[1] if found else "")
    kind = str(error.get("type") or error.get("error_type") or "error")
    named = "Syntax error" if "Pars" in kind else re.sub(r"[^\w ]", "", kind)[:40]
    return f"{named} at line {line}" if line else named


def _ask_engine(program: Path, rules: str, stage: Stage, folder: Path) -> dict[str, Any] | None:
    """What an engine that was started ahead says; None when the command must be asked."""
    engine = semgrep_engine.find_engine(program)
    if engine is None:
        return None
    targets = {unit.name: _targets(folder, unit) for unit in stage.units}
    answer = semgrep_engine.scan(engine, rules, [one for each in targets.values() for one in each], stage.deadline)
    try:
        document = json.loads(answer or b"null")
    except ValueError:
        return None
    if not isinstance(document, dict) or not document.keys() >= _ANSWER:
        return None
    # A file counts once for each language; one that is missing there is missing everywhere.
    counted = Counter(Path(path).name for path in document["paths"]["scanned"])
    document["paths"]["scanned"] = [name for name, wanted in targets.items() if counted[name] >= max(1, len(wanted))]
    return document


def _targets(folder: Path, unit: Unit) -> list[object]:
    place = {"fpath": str(folder / unit.name), "ppath": f"/{unit.name}"}
    wanted = ({_SEMGREPS_NAMES.get(unit.language, unit.language)} | _OF_ANY_LANGUAGE) & languages()
    return [["CodeTarget", {"path": place, "analyzer": name, "products": ["sast"]}] for name in sorted(wanted)]


def _run(program: Path, rules: str, stage: Stage, folder: Path) -> bytes:
    # An ignore file of our own replaces the engine's default one, which leaves tests and build folders out.
    (folder / ".semgrepignore").write_text("", encoding="utf-8")
    (stage.scratch / "rules.json").write_text(rules, encoding="utf-8")
    home = stage.scratch / "home"
    home.mkdir()
    options = (
        "scan --experimental --json --quiet --metrics off --disable-version-check --disable-nosem --no-git-ignore"
        f" --max-target-bytes 0 --timeout {semgrep_engine.RULE_SECONDS} --timeout-threshold 1 --jobs 2"
    )
    files = ["--config", str(stage.scratch / "rules.json"), str(folder)]
    folders = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(home))
    settings = {
        "SEMGREP_SEND_METRICS": "off",
        "SEMGREP_ENABLE_VERSION_CHECK": "0",
        "SEMGREP_SETTINGS_FILE": str(home / "settings.yml"),
        "SEMGREP_LOG_FILE": str(home / "log"),
        "LANG": "C.UTF-8",
    }
    return run_program(stage, [str(program), *options.split(), *files], home, **folders, **settings)[1]
