"""The meter on files like those of the kernel, and on a stand-in for the NVML library."""

from pathlib import Path
from typing import Any

import pytest

from projects.engine.energy import EnergyMeter


def counter(root: Path, name: str, microjoules: int, most: int = 262_143_328_850) -> None:
    folder = root / name
    folder.mkdir(exist_ok=True)
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text(f"{most}\n")


class Cards:
    """Two cards that have taken so many millijoules; the second is too old to tell."""

    millijoules = 5_000

    def nvmlDeviceGetCount_v2(self, number: Any) -> int:
        number._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, place: int, card: Any) -> int:
        card._obj.value = place + 1
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, card: Any, millijoules: Any) -> int:
        millijoules._obj.value = self.millijoules
        return 0 if card.value == 1 else 3


def test_processors_count_and_their_parts_do_not(tmp_path: Path) -> None:
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0", "intel-rapl"):
        counter(tmp_path, name, 1_000_000)
    meter = EnergyMeter(tmp_path)
    meter.read(0.0)
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        counter(tmp_path, name, 31_000_000)
    assert meter.take(10.0, 10.0) == 60.0


def test_a_counter_that_starts_again_goes_on(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", 90_000_000, most=100_000_000)
    meter = EnergyMeter(tmp_path)
    meter.read(0.0)
    counter(tmp_path, "intel-rapl:0", 5_000_000, most=100_000_000)
    assert meter.take(10.0, 10.0) == pytest.approx(15.0)


def test_a_card_counts_beside_the_processors(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", 0)
    cards = Cards()
    meter = EnergyMeter(tmp_path, cards)
    meter.read(0.0)
    counter(tmp_path, "intel-rapl:0", 2_000_000)
    cards.millijoules = 12_000
    assert meter.take(10.0, 10.0) == 9.0


def test_of_two_calls_at_a_time_no_joule_counts_twice(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", 0)
    meter = EnergyMeter(tmp_path)
    meter.read(0.0)
    counter(tmp_path, "intel-rapl:0", 80_000_000)
    first = meter.take(8.0, 8.0)
    counter(tmp_path, "intel-rapl:0", 100_000_000)
    second = meter.take(7.0, 10.0)  # from 3 to 10; up to 8 belongs to the first
    assert (first, second) == (80.0, 20.0)


def test_the_time_before_a_call_is_not_counted(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", 0)
    meter = EnergyMeter(tmp_path)
    meter.read(0.0)
    counter(tmp_path, "intel-rapl:0", 100_000_000)
    assert meter.take(4.0, 10.0) == pytest.approx(40.0)


def test_without_a_reading_before_the_call_nothing_was_measured(tmp_path: Path) -> None:
    assert EnergyMeter(tmp_path).take(5.0, 10.0) is None
    counter(tmp_path, "intel-rapl:0", 7)
    assert EnergyMeter(tmp_path).take(5.0, 10.0) is None
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("not a number")
    assert EnergyMeter(tmp_path).take(0.0, 10.0) is None


def test_a_call_of_a_run_gets_its_joules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None, enqueued) -> None:
    from agents.engine.contracts import Stopped
    from agents.events.reasoning import ModelCalled
    from projects.engine import energy
    from projects.engine.event_log import DatabaseEventLog
    from projects.models import Usage
    from tests.factories import make_task

    counter(tmp_path, "intel-rapl:0", 0)
    meter = EnergyMeter(tmp_path)
    meter.read(0.0)
    monkeypatch.setattr(energy, "meter", lambda: meter)
    monkeypatch.setattr(energy, "monotonic", lambda: 1.0)
    counter(tmp_path, "intel-rapl:0", 50_000_000)
    log = DatabaseEventLog(make_task(status="running").run, actor="worker", token=0)
    called = ModelCalled(
        summary="m",
        role="coder",
        model="m",
        prompt_tokens=1,
        reused_tokens=None,
        completion_tokens=1,
        tokens_per_s=1.0,
        window=100,
        recorded=False,
        truncated=False,
        filled_by={},
        instead_of=(),
        duration_ms=1000,
    )
    with pytest.raises(Stopped):  # it holds no lease; the call is counted all the same
        log.emit(called, key="a")
    assert Usage.objects.get().joules == pytest.approx(50.0)
