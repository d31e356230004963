"""Repeat what failed in a build: in the sandbox, by a resolver or on the container engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agents.checks.check import check_files
from agents.checks.compose_services import with_services
from agents.engine.contracts import Supply
from agents.engine.verdict import plain
from agents.gates.program import find_program
from agents.languages.base import BuildCheck, Language
from agents.languages.registry import languages
from agents.languages.suites import run_suites
from agents.repair.build_log import DOCKER
from agents.secrets.redaction import redact
from sandbox.base import ExecResult, PackageRefused, Sandbox
from sandbox.container_report import ContainerReport
from sandbox.paths import regular_files
from sandbox.test_setup import TestSetup

SAID = 3_000  # characters of output that are kept
PROGRAMS = ".aiswe-programs"
_START = "import os, sys; os.chmod(sys.argv[1], 0o700); os.execv(sys.argv[1], sys.argv[1:])"


@dataclass(frozen=True)
class Rebuilt:
    """What repeating gave; `ok` is None where nothing was proven, and `said` tells why."""

    ok: bool | None
    title: str
    said: str = ""
    chosen: tuple[str, ...] = ()  # by a resolver: name==version
    failing: tuple[str, ...] = ()  # tests

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Builder:
    """What repeating needs. `sandbox` opens one with these packages; its /workspace is filled from `tree`."""

    tree: Path
    sandbox: Callable[[Sequence[str]], Sandbox]
    supply: Supply
    language: Language  # the repository's main one
    setup: TestSetup = field(default_factory=TestSetup)
    try_container: Callable[[Path, str], ContainerReport] | None = None

    def repeat(self, cause: Mapping[str, Any]) -> Rebuilt:
        """Repeat what `cause` (BuildCause.to_json()) says failed. Raises SandboxUnavailable."""
        if cause["kind"] == DOCKER:
            return self._container(str(cause["file"] or "Dockerfile"))
        check = check_of(cause, self.read)
        if check is None:
            return Rebuilt(None, "", "What failed cannot be repeated from the log alone.")
        try:
            if check.manifest:
                return self._resolved(check)
            return self._tested(check, cause) if check.tests else self._ran(check)
        except PackageRefused as refused:
            return Rebuilt(None, check.title, f"What it needs cannot be had: {refused}")

    def read(self, path: str) -> str:
        """The text of a file of the tree; "" when there is none, whatever path a log names."""
        found = (self.tree / path).resolve()
        try:
            return found.read_text("utf-8", "replace") if found.is_relative_to(self.tree.resolve()) else ""
        except OSError:
            return ""

    def _resolved(self, check: BuildCheck) -> Rebuilt:
        text = self.read(check.manifest)
        lines = next((found for one in languages() if (found := one.pins(check.manifest, text))), {})
        runtime = lines.pop("", "")
        wanted = [*lines.values()]
        if redact(wanted) != wanted:
            return Rebuilt(None, check.title, "A requirement holds a secret; no index is asked.")
        answer = self.supply.resolve(wanted, runtime)
        return Rebuilt(answer.ok, f"{answer.tool} resolves {check.manifest}", answer.said, answer.chosen)

    def _tested(self, check: BuildCheck, cause: Mapping[str, Any]) -> Rebuilt:
        sandbox = self.sandbox(())
        sandbox.mirror(self.tree)
        there = [path for path, _, _ in regular_files(self.tree)]
        report = run_suites(self.language, sandbox, there, [], with_services(self.setup, self.tree))
        named = str(cause.get("test", "")).replace(" > ", "::").split("::")[-1]
        failing = sorted({plain(one) for one in report.failing} or {plain(one.nodeid) for one in report.failures})
        ours = [one for one in failing if named and one.endswith(named)] or failing
        said = "\n".join(f"{one.nodeid}: {one.message[:300]}" for one in report.failures[:5]) or report.problem
        return Rebuilt(report.ok, check.title, (said or report.output[-SAID:])[:SAID], failing=tuple(ours[:20]))

    def _ran(self, check: BuildCheck) -> Rebuilt:
        sandbox = self.sandbox(check.packages)
        sandbox.mirror(self.tree)
        done = self._exec(sandbox, check)
        said = str(redact(f"{done.out}\n{done.err}".strip()))[-SAID:]
        if done.exit_code is None or done.exit_code in (126, 127):
            return Rebuilt(None, check.title, said or "It did not end.")
        return Rebuilt(done.ok, check.title, "" if done.ok else said)

    def _exec(self, sandbox: Sandbox, check: BuildCheck) -> ExecResult:
        if not check.programs:
            return sandbox.exec(check.argv)
        name = check.programs[0]
        program = find_program(name, beside=Path(sys.executable).with_name(name))
        if program is None:
            return ExecResult(check.argv, 127, "", f"{name} is not installed beside the product", 0.0)
        sandbox.put({f"{PROGRAMS}/{name}": program.read_bytes()})
        return sandbox.exec(["python", "-c", _START, f"{PROGRAMS}/{name}", *check.argv[1:]])

    def _container(self, path: str) -> Rebuilt:
        """On the engine where one answers; else by the checks of Dockerfiles, which find what is plain to see."""
        report = self.try_container(self.tree, path) if self.try_container is not None else None
        title = f"docker build with {path}"
        if report is not None and report.state in ("ok", "failed"):
            failed = (
                report.state == "failed" and not report.user
            )  # what was built and does not start is no failed build
            return Rebuilt(not failed, title, f"{report.problem}\n{report.output}"[-SAID:] if failed else "")
        there = [name for name, _, _ in regular_files(self.tree)]
        found = check_files({path: self.read(path)}, {}, there, self.read)
        why = report.problem if report is not None else "no container engine is asked"
        if found:
            return Rebuilt(False, f"the checks of {path}", "\n".join(f"line {one.line}: {one.text}" for one in found))
        return Rebuilt(None, title, f"Not built: {why}.")


def check_of(cause: Mapping[str, Any], read: Callable[[str], str]) -> BuildCheck | None:
    """How the language whose tool failed repeats it."""
    tool = str(cause["tool"])
    speaker = next((one for one in languages() if tool in one.build_kinds), None)
    if speaker is None:
        return None
    return speaker.build_check(
        tool, str(cause["message"]).partition(":")[0], str(cause["command"]), str(cause["file"]), read
    )
