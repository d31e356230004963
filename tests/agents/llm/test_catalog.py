"""The file that says which models do the work."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.catalog import Catalog, CatalogError, Choice, Server, split_models
from agents.llm.registry import PROVIDERS
from agents.secrets.redaction import Redactor, secrets_in
from tests.tables import each_row

KNOWN = (
    Server("ollama", "ollama", "http://127.0.0.1:11434"),
    Server("openai", "openai", "https://api.openai.com/v1", "AISWE_OPENAI_API_KEY"),
)
GOOD = """
[servers.studio]
kind = "openai"
url = "http://127.0.0.1:1234/v1"
key = "AISWE_STUDIO_API_KEY"

[personas.default]
models = ["ollama:qwen2.5-coder:7b"]
max_tokens = 4000

[personas.coder]
models = ["ollama:qwen2.5-coder:14b", "studio:big"]
temperature = 0.3
protocol = "tags"

[windows]
"studio:big" = 65536

[thinking]
"studio:big" = 0
"""


def load(tmp_path: Path, text: str) -> Catalog:
    file = tmp_path / "models.toml"
    file.write_text(text)
    return Catalog.load(file, KNOWN)


def test_a_choice_is_read(tmp_path):
    book = load(tmp_path, GOOD)
    assert book.choice("coder") == Choice(("ollama:qwen2.5-coder:14b", "studio:big"), 0.3, 4000, "tags")
    assert book.choice("tester") == Choice(("ollama:qwen2.5-coder:7b",), None, 4000)
    assert book.resolve("studio:big") == (
        Server("studio", "openai", "http://127.0.0.1:1234/v1", "AISWE_STUDIO_API_KEY"),
        "big",
    )
    assert (book.windows, book.thinking) == ({"studio:big": 65536}, {"studio:big": 0})


def test_a_file_that_is_not_there_chooses_nothing(tmp_path):
    assert Catalog.load(tmp_path / "none.toml", KNOWN).choice("coder") == Choice()


@each_row(
    ("spec", "server", "model"),
    [
        ("qwen2.5-coder:7b", "ollama", "qwen2.5-coder:7b"),
        ("ollama:qwen2.5-coder:7b", "ollama", "qwen2.5-coder:7b"),
        ("gpt-oss:20b", "ollama", "gpt-oss:20b"),
        ("openai:gpt-5", "openai", "gpt-5"),
        (" openai: a/b:c ", "openai", "a/b:c"),
    ],
)
def test_a_name_without_a_server_is_a_model_of_ollama(tmp_path, spec, server, model):
    found, name = load(tmp_path, "").resolve(spec)
    assert (found.name, name) == (server, model)


@each_row(
    ("text", "words"),
    [
        ("[", "not valid TOML"),
        ("[colours]", "'colours' is not known"),
        ("personas = 3", "must be a table"),
        ("[personas.chef]", "no such persona"),
        ("[personas.coder]\nmodel = 'x'", "'model' is not known"),
        ("[personas.coder]\nmodels = [3]", "list of at most"),
        ("[personas.coder]\nmodels = ['']", "names no model"),
        ("[personas.coder]\ntemperature = true", "temperature"),
        ("[personas.coder]\ntemperature = 3", "temperature"),
        ("[personas.coder]\nmax_tokens = 1", "max_tokens"),
        ("[personas.coder]\nprotocol = 'xml'", "fences, tags, json"),
        ("[servers.Studio]\nkind='openai'\nurl='http://x'", "small letters"),
        ("[servers.studio]\nkind='magic'\nurl='http://x'", "kind"),
        ("[servers.studio]\nkind='openai'", "url"),
        ("[servers.studio]\nkind='openai'\nurl='http://me:pw@x/v1'", "without a name or password"),
        ("[servers.studio]\nkind='openai'\nurl='http://x'\nkey='PATH'", "ends with _API_KEY"),
        ("[servers.studio]\nkind='openai'\nurl='http://x'\nparallel=0", "from 1 to 64"),
        ("[servers.studio]\nkind='openai'\nurl='http://x'\nparallel=true", "from 1 to 64"),
        ("[windows]\n'a' = 1", "windows.a"),
        ("[thinking]\n'a' = -1", "thinking.a must be a number of tokens from 0 on"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, words):
    with pytest.raises(CatalogError, match=words) as caught:
        load(tmp_path, text)
    assert "models.toml" in str(caught.value)


def test_a_key_in_the_file_is_refused_and_not_quoted(tmp_path):
    with pytest.raises(CatalogError) as caught:
        load(tmp_path, "[servers.studio]\nkind='openai'\nurl='http://x'\nkey='sk-live-123456789'")
    assert "sk-live" not in str(caught.value)


def test_a_list_in_one_line_keeps_its_order():
    assert split_models(" ollama:a, openai:b,,ollama:a ") == ("ollama:a", "openai:b")
    with pytest.raises(CatalogError, match="the most"):
        split_models(",".join(f"m{n}" for n in range(9)))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda part: (
            st.lists(part)
            | st.dictionaries(
                st.sampled_from(["servers", "personas", "windows", "coder", "models", "kind", "url", "key", "x"]), part
            )
        ),
    )
)
def test_any_data_is_read_or_refused(data):
    if not isinstance(data, dict):
        return
    with contextlib.suppress(CatalogError):
        assert isinstance(Catalog.read(data, "models.toml", KNOWN), Catalog)


@each_row(
    "name",
    [
        "AISWE_STUDIO_API_KEY",
        "AISWE_STUDIO_TOKEN",
        "AISWE_STUDIO_SECRET",
        PROVIDERS["openai"].key_variable,
        PROVIDERS["gemini"].key_variable,
    ],
)
def test_whatever_variable_may_hold_a_key_is_known_to_redaction(tmp_path, name):
    value = "abcd" * 8
    load(tmp_path, f"[servers.studio]\nkind='openai'\nurl='http://x'\nkey='{name}'")
    assert secrets_in({name: value}) == {name: value}
    assert value not in Redactor(secrets_in({name: value})).redact(f"the server said: wrong key {value}!")
