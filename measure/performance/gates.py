"""All gates over a change of 500 lines, over one plain run of one scanner."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agents.gates.run import SCANNERS, run_gates
from agents.gates.semgrep_tool import find_semgrep, rules_json
from measure.figures import CannotMeasure, Figure, Section, Spread
from measure.performance.stories import change_of_500_lines
from measure.processes import scratch

TITLE = "all review gates over a change of about 500 lines"
DEFAULT_N = 10
SECONDS = 40.0
IN_A_ROW = 5
_REPO = Path(__file__).parents[2]


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure when a scanner is missing or the clean change does not pass."""
    n = options.n or DEFAULT_N
    program = find_semgrep()
    if program is None:
        raise CannotMeasure("Semgrep is not installed; `make install` fetches it")
    files = change_of_500_lines()
    with scratch() as folder:
        code = folder / "code"
        for name, text in files.items():
            (code / name).parent.mkdir(parents=True, exist_ok=True)
            (code / name).write_text(text)
        rules = folder / "rules.json"
        rules.write_text(rules_json())
        gates: list[float] = []
        cold: list[float] = []
        tools: dict[str, list[float]] = {name: [] for name in SCANNERS}
        began = time.monotonic()
        for turn in range(n + 1):
            cold.append(plain_semgrep(program, rules, code, folder))
            took, reports = _gates(code, sorted(files))
            if turn:  # the first one pays the imports
                gates.append(took)
                for name in tools:
                    tools[name].append(1000 * reports[name].seconds)
            if turn >= 3 and time.monotonic() - began > SECONDS:
                break
        in_a_row = [_gates(code, sorted(files))[0] for _ in range(IN_A_ROW + 1)][1:]
        fresh = [_fresh(code) for _ in range(2)]
    base = Spread.of(cold, "ms")
    words = "`semgrep scan` from the command line, cold, the same rules and files"
    section.figures = [Figure("all gates, warm", Spread.of(gates, "ms"), base, words)]
    section.figures += [Figure("all gates, run after run without a pause", Spread.of(in_a_row, "ms"), base, words)]
    section.figures += [Figure("all gates, in a fresh process", Spread.of(fresh, "ms"), base, words)]
    section.figures += [
        Figure(f"  {name}", Spread.of(samples, "ms"), base, words, better="") for name, samples in tools.items()
    ]
    flow, bandit = Spread.of(tools["flow"], "ms"), Spread.of(tools["bandit"], "ms")
    section.figures.append(Figure("  flow, over Bandit", flow, bandit, "the `bandit` gate in the same runs"))
    lines = sum(text.count("\n") for text in files.values())
    section.notes = [
        f"{len(files)} files, {lines} lines; gates run side by side and check their own canaries in each run",
        "a gate's time holds what it waited for the others: two run at a time",
        "the engine of the next run starts when a run has ended, so without a pause it is not ready yet",
    ]


def _gates(code: Path, paths: list[str]) -> tuple[float, Any]:
    start = time.perf_counter()
    report = run_gates(code, paths=paths)
    took = 1000 * (time.perf_counter() - start)
    if report.verdict != "pass":
        raise CannotMeasure(f"the gates block the clean change: {'; '.join(report.reasons)[:400]}")
    return took, report.tools


def _fresh(code: Path) -> float:
    """Milliseconds of the gates in a process of their own, imports and all."""
    program = "import sys, pathlib, agents.gates.run as r; sys.exit(not r.run_gates(pathlib.Path(sys.argv[1])).passed)"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program, str(code)], cwd=_REPO, timeout=120, check=False)
    took = 1000 * (time.perf_counter() - start)
    if done.returncode:
        raise CannotMeasure("the gates block the clean change in a fresh process")
    return took


def plain_semgrep(program: Path, rules: Path, code: Path, home: Path) -> float:
    """Milliseconds of one run as a person would type it, without network."""
    environment = {
        "PATH": f"{program.parent}:{os.defpath}",
        "HOME": str(home),
        "SEMGREP_SEND_METRICS": "off",
        "SEMGREP_ENABLE_VERSION_CHECK": "0",
        "LANG": "C.UTF-8",
    }
    argv = [
        str(program),
        "scan",
        "--json",
        "--quiet",
        "--metrics",
        "off",
        "--no-git-ignore",
        "--config",
        str(rules),
        str(code),
    ]
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=home, env=environment, capture_output=True, text=True, timeout=120, check=False)
    took = 1000 * (time.perf_counter() - start)
    if done.returncode not in (0, 1):
        raise CannotMeasure(f"semgrep ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return took
