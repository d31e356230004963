"""What the doctor says of the memory for weights and of the servers' prompt cache."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from agents.llm.base import Health
from aiswe_site.doctor import model, weights
from projects.services.insight import prefixes
from projects.services.insight.prefixes import PrefixUse


def probe(name: str, *, outside: bool = False) -> model.ModelProbe:
    return model.ModelProbe(f"ollama:{name}", "ollama", "http://x", name, 32_768, outside, Health(True))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Any:
    settings.MODEL, settings.MODEL_WINDOW, settings.MODEL_PARALLEL = "ollama:x", 32_768, 1

    def set_up(gigabytes: float, *probes: model.ModelProbe) -> None:
        monkeypatch.setattr(weights, "memory_gb", lambda: (gigabytes, "of main memory"))
        monkeypatch.setattr(model, "_looks", lambda: probes)

    return set_up


@pytest.mark.parametrize(
    ("gigabytes", "name"),
    [
        (3, None),
        (4, "qwen2.5-coder:1.5b"),
        (8.6, "qwen2.5-coder:7b"),
        (17, "qwen2.5-coder:14b"),
        (80, "qwen2.5-coder:32b"),
    ],
)
def test_the_largest_weights_that_fit_with_their_context_are_recommended(gigabytes: float, name: str | None) -> None:
    found = weights.largest_that_fits(gigabytes, 32_768, 1)
    assert (found.model if found else None) == name


def test_more_conversations_need_more_memory(here: Any, settings: Any) -> None:
    here(8.6, probe("qwen2.5-coder:7b"))
    assert model.size().ok is True
    settings.MODEL_PARALLEL = 4
    verdict = model.size()
    assert verdict.ok is False
    assert "qwen2.5-coder:7b needs 13.7 GB with 32768 tokens for each of 4 conversations" in verdict.detail
    assert verdict.hint.startswith("Set AISWE_MODEL=qwen2.5-coder:3b, or lower")


def test_weights_elsewhere_or_unknown_are_no_fault(here: Any) -> None:
    here(8.6, probe("qwen2.5-coder:32b", outside=True), probe("mine:70b"))
    assert model.size().ok is True


def test_names_of_quantized_variants_are_known() -> None:
    found = weights.known("qwen2.5-coder:7b-instruct-q4_K_M")
    assert found is not None
    assert found.model == "qwen2.5-coder:7b"
    assert weights.known("qwen2.5-coder:7") is None


@pytest.mark.parametrize("said", ["24576\n24576\n", None])
def test_memory_is_that_of_the_graphics_cards_or_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    def run(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        if said is None:
            raise FileNotFoundError
        return subprocess.CompletedProcess((), 0, said)

    monkeypatch.setattr(subprocess, "run", run)
    gigabytes, whose = weights.memory_gb()
    assert (round(gigabytes), whose) == (52, "on graphics cards") if said else whose.endswith("of main memory")


@pytest.mark.parametrize(
    ("found", "ok"), [([], None), ([PrefixUse("m", 4, 1)], True), ([PrefixUse("a", 9, 0), PrefixUse("m", 4, 3)], False)]
)
def test_a_server_that_loses_prefixes_is_named_with_its_settings(
    monkeypatch: pytest.MonkeyPatch, found: list[PrefixUse], ok: bool | None
) -> None:
    monkeypatch.setattr(prefixes, "prefix_use", lambda: found)
    verdict = model.prefix()
    assert verdict.ok is ok
    if ok is False:
        assert "m read 3 of 4 common beginnings anew" in verdict.detail
        assert "OLLAMA_NUM_PARALLEL" in verdict.hint
