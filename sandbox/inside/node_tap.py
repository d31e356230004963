"""Runs inside a sandbox: results that a program prints by the Test Anything Protocol; one without it is one test."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.inside.report import Report

_LINE = re.compile(r"^(not )?ok\b ?\d*\s*(?:- ?)?(.*?)(?:\s#\s*(skip|todo)\b.*)?$", re.IGNORECASE)


def read_tap(report: Report, path: str, out: str, err: str, code: int) -> None:
    lines, suite, found = out.splitlines(), "", 0
    for at, line in enumerate(lines):
        if line.startswith("# "):
            suite = line[2:].strip()
        elif told := _LINE.match(line):
            found += 1
            names = [
                name for name in (suite, told[2].strip()) if name and not re.match(r"(?:tests|pass|fail) +\d", name)
            ]
            identity = f"{path}::{' > '.join(names)}"
            if told[3]:
                report.send("test", id=identity, outcome="skipped", reason=told[3])
            elif told[1]:
                block = "\n".join(_block(lines[at + 1 :]))
                report.send("test", id=identity, outcome="failed", message=told[2].strip()[:600], stack=block[:6000])
            else:
                report.send("test", id=identity, outcome="passed")
    if not found or (code and not re.search(r"^not ok", out, re.MULTILINE)):
        words = (err or out)[-6000:]
        if code:
            report.send("broken", file=path, tests=found, message=_message(words), stack=words)
        else:
            report.send("test", id=path, outcome="passed")
    report.send("tap_end", file=path)


def _message(words: str) -> str:
    """The line of a program's last words that names the error."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    named = (line for line in lines if re.match(r"[\w.]*(?:Error|Exception)\b", line))
    return next(named, lines[-1] if lines else "it ended with an error")[:600]


def _block(lines: Sequence[str]) -> list[str]:
    if not lines or lines[0].strip() != "---":
        return []
    end = next((at for at, line in enumerate(lines) if line.strip() == "..."), min(len(lines), 40))
    return [line.strip() for line in lines[1:end]]
