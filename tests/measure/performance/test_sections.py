"""What the samples of a benchmark say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from measure.figures import CannotMeasure, Section
from measure.performance import diamond
from measure.performance import firewall as wall
from measure.performance.engine import split
from tests.tables import each_row


def test_the_parts_of_a_task_add_up_to_its_time_without_the_model():
    own = {"event_log": 0.1, "git": 0.2, "nodes": 0.1, "sandbox": 1.0, "model": 0.5, "checkpoints": 0.05, "gates": 0.3}
    parts = split({"wall": 2.5, "own": own}, 0.4, 4)
    assert sum(parts.values()) == pytest.approx(1000 * (2.5 - 0.4) / 4)
    assert parts["runner"] == pytest.approx(25)  # what our client took beyond the bare calls


def build(seconds: float, tasks: int) -> dict[str, Any]:
    return {"seconds": seconds, "tasks": tasks, "model": seconds / 2, "merges": [0.5] * tasks}


@each_row(("seconds", "efficiency"), [(12, 1), (24, 0.5)], ids=["as fast as its critical path", "half as fast"])
def test_a_diamond_is_as_efficient_as_it_is_near_to_its_critical_path(seconds: float, efficiency: float):
    figures = diamond.figures([build(12, 6)], [build(seconds, 14)])
    found = {figure.name.split(":")[0]: figure.ratio for figure in figures}
    assert found["parallel efficiency"] == efficiency
    assert found["speed-up"] == pytest.approx(efficiency * 14 / 6)
    assert found["ideal speed-up"] == pytest.approx(14 / 6)


def judged(data: Path | None) -> Section:
    section = Section("firewall", "")
    wall.measure(section, SimpleNamespace(data=data, n=0))
    return section


def test_without_commands_the_firewall_is_skipped_and_says_what_it_needs():
    assert "--data" in judged(None).skipped


def test_shares_of_verdicts_cover_all_commands(tmp_path: Path):
    (tmp_path / wall.FILE).write_text("ls -l\nrm -rf /\n\necho 'unclosed\n")
    shares = [figure for figure in judged(tmp_path).figures if figure.measured.unit == "commands"]
    assert sum(figure.measured.median for figure in shares) == 3
    assert "deny" in [figure.name.strip() for figure in shares]


def test_a_folder_without_commands_is_named(tmp_path: Path):
    with pytest.raises(CannotMeasure, match="cannot be read"):
        judged(tmp_path)
