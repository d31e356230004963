"""A small recording, and servers that play it over real HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.llm.base import Message, Timeouts
from agents.llm.ollama import OllamaProvider
from agents.llm.runner import ModelRunner
from tests.agents.llm.fake_servers import FakeModelServer

MODEL = "qwen2.5-coder:7b"
REPLY = "The sum was off by one.\n\n```python path=src/total.py\ndef total(items):\n    return sum(items)\n```\n"
SHORT = Timeouts(connect=5, first_token=5.0, idle=5.0, total=30)

SCENARIO = f"""
name = "small"
title = "A small recording"
description = "Replies for the tests."
model = "{MODEL}"
note = "A recording, not a model."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scenario with one coder, its repair, a second approach and a plan."""
    root = tmp_path / "small"
    (root / "T-01").mkdir(parents=True)
    (root / "plan").mkdir()
    (root / "scenario.toml").write_text(SCENARIO)
    (root / "T-01" / "coder-code.md").write_text(REPLY)
    (root / "T-01" / "coder-code-a2.md").write_text("Another way.\n")
    (root / "T-01" / "coder-repair.md").write_text("First repair.\n")
    (root / "T-01" / "coder-repair-2.md").write_text("Second repair.\n")
    (root / "plan" / "planner-decompose.md").write_text('{"tasks": []}\n')
    return root


@pytest.fixture
def server(folder: Path) -> Iterator[FakeModelServer]:
    """A recording that plays as fast as it can."""
    recording = FakeModelServer(folder, tokens_per_s=0)
    with recording:
        yield recording


@pytest.fixture
def provider(server: FakeModelServer) -> OllamaProvider:
    return OllamaProvider(server.url, MODEL, timeouts=SHORT)


@pytest.fixture
def runner() -> Iterator[ModelRunner]:
    """A runner that hardly waits between tries."""
    with ModelRunner(backoff=0.01, breaker_cooldown=0.2) as made:
        yield made


def talk(step: str = "code", *, task: str = "Task: T-01 add a total\n", persona: str = "coder") -> list[Message]:
    """A conversation that opens as the engine's do."""
    return [
        {"role": "system", "content": f"Persona: {persona}\nYou write small, correct code."},
        {"role": "user", "content": f"Project: shop\n{task}\nStep: {step}\nWrite the code."},
    ]
