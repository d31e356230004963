"""`python -m measure`, also where a part of it was not installed."""

from __future__ import annotations

import pytest

from measure import __main__ as main


def test_a_part_that_is_left_out_of_a_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(main.NAMES, "gates", "measure.left_out.gates")
    with pytest.raises(SystemExit, match=r"^measure\.left_out is in a checkout of the source only"):
        main.main(["gates"])


def test_a_library_that_is_missing_is_not_taken_for_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(main.COMMANDS, "review", "measurement_of_others")
    with pytest.raises(ModuleNotFoundError):
        main.main(["review"])


def test_what_is_not_known_is_a_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main.main(["no_such_benchmark"])
    refusal = capsys.readouterr().err
    assert "known: sandbox, gates" in refusal
    assert "'no_such_benchmark'" in refusal
    assert all(name in refusal for name in main.NAMES)
