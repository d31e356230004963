"""A terminal with the real program in it, and a model that answers at once."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.aiswe_site.running import REPOSITORY, WAIT_S, environment
from tests.prepared import prepared
from tests.replying_model import ReplyingModel, replying_model

PROMPT = "you> "
_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")


class ChatTerminal:
    """`aiswe chat` in a pseudo-terminal; `model.replies` may be set before each prompt."""

    def __init__(self, home: Path, model: ReplyingModel, *words: str) -> None:
        self.home, self.model = home, model
        env = {
            **environment(prepared(home)),
            "AISWE_OLLAMA_URL": model.url,
            "AISWE_EMBEDDING": "hashing",
            "AISWE_SANDBOX": "bubblewrap",
            "TERM": "xterm",
            "COLUMNS": "100",
        }
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "aiswe_site.cli", "chat", *words],
            env=env,
            cwd=str(REPOSITORY),
            encoding="utf-8",
            timeout=WAIT_S,
            dimensions=(50, 100),
        )
        self.child.delaybeforesend = None

    def until(self, text: str = PROMPT) -> str:
        """What is shown until a text is, without colours."""
        self.child.expect_exact(text)
        return _STEERING.sub("", self.child.before)

    def say(self, line: str, *replies: str, until: str = PROMPT) -> str:
        """Write a line, have the model give these replies, and return what is shown until `until`."""
        self.model.answer(replies)
        self.child.sendline(line)
        return self.until(until)

    def leave(self) -> str:
        """Leave, and return the last words."""
        self.child.sendline("/exit")
        self.child.expect(pexpect.EOF)
        self.child.close()
        return _STEERING.sub("", self.child.before)

    def end(self) -> None:
        """End the program however long it takes to go: pexpect gives a busy machine a tenth of a second."""
        if not self.child.terminate():
            self.child.kill(signal.SIGKILL)
            self.child.wait()
        self.child.close()

    def log(self) -> list[dict[str, Any]]:
        """The exchanges that were logged."""
        return [json.loads(line) for line in (self.home / "aide_log.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def model() -> Iterator[ReplyingModel]:
    with replying_model([]) as serving:
        yield serving


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def chat(home: Path, model: ReplyingModel) -> Iterator[ChatTerminal]:
    """One chat for the whole file."""
    terminal = ChatTerminal(home, model)
    terminal.until()
    yield terminal
    terminal.end()


@pytest.fixture
def piped(home: Path, model: ReplyingModel) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The program with lines on its standard input instead of a terminal."""

    def run(lines: str, *words: str) -> subprocess.CompletedProcess[str]:
        env = {**environment(home), "AISWE_OLLAMA_URL": model.url, "AISWE_EMBEDDING": "hashing"}
        argv = [sys.executable, "-m", "aiswe_site.cli", "chat", *words]
        return subprocess.run(argv, env=env, input=lines, capture_output=True, text=True, timeout=WAIT_S)

    return run
