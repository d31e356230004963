"""Commands called in the test's own process: what they answer, and what they say when they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aiswe_site.cli.app import run


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The document of a command."""
    assert run([*words, "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: str, code: int = 2) -> str:
    """What a command that refuses prints for a person."""
    assert run(list(words)) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return captured.err
