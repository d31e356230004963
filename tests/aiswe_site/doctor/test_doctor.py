"""aiswe doctor: each fault is named, with a way out, and blocks only what needs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aiswe_site.doctor import CHECKS
from aiswe_site.doctor.result import CheckVerdict, DoctorCheck
from tests.agents.llm.fake_servers import FakeModelServer
from tests.aiswe_site.running import REPOSITORY, environment


def doctor(home: Path, **variables: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    env = {**environment(home), "AISWE_OLLAMA_URL": "http://127.0.0.1:9", **variables}
    result = subprocess.run(
        [sys.executable, "-m", "aiswe_site.cli", "doctor", "--json"], env=env, capture_output=True, text=True
    )
    document = json.loads(result.stdout)
    return result.returncode, document, {row["name"]: row for row in document["checks"]}


def test_a_missing_model_server_is_named_but_blocks_only_what_needs_it(tmp_path: Path) -> None:
    code, document, checks = doctor(tmp_path)
    assert checks["Model server"]["ok"] is False
    assert "127.0.0.1:9" in checks["Model server"]["detail"]
    assert "aiswe demo" in checks["Model server"]["hint"]
    assert checks["Advisories"]["detail"].startswith("PyPI: https://pypi.org/simple/, npm: https://registry.npmjs.org/")
    assert checks["Context window"]["ok"] is None
    assert checks["Prompt cache"]["ok"] is None, "nothing was called yet, and there is no database"
    red = [row["name"] for row in document["checks"] if row["needed"] and row["ok"] is False]
    assert (code, document["ok"]) == ((1, False) if red else (0, True))
    assert {check.name for check in CHECKS} == set(checks)


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [
        ("AISWE_SANDBOX_PYTHON", "/nowhere/python", "Sandbox Python"),
        ("AISWE_SEMGREP", "/nowhere/semgrep", "Semgrep"),
        ("PATH", "/nowhere", "git"),
    ],
)
def test_what_is_missing_is_red_with_a_way_out(variable: str, value: str, name: str, tmp_path: Path) -> None:
    code, document, checks = doctor(tmp_path, **{variable: value})
    assert code == 1
    assert document["ok"] is False
    assert checks[name]["ok"] is False
    assert checks[name]["hint"]
    assert checks[name]["blocks"]


def test_without_the_tools_for_node_python_projects_go_on(tmp_path: Path) -> None:
    _, _, checks = doctor(tmp_path, AISWE_SANDBOX_NODE="/nowhere/node")
    assert (checks["Sandbox Node"]["ok"], checks["Sandbox Node"]["needed"]) == (False, False)
    assert "make install" in checks["Sandbox Node"]["hint"]


def test_a_spoilt_database_is_a_finding_and_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "db.sqlite3").write_bytes(b"this is no database" * 100)
    code, _, checks = doctor(tmp_path)
    assert code == 1
    assert "not a database" in checks["Database"]["detail"]
    assert checks["Python"]["ok"] is True


def test_a_recorded_model_is_called_a_recording(tmp_path: Path) -> None:
    scenario = REPOSITORY / "agents" / "llm" / "scenarios" / "household"
    with FakeModelServer(scenario) as url:
        _, _, checks = doctor(tmp_path, AISWE_OLLAMA_URL=url)
    assert checks["Model server"]["ok"] is True
    assert "a recording" in checks["Model server"]["detail"]


def test_a_recording_named_as_the_model_is_called_one_and_one_that_is_not_there_is_red(tmp_path: Path) -> None:
    _, _, checks = doctor(tmp_path, AISWE_MODEL="scripted:household")
    assert checks["Model server"]["ok"] is True
    assert "a recording instead of a model" in checks["Model server"]["detail"]
    assert checks["Context window"]["ok"] is None
    _, _, checks = doctor(tmp_path, AISWE_MODEL="scripted:nowhere")
    assert checks["Model server"]["ok"] is False
    assert "household" in checks["Model server"]["hint"]


def test_models_of_all_personas_are_looked_at(tmp_path: Path) -> None:
    scenario = REPOSITORY / "agents" / "llm" / "scenarios" / "household"
    server = FakeModelServer(scenario, window=4_096)
    with server as url:
        model = server.scenario.model
        (tmp_path / "models.toml").write_text(f'[personas.coder]\nmodels = ["openai:{model}", "ollama:gone:1b"]\n')
        _, _, checks = doctor(tmp_path, AISWE_OLLAMA_URL=url, AISWE_MODEL=model, AISWE_OPENAI_URL=f"{url}/v1")
    assert checks["Model server"]["ok"] is True
    assert f"{url}/v1" in checks["Model server"]["detail"]
    assert "others are used instead" in checks["Model server"]["detail"]
    assert checks["Context window"]["ok"] is False


def test_a_persona_without_a_model_is_red_and_named(tmp_path: Path) -> None:
    scenario = REPOSITORY / "agents" / "llm" / "scenarios" / "household"
    server = FakeModelServer(scenario, key="k" * 20)
    with server as url:
        model = server.scenario.model
        _, _, checks = doctor(
            tmp_path, AISWE_OLLAMA_URL=url, AISWE_MODEL=model, AISWE_OPENAI_URL=url, AISWE_MODEL_CODER=f"openai:{model}"
        )
    assert checks["Model server"]["ok"] is False
    assert "Without a model: coder" in checks["Model server"]["detail"]
    assert "AISWE_OPENAI_API_KEY" in checks["Model server"]["hint"]


def test_a_choice_of_models_that_cannot_be_read_is_red(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text("[personas.chef]\n")
    _, _, checks = doctor(tmp_path)
    assert checks["Model server"]["ok"] is False
    assert "no such persona" in checks["Model server"]["detail"]


def test_a_check_that_cannot_look_is_red() -> None:
    def broken() -> CheckVerdict:
        raise PermissionError("not for you")

    result = DoctorCheck("Odd", broken, "everything").run()
    assert result["ok"] is False
    assert "not for you" in result["detail"]
    assert result["blocks"] == "everything"


def test_a_green_check_says_nothing_of_ways_out() -> None:
    result = DoctorCheck("Fine", lambda: CheckVerdict(True, "all well", "mend it"), "everything").run()
    assert (result["hint"], result["blocks"]) == ("", "")
