"""Commands called in the test's own process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aiswe_site.cli.app import run


class CommandLine:
    """`aiswe`: each call asserts its exit code; `err` is what the last one wrote to standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys, self.err = capsys, ""

    def prints(self, *words: str, code: int = 0) -> str:
        """What a command writes to standard output."""
        ended = run(list(words))
        captured = self._capsys.readouterr()
        assert ended == code, captured
        assert "Traceback" not in captured.err
        self.err = captured.err
        return captured.out

    def answers(self, *words: str, code: int = 0) -> Any:
        """The document of a command."""
        return json.loads(self.prints(*words, "--json", code=code))

    def refuses(self, *words: str, code: int = 2) -> str:
        """What a command that refuses prints for a person."""
        assert self.prints(*words, code=code) == ""
        return self.err
