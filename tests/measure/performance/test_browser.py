"""What a browser's samples say, and what is said without a browser."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from measure.figures import CannotMeasure, Section
from measure.performance import browser
from measure.performance.browser_page import Held


def test_without_a_browser_the_figures_are_missing_and_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(CannotMeasure, match=r"no Chromium at .*none; install it or name it in CHROMIUM"):
        browser.measure(Section("browser", ""), SimpleNamespace(n=0))


def test_samples_become_ratios_to_what_was_taken_in_the_same_run():
    found = browser.Found()
    for late in range(1, 101):
        found.add("50 events/s, commit to DOM", 2.0 * late, float(late))
    found.add("jump by the slider, event in view", 300.0)
    found.idle = [16.0] * 3
    found.frames["scrolling"] = ([16.0] * 3 + [48.0], 1)
    found.held = {"at the start": Held(3_000, 9_000, 2.0), "after reading": Held(6_000, 20_000, 3.0)}
    made = {figure.name: figure for figure in browser.figures(found)}
    late = made["50 events/s, commit to DOM"]
    assert (late.ratio, late.measured.p95, late.note) == (2.0, 190.0, "p99 198 ms")
    assert made["50,000 events: jump by the slider, event in view"].ratio is None
    frames = made["50,000 events: scrolling, a frame"]
    assert (frames.ratio, frames.note) == (1.0, "25.0% of 4 frames without a row, p99 48 ms")
    assert made["50,000 events: elements at the start"].ratio is None
    assert made["50,000 events: elements after reading"].ratio == 2.0
    assert made["50,000 events: heap after reading"].ratio == 1.5
