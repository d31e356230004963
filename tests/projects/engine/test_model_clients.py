"""A recording as the configured model is played in every project, and is called a recording everywhere."""

from pathlib import Path
from typing import Any

import pytest

from agents.llm.scripted_server.scenario import ScenarioError
from projects.engine import model_clients as engine
from projects.models import Run
from tests.factories import make_document, make_project
from tests.projects.jobs_driver import small_replies, write_scenario

pytestmark = pytest.mark.django_db


@pytest.fixture
def recorded(tmp_path: Path, settings: Any, recordings: None) -> str:
    """A recording as the model of the whole server."""
    settings.MODEL = write_scenario(tmp_path / "small", small_replies("T-01"))
    return str(settings.MODEL)


def test_a_project_without_a_model_of_its_own_plays_the_configured_recording(recorded: str) -> None:
    project = make_project()
    assert project.model == ""
    assert project.is_recording
    provider = engine.provider_for(project)
    assert provider.name == "scripted"
    assert provider.health().recorded


def test_its_runs_are_called_recordings(recorded: str, enqueued: list[Any]) -> None:
    from projects.services.planning import runs

    document = make_document(confirmed=False)
    assert runs.start_planning(document, by=document.project.created_by).recording


def test_a_run_is_called_a_recording_from_its_first_played_word_on(settings: Any, tmp_path: Path) -> None:
    run = Run.objects.create(project=make_project())
    engine.label(run)
    assert not Run.objects.get(pk=run.pk).recording
    settings.MODEL = "scripted:small"
    engine.label(run)
    settings.MODEL = "qwen2.5-coder:7b"
    engine.label(run)
    assert Run.objects.get(pk=run.pk).recording, "what was played stays a recording"


def test_a_project_with_a_model_of_its_own_keeps_it(recorded: str) -> None:
    project = make_project(model="codellama:13b")
    assert not project.is_recording
    assert engine.provider_for(project).name == "ollama"


def test_a_recording_that_is_not_there_is_named(settings: Any) -> None:
    settings.MODEL = "scripted:nowhere"
    with pytest.raises(ScenarioError, match="nowhere is not a scenario"):
        engine.provider_for(make_project())


def test_a_server_takes_as_many_conversations_as_the_file_says_of_it_else_as_is_configured(
    recorded: str, settings: Any, tmp_path: Path
) -> None:
    settings.MODELS_FILE = str(tmp_path / "models.toml")
    (tmp_path / "models.toml").write_text(
        "[servers.studio]\nkind='openai'\nurl='http://127.0.0.1:1234/v1/'\nparallel=5\n"
    )
    settings.MODEL_PARALLEL = 2
    assert engine.parallel("http://127.0.0.1:1234/v1") == 5
    assert engine.parallel(settings.MODEL_URLS["ollama"]) == 2
    assert engine.parallel(engine.provider_for(make_project()).server) == engine.RECORDED_PARALLEL
    (tmp_path / "models.toml").write_text("[servers.studio]\nkind=")
    assert engine.parallel("http://127.0.0.1:1234/v1") == 2
