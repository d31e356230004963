"""Whose word counts in the choice of models: the project's, then the persona's, then the installation's."""

from pathlib import Path
from typing import Any

import pytest

from agents.llm.base import LLMError
from agents.llm.chain import ModelChain
from projects.engine import choice
from projects.engine import model_clients as engine
from projects.models import Run
from tests.agents.engine.nodes.support import MemoryEventLog
from tests.factories import make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def book(settings: Any, tmp_path: Path) -> Path:
    """A file of models of our own, empty at first."""
    settings.MODELS_FILE = str(tmp_path / "models.toml")
    settings.MODEL_URLS = {**settings.MODEL_URLS, "openai": "http://127.0.0.1:9/v1"}
    return tmp_path / "models.toml"


def names(provider: Any) -> list[str]:
    return [f"{each.name}:{each.model}" for each in getattr(provider, "members", (provider,))]


def test_without_any_choice_the_configured_model_does_all(book: Path, settings: Any) -> None:
    assert names(choice.provider_of("", "coder")) == [f"ollama:{settings.MODEL}"]
    assert not isinstance(choice.provider_of("", "coder"), ModelChain)


def test_the_file_chooses_for_a_persona_and_its_default_for_the_others(book: Path) -> None:
    book.write_text('[personas.default]\nmodels = ["a:1"]\n[personas.coder]\nmodels = ["b:1", "openai:c"]\n')
    assert names(choice.provider_of("", "coder")) == ["ollama:b:1", "openai:c"]
    assert names(choice.provider_of("", "tester")) == ["ollama:a:1"]


def test_the_environment_comes_before_the_file_and_the_project_before_both(book: Path, settings: Any) -> None:
    book.write_text('[personas.coder]\nmodels = ["b:1"]\n')
    settings.MODEL_OF = {"coder": "openai:c, d:7b"}
    assert names(choice.provider_of("", "coder")) == ["openai:c", "ollama:d:7b"]
    assert names(choice.provider_of("ollama:e:7b", "coder")) == ["ollama:e:7b"]


def test_a_changed_file_is_read_again(book: Path) -> None:
    import os

    book.write_text('[personas.coder]\nmodels = ["b:1"]\n')
    assert names(choice.provider_of("", "coder")) == ["ollama:b:1"]
    book.write_text('[personas.coder]\nmodels = ["c:1"]\n')
    os.utime(book, ns=(1, 1))
    assert names(choice.provider_of("", "coder")) == ["ollama:c:1"]


def test_parameters_and_protocol_come_along(book: Path) -> None:
    book.write_text('[personas.coder]\ntemperature = 0.5\nprotocol = "tags"\n')
    made = choice.provider_of("", "coder")
    assert isinstance(made, ModelChain)
    assert (made.temperature, made.protocol, len(made.members)) == (0.5, "tags", 1)


def test_a_window_and_a_budget_of_thoughts_of_its_own_are_used(book: Path) -> None:
    book.write_text('[windows]\n"openai:c" = 65536\n[thinking]\n"openai:c" = 512\n')
    provider: Any = choice.provider_of("openai:c", "coder")
    assert (provider.window, provider.thinking) == (65536, 512)
    other: Any = choice.provider_of("openai:d", "coder")
    assert other.thinking is None


def test_one_provider_is_made_for_each_model_and_used_again(book: Path) -> None:
    assert choice.provider_of("x:1", "coder") is choice.provider_of("x:1", "tester")


def test_a_file_that_cannot_be_read_is_one_of_the_models_errors(book: Path) -> None:
    book.write_text("[personas.chef]\n")
    with pytest.raises(LLMError, match="no such persona"):
        engine.provider_for(make_project())


def test_no_server_outside_is_asked_that_no_list_names(book: Path) -> None:
    assert choice.outside_hosts("") == []
    book.write_text(
        '[servers.cloud]\nkind = "openai"\nurl = "https://models.example.org/v1"\nkey = "AISWE_CLOUD_API_KEY"\n'
    )
    assert choice.outside_hosts("") == [], "a server that is only known is not one that is asked"
    assert choice.outside_hosts("x:1, cloud:big") == ["https://models.example.org/v1"]


def test_a_run_that_may_send_data_away_says_so(book: Path, settings: Any) -> None:
    event_log = MemoryEventLog()
    engine.announce(Run.objects.create(project=make_project()), event_log)
    assert event_log.events == []
    settings.MODEL_URLS = {**settings.MODEL_URLS, "openai": "https://models.example.org/v1"}
    run = Run.objects.create(project=make_project(model="openai:big"))
    engine.announce(run, event_log)
    engine.announce(run, event_log)
    (event,) = event_log.events
    assert "Data leaves this machine" in event["summary"]
    assert event["payload"]["servers"] == ["https://models.example.org/v1"]


def test_how_long_a_model_may_take_is_a_setting(settings: Any) -> None:
    settings.MODEL_TIMEOUTS = {"first_token": 900.0, "idle": 300.0, "total": 3600.0}
    timeouts = choice.provider_of("ollama:slow", "coder").timeouts
    assert (timeouts.first_token, timeouts.idle, timeouts.total) == (900.0, 300.0, 3600.0)
