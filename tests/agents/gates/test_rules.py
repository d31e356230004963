"""Every rule of ours fires on its mistakes and stays silent on the right way to do it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.gates.base import GateReport, Severity
from agents.gates.rule_set import rules_json
from agents.gates.run import run_gates
from tests.agents.gates.folders import needs_semgrep
from tests.tables import each_row

pytestmark = needs_semgrep

HEADS = {
    "FLASK ": "from flask import redirect, render_template_string, request, session\n\n"
    "@app.route('/x')\ndef view():\n    value = request.args.get('v')\n    ",
    "FASTAPI ": "from fastapi import FastAPI\n\n@app.get('/x')\nasync def view(value: str):\n    ",
}
SUFFIXES = {"py": [".py"], "js": [".js", ".ts"], "tpl": [".html"], "go": [".go"], "java": [".java"], "kt": [".kt"]}
SUFFIXES |= {"rb": [".rb"], "php": [".php"], "c": [".c", ".cpp"], "rs": [".rs"], "lua": [".lua"], "tf": [".tf"]}


def _samples() -> dict[str, dict[str, list[str]]]:
    found: dict[str, Any] = {}
    for file in sorted((Path(__file__).parent / "rule_samples").glob("*.yaml")):
        found.update(yaml.safe_load(file.read_text(encoding="utf-8")) or {})
    return found


SAMPLES = _samples()


def _program(text: str) -> str:
    for word, head in HEADS.items():
        if text.startswith(word):
            return head + text.removeprefix(word) + "\n"
    return text if text.endswith("\n") else text + "\n"


def _lay_out(root: Path, kind: str) -> list[tuple[str, str]]:
    """Write every sample of one kind and return (file, rule) for each."""
    laid = []
    for rule, sample in SAMPLES.items():
        for number, text in enumerate(sample[kind]):
            for suffix in SUFFIXES[rule.partition("-")[0]]:
                name = f"{rule}-{number}{suffix}"
                (root / name).write_text(_program(text))
                laid.append((name, rule))
    return laid


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    root = tmp_path_factory.mktemp("wrong")
    _lay_out(root, "wrong")
    return run_gates(root, tools=["semgrep"])


@each_row("rule", SAMPLES)
def test_the_rule_fires_on_each_of_its_mistakes(rule: str, wrong: GateReport) -> None:
    fired = {finding.path for finding in wrong.findings if finding.rule == rule}
    samples = range(len(SAMPLES[rule]["wrong"]))
    wanted = {f"{rule}-{number}{suffix}" for number in samples for suffix in SUFFIXES[rule.partition("-")[0]]}
    assert wanted
    assert wanted - fired == set()


def test_every_rule_has_samples_a_cwe_and_a_remediation() -> None:
    rules = {rule["id"]: rule for rule in json.loads(rules_json())["rules"]}
    assert set(rules) == set(SAMPLES)
    for rule in rules.values():
        assert rule["metadata"]["cwe"].startswith("CWE-")
        assert rule["metadata"]["confidence"] in ("LOW", "MEDIUM", "HIGH")
        assert len(rule["metadata"]["remediation"]) > 10
        assert rule["message"].endswith(".")


def test_every_rule_has_a_right_way_too() -> None:
    assert [rule for rule, sample in SAMPLES.items() if not sample["right"]] == []


def test_the_right_way_raises_nothing(tmp_path: Path) -> None:
    laid = _lay_out(tmp_path, "right")
    report = run_gates(tmp_path, tools=["semgrep"])
    noise = [(f.path, f.line, f.rule) for f in report.findings if f.severity >= Severity.MEDIUM]
    assert noise == []
    assert report.verdict == "pass"
    assert report.tools["semgrep"].files_scanned == len(laid)


def test_a_script_that_does_not_parse_blocks_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.js").write_text("let x = 1;\nfunction( {{{ nonsense\n")
    report = run_gates(tmp_path, tools=["semgrep"])
    assert report.verdict == "blocked"
    assert "broken.js" in report.reasons[0]
