"""What the tests cost: CPU seconds of each, of all, and the budget of house.toml that a whole run must keep.

CPU, not time: what else the machine does decides nothing. A core that others use too, or a slower one, takes more CPU
seconds for the same work, so a fixed piece of work is measured between the tests, and the sum is given in seconds of
the core that house.toml names. What a test leaves to a server that was running before (a Docker engine's containers)
is not counted, and a process counts for the test in which it ends.
"""

from __future__ import annotations

import gc
import json
import re
import resource
import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

HOUSE = tomllib.loads((Path(__file__).parent.parent / "house.toml").read_text(encoding="utf-8"))["tests"]
SHOWN = 25
SECONDS_BETWEEN_CALIBRATIONS = 45


def cpu_seconds(*, with_children: bool = True) -> float:
    """CPU seconds of this process, and of all its children that have ended."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) if with_children else (resource.RUSAGE_SELF,)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def calibrate() -> float:
    """CPU seconds that a fixed piece of work takes here and now: objects, dictionaries, regular expressions, JSON."""
    gc.disable()  # a collection would look at everything that the tests before left in memory
    started = cpu_seconds()
    rows = [{"key": f"T-{number:05}", "parts": [number % 7, str(number)]} for number in range(40_000)]
    text = json.dumps(rows)
    found = re.findall(r'"T-(\d+)"', text)
    assert sorted(found, reverse=True)[-1] == "00000"
    assert json.loads(text) == rows
    taken = cpu_seconds() - started
    gc.enable()
    return taken


class Costs:
    """Measures in the process that runs tests, gathers and judges in the one that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.worker_output: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self.budget: str | None = config.getoption("--budget")
        self.by_test: dict[str, float] = {}
        self.calibrations: list[float] = []
        self.sum = 0.0
        self.lost: list[str] = []
        self._measuring = False
        self._calibrate_at = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool | None, bool | None]:
        """Add up what one test costs, with its set-up and what it cleans up."""
        self._measuring = True
        if cpu_seconds() >= self._calibrate_at:
            self.calibrations.append(calibrate())
            self._calibrate_at = cpu_seconds() + SECONDS_BETWEEN_CALIBRATIONS
        started = cpu_seconds()
        try:
            return (yield)
        finally:
            name = item.nodeid.partition("[")[0]
            self.by_test[name] = self.by_test.get(name, 0) + cpu_seconds() - started

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand a worker's figures over; in the process that reports, fail a run over its budget."""
        # Workers were children of this process, and have handed over what they cost themselves.
        self.sum += cpu_seconds(with_children=self._measuring)
        if self.worker_output is not None:
            self.worker_output["costs"] = [self.by_test, self.calibrations, self.sum]
        elif self.budget is not None and self.verdict() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take a worker's figures."""
        try:
            by_test, calibrations, seconds = node.workeroutput["costs"]
        except (AttributeError, KeyError):
            self.lost.append(node.gateway.id)
            return
        for name, cost in by_test.items():
            self.by_test[name] = self.by_test.get(name, 0) + cost
        self.calibrations += calibrations
        self.sum += seconds

    def normal_seconds(self) -> float:
        """The sum in seconds of the core that house.toml names."""
        return self.sum * HOUSE["calibration"]["seconds"] / (sum(self.calibrations) / len(self.calibrations))

    def verdict(self) -> str:
        """Why the budget is not kept; empty when it is."""
        if self.lost:
            return f"the cost of the tests is not known: no figures from {', '.join(self.lost)}"
        if not self.calibrations:
            return "the cost of the tests is not known: no test ran"
        minutes, most = self.normal_seconds() / 60, HOUSE["cpu_minutes"][self.budget]
        if minutes > most:
            return f"the tests cost {minutes:.1f} CPU minutes; the budget is {most} (house.toml): make some cheaper"
        return ""

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The most costly tests and the sum, where a budget was named."""
        if self.budget is None:
            return
        terminalreporter.section("CPU seconds of tests")
        for name, cost in sorted(self.by_test.items(), key=lambda row: -row[1])[:SHOWN]:
            terminalreporter.write_line(f"{cost:8.1f}  {name}")
        if self.calibrations:
            speed = HOUSE["calibration"]["seconds"] / (sum(self.calibrations) / len(self.calibrations))
            terminalreporter.write_line(
                f"{self.sum:8.1f}  all: {self.normal_seconds() / 60:.1f} CPU minutes of a quiet core "
                f"(this one ran at {speed:.2f} of its speed), budget {HOUSE['cpu_minutes'][self.budget]}"
            )
        if problem := self.verdict():
            terminalreporter.write_line(f"✕ {problem}", red=True)
