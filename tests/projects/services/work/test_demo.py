"""The demo is started by whom the site registered, and refused where nobody is."""

import pytest

from projects.errors import BadInput
from projects.services.work import demo


def test_without_a_site_the_demo_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_registered", None)
    assert not demo.is_offered()
    with pytest.raises(BadInput, match="aiswe up"):
        demo.start_demo(None)  # type: ignore[arg-type]


def test_the_registered_starter_gets_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_registered", None)
    seen: list[object] = []
    demo.register(lambda user: seen.append(user) or "run")  # type: ignore[arg-type, return-value]
    assert demo.is_offered()
    assert demo.start_demo("ada") == "run"  # type: ignore[arg-type, comparison-overlap]
    assert seen == ["ada"]
