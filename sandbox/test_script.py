"""Run a program of ours that runs tests in a sandbox, with the servers that the tests need."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from sandbox.base import ExecResult, Sandbox, SandboxError
from sandbox.services import START_SECONDS, RunsBeside, ServiceFailed, environment_of
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup


@runtime_checkable
class RunsScripts(Protocol):
    """A sandbox that can fork a Python with the test tools imported (see WarmSandbox)."""

    def run_script(
        self, source: str, argv: Sequence[str] = (), *, seconds: float | None = None, stdin: bytes = b""
    ) -> ExecResult:
        """Run Python source; what it writes to its report comes back with the result."""


def script_runner(sandbox: Sandbox) -> RunsScripts:
    """The sandbox as one that runs scripts; raises SandboxError for one that cannot."""
    if not isinstance(sandbox, RunsScripts):
        raise SandboxError(f"the {sandbox.backend} sandbox cannot run test scripts")
    return sandbox


def run_test_script(
    sandbox: Sandbox,
    source: str,
    request: Mapping[str, Any],
    setup: TestSetup,
    read: Callable[[ExecResult], TestReport],
    *,
    seconds: float,
) -> TestReport:
    """Send the program and its request; `read` makes the report of what came back.

    The request gets the setup's environment and the servers to start; their start does not count for `seconds`. Raises
    SandboxError.
    """
    runner = script_runner(sandbox)
    try:
        with sandbox.beside(setup.services) if isinstance(sandbox, RunsBeside) else nullcontext(()) as beside:
            asked = {
                **request,
                "environment": {**environment_of(setup.services), **setup.environment},
                "services": [service.to_start() for service in setup.services if service not in beside],
            }
            limit = seconds + START_SECONDS * len(setup.services)
            done = runner.run_script(source, seconds=limit, stdin=json.dumps(asked).encode())
    except ServiceFailed as failed:
        return TestReport(problem=str(failed) if failed.own else "", void="" if failed.own else str(failed))
    report = read(done)
    shown = [f"{service.facts.name} ({service.image or service.facts.image})" for service in beside]
    return replace(report, services=(*shown, *report.services)) if shown else report
