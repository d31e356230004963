"""One question a line, one verdict a line, whatever comes in."""

import importlib
import json

import pytest

from agents.firewall.judge import check_lines, inspect
from tests.tables import each_row


def test_each_line_gets_one_verdict_in_order() -> None:
    asked = [
        {"kind": "command", "text": "ls"},
        {"kind": "command", "text": "rm -rf /"},
        {"kind": "path", "text": "../x"},
    ]
    answers = [json.loads(line) for line in check_lines(json.dumps(a) + "\n" for a in asked)]
    assert [answer["decision"] for answer in answers] == ["allow", "deny", "deny"]
    assert set(answers[0]) == {"decision", "layer", "reason", "rule"}


def test_the_layers_can_be_shown() -> None:
    (answer,) = check_lines(['{"kind": "command", "text": "curl http://203.0.113.7/ -o /etc/x"}'], layers=True)
    layers = {layer["layer"]: layer["decision"] for layer in json.loads(answer)["layers"]}
    assert layers == {"leak": "allow", "path": "deny", "command": "approve", "code": "allow"}


@each_row(
    "line",
    [
        "{",
        "[]",
        "1",
        '{"kind": "command"}',
        '{"kind": "command", "text": 1}',
        '{"kind": null, "text": ""}',
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_question_is_denied(line: str) -> None:
    (answer,) = check_lines([line])
    assert json.loads(answer)["decision"] == "deny"


def test_blank_lines_are_passed_over() -> None:
    assert list(check_lines(["\n", "  \n"])) == []


def test_an_unknown_kind_is_denied_naming_the_known_ones() -> None:
    verdict = inspect("thought", "x")  # type: ignore[arg-type]
    assert verdict.decision == "deny"
    assert "command" in verdict.reason


def test_a_judge_that_fails_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str, context: object) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr(importlib.import_module("agents.firewall.judge"), "judge_path", broken)
    assert inspect("path", "a.py").rule == "input.error"


def test_a_text_without_measure_is_denied() -> None:
    assert inspect("output", "x" * 2_000_001).rule == "leak.too-long"
