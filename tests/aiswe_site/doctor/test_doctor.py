"""aiswe doctor: each fault is named, with a way out, and blocks only what needs it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from aiswe_site.doctor import CHECKS
from aiswe_site.doctor.result import CheckVerdict, DoctorCheck
from tests.agents.llm.fake_servers import FakeModelServer
from tests.aiswe_site.running import COMMAND, REPOSITORY, environment
from tests.tables import each_row

HOUSEHOLD = REPOSITORY / "agents" / "llm" / "scenarios" / "household"


def doctor(home: Path, **variables: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    env = {**environment(home), "AISWE_OLLAMA_URL": "http://127.0.0.1:9", **variables}
    result = subprocess.run([*COMMAND, "doctor", "--json"], env=env, capture_output=True, text=True)
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


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """What is said of a machine on which much is missing at once."""
    home = tmp_path_factory.mktemp("broken")
    (home / "db.sqlite3").write_bytes(b"this is no database" * 100)
    missing = ("AISWE_SANDBOX_PYTHON", "AISWE_SANDBOX_NODE", "AISWE_SEMGREP", "PATH")
    return doctor(home, AISWE_MODEL="scripted:nowhere", **dict.fromkeys(missing, "/nowhere"))


@each_row(
    ("name", "needed", "detail", "hint"),
    [
        ("Sandbox Python", True, "", ""),
        ("Semgrep", True, "", ""),
        ("git", True, "", ""),
        ("Sandbox Node", False, "", "make install"),  # projects in Python go on
        ("Database", True, "not a database", ""),
        ("Model server", False, "", "household"),
    ],
)
def test_what_is_missing_or_spoilt_is_red_with_a_way_out(
    broken: tuple[int, dict[str, Any], dict[str, Any]], name: str, needed: bool, detail: str, hint: str
) -> None:
    code, document, checks = broken
    assert (code, document["ok"], checks["Python"]["ok"]) == (1, False, True)
    assert (checks[name]["ok"], checks[name]["needed"]) == (False, needed)
    assert detail in checks[name]["detail"]
    assert hint in checks[name]["hint"] != ""
    assert checks[name]["blocks"]


def test_a_recorded_model_is_called_a_recording(tmp_path: Path) -> None:
    with FakeModelServer(HOUSEHOLD) as url:
        _, _, checks = doctor(tmp_path, AISWE_OLLAMA_URL=url)
    assert checks["Model server"]["ok"] is True
    assert "a recording" in checks["Model server"]["detail"]


def test_a_recording_named_as_the_model_is_called_one(tmp_path: Path) -> None:
    _, _, checks = doctor(tmp_path, AISWE_MODEL="scripted:household")
    assert checks["Model server"]["ok"] is True
    assert "a recording instead of a model" in checks["Model server"]["detail"]
    assert checks["Context window"]["ok"] is None


def test_models_of_all_personas_are_looked_at(tmp_path: Path) -> None:
    server = FakeModelServer(HOUSEHOLD, window=4_096)
    with server as url:
        model = server.scenario.model
        (tmp_path / "models.toml").write_text(f'[personas.coder]\nmodels = ["openai:{model}", "ollama:gone:1b"]\n')
        _, _, checks = doctor(tmp_path, AISWE_OLLAMA_URL=url, AISWE_MODEL=model, AISWE_OPENAI_URL=f"{url}/v1")
    assert checks["Model server"]["ok"] is True
    assert f"{url}/v1" in checks["Model server"]["detail"]
    assert "others are used instead" in checks["Model server"]["detail"]
    assert checks["Context window"]["ok"] is False


def test_a_persona_without_a_model_is_red_and_named(tmp_path: Path) -> None:
    server = FakeModelServer(HOUSEHOLD, key="k" * 20)
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
