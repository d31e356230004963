"""A new provider is one file and one entry of the registry; no other module names a provider."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from agents.llm import registry
from agents.llm.base import Completion
from agents.llm.chain import ModelChain
from agents.llm.ollama import OllamaProvider
from agents.llm.registry import PROVIDERS, ProviderKind, UnknownProvider, make_provider, model_servers
from agents.llm.runner import ModelRunner
from agents.llm.scripted import ScriptedProvider
from aiswe_site.cli.commands import config
from aiswe_site.doctor import model as doctor
from projects.engine import choice
from tests.agents.stand_in_server import send, stand_in

ROOT = Path(registry.__file__).parents[2]
KEY = "toy-secret-key-0123456789"


def test_names_make_providers():
    assert type(make_provider("ollama", model="m")) is OllamaProvider
    assert type(make_provider("scripted", server="http://127.0.0.1:1")) is ScriptedProvider


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownProvider, match=r"'chatty'.*gemini, ollama, openai, scripted"):
        make_provider("chatty")


def test_an_address_comes_from_our_variable_then_from_the_servers_own_then_from_the_default():
    ollama = PROVIDERS["ollama"]
    assert ollama.url_in({}) == "http://127.0.0.1:11434"
    assert ollama.url_in({"OLLAMA_HOST": "box:1"}) == "box:1"
    assert ollama.url_in({"OLLAMA_HOST": "box:1", "AISWE_OLLAMA_URL": "http://own"}) == "http://own"
    assert PROVIDERS["openai"].url_in({"OLLAMA_HOST": "box:1"}) == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("box", "http://box:11434"),
        ("box:80", "http://box:80"),
        ("http://box/", "http://box"),
        ("https://box:1/a/", "https://box:1/a"),
    ],
)
def test_a_bare_host_is_completed_as_ollama_does(given, address):
    assert OllamaProvider(given, "m").server == address


@pytest.mark.parametrize("kind", model_servers(), ids=lambda kind: kind.name)
def test_no_other_module_names_a_provider(kind):
    own = {ROOT / f"{PROVIDERS[name].path.rpartition('.')[0].replace('.', '/')}.py" for name in PROVIDERS}
    sources = [
        path for room in ("agents", "projects", "dashboard", "aiswe_site") for path in (ROOT / room).rglob("*.py")
    ]
    naming = [
        path.relative_to(ROOT).as_posix()
        for path in sources
        if path not in own
        and path != Path(registry.__file__)
        and any(form in path.read_text() for form in (f'"{kind.name}"', f"llm.{kind.name} ", f"llm.{kind.name}."))
    ]
    assert naming == []


@pytest.fixture
def toy_server() -> Iterator[str]:
    """The toy's server; it answers with the key it was shown."""
    with stand_in() as server:
        server.answer = lambda handler: send(handler, {"text": f"shown {handler.headers.get('Authorization')}"})
        yield server.url


@pytest.mark.django_db
def test_a_provider_of_one_file_and_one_entry_works_everywhere(monkeypatch, settings, tmp_path, toy_server):
    toy = ProviderKind(
        "toy", "tests.agents.llm.toy_provider.ToyProvider", "a toy", "http://127.0.0.1:9", takes_key=True
    )
    monkeypatch.setitem(PROVIDERS, "toy", toy)
    environment = {"AISWE_TOY_URL": toy_server, "AISWE_TOY_API_KEY": KEY}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings.MODEL_URLS = {kind.name: kind.url_in(environment) for kind in model_servers()}
    settings.MODELS_FILE = str(tmp_path / "models.toml")
    # A second server of the same kind, in the user's own file.
    Path(settings.MODELS_FILE).write_text(
        f'[servers.attic]\nkind = "toy"\nurl = "{toy_server}"\n[personas.default]\nmodels = ["toy:bear", '
        '"attic:doll"]\n'
    )

    chain = choice.provider_of("", "coder")
    assert isinstance(chain, ModelChain)
    assert [(each.name, each.model, each.server) for each in chain.members] == [
        ("toy", "bear", toy_server),
        ("toy", "doll", toy_server),
    ]
    with ModelRunner() as runner:
        completion = runner.complete(chain, [{"role": "user", "content": "hello"}])
        assert isinstance(completion, Completion)
        assert completion.text == f"shown Bearer {KEY}"
        assert runner.complete(chain.members[1], [{"role": "user", "content": "hello"}]).text == "shown None"

    doctor.forget()
    words = [look.words for look in doctor._looks()]
    doctor.forget()
    assert words[0].startswith("a toy shown Bearer")
    assert words[0].endswith(f"at {toy_server} has bear")

    listed = json.loads(CliRunner().invoke(config.show, ["--json"]).output)["settings"]
    assert {"setting": "AISWE_TOY_URL", "value": toy_server}.items() <= next(
        row for row in listed if row["setting"] == "AISWE_TOY_URL"
    ).items()
