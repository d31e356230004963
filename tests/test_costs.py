"""A run of tests that costs more than its budget fails, on a slow or busy machine as on a fast and quiet one."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests import costs

pytest_plugins = ["pytester"]

CONFTEST = """
from tests import costs
from tests.conftest import pytest_addoption

def pytest_configure(config):
    config.pluginmanager.register(costs.Costs(config), "costs")
"""
BURNS = """
import time

def test_burns():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        sum(range(1000))
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run one test that burns CPU, with so many CPU minutes allowed."""
    pytester.makeini("[pytest]\naddopts = -p no:randomly -p no:django -p no:cacheprovider\n")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(BURNS)

    def started(minutes: float, *arguments: str) -> pytest.RunResult:
        monkeypatch.setitem(costs.HOUSE, "cpu_minutes", {"test": minutes})
        return pytester.runpytest_inprocess(*arguments)

    return started


@pytest.fixture
def measured() -> Callable[..., costs.Costs]:
    """The costs of a run that ended, as the process that reports has them."""

    def made(*, seconds: float, calibration: float) -> costs.Costs:
        config = SimpleNamespace(getoption=lambda name: "test")
        result = costs.Costs(config)  # type: ignore[arg-type]
        result.sum, result.calibrations = seconds, [calibration]
        return result

    return made


def test_a_run_within_its_budget_passes_and_names_its_costly_tests(run: Callable[..., pytest.RunResult]) -> None:
    result = run(1000, "--budget", "test")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*CPU seconds of tests*", "*0.[3-9]  *::test_burns", "*all: *, budget 1000"])


def test_a_run_over_its_budget_fails_though_every_test_passed(run: Callable[..., pytest.RunResult]) -> None:
    result = run(0, "--budget", "test")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["✕ the tests cost * CPU minutes; the budget is 0 (house.toml)*"])


def test_without_a_budget_nothing_is_judged(run: Callable[..., pytest.RunResult]) -> None:
    result = run(0)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*CPU seconds*")


def test_a_core_at_half_the_speed_makes_the_same_work_cost_the_same(measured: Callable[..., costs.Costs]) -> None:
    reference = costs.HOUSE["calibration"]["seconds"]
    assert measured(seconds=600, calibration=reference).normal_seconds() == pytest.approx(600)
    assert measured(seconds=1200, calibration=2 * reference).normal_seconds() == pytest.approx(600)


def test_a_worker_without_figures_makes_the_cost_unknown(measured: Callable[..., costs.Costs]) -> None:
    result = measured(seconds=1, calibration=costs.HOUSE["calibration"]["seconds"])
    assert result.verdict() == ""
    result.pytest_testnodedown(SimpleNamespace(gateway=SimpleNamespace(id="gw1")), error=None)
    assert result.verdict() == "the cost of the tests is not known: no figures from gw1"


def test_figures_of_workers_are_added_up(measured: Callable[..., costs.Costs]) -> None:
    result = measured(seconds=1, calibration=0.1)
    output = {"costs": [{"a::test": 2.0}, [0.2], 3.0]}
    for _ in range(2):
        result.pytest_testnodedown(SimpleNamespace(workeroutput=output), error=None)
    assert result.by_test == {"a::test": 4.0}
    assert result.sum == 7
    assert result.calibrations == [0.1, 0.2, 0.2]


def test_a_run_of_no_test_has_no_known_cost(measured: Callable[..., costs.Costs]) -> None:
    result = measured(seconds=1, calibration=0.1)
    result.calibrations.clear()
    assert "not known" in result.verdict()
