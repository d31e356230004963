from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from agents.engine.limits import LIMITS
from agents.languages.python import syntax
from agents.llm.registry import model_servers
from aiswe_site.startup.configuration import WrongSetting, load, rows
from aiswe_site.startup.database import database
from tests.tables import each_row

ROOT = Path(__file__).parents[3]
ROOMS = ("agents", "aiswe_site", "dashboard", "projects", "sandbox", "measure")
# Planted by the sandbox's self-test, and said to test runners inside of a sandbox.
NOT_SETTINGS = {"AISWE_SELFTEST_SECRET", "AISWE_ESBUILD", "AISWE_FIRST", "AISWE_TESTS_INSIDE"}
# Of a command that works with a server elsewhere, not of an installation.
NOT_SETTINGS |= {"AISWE_SERVER", "AISWE_TOKEN"}


def test_every_variable_that_the_code_names_is_in_the_table():
    known = {name for row in rows() for name in row.variables}
    named = {
        node.value
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(syntax.parse(path.read_text()))
        if isinstance(node, ast.Constant) and re.fullmatch(r"AISWE_[A-Z0-9_]*[A-Z0-9]", str(node.value))
    }
    assert named - known == NOT_SETTINGS


def test_every_setting_has_a_help_sentence_and_says_what_is_allowed():
    for row in rows():
        assert row.about, row.name
        assert row.allowed, row.name


@each_row(
    ("variable", "value", "allowed"),
    [
        ("AISWE_WORKERS", "many", "a whole number from 1 to 64"),
        ("AISWE_WORKERS", "0", "a whole number from 1 to 64"),
        ("AISWE_LESSON_THRESHOLD", "1.5", "a number from 0 to 1"),
        ("AISWE_SESSION_DAYS", "0", "a number from above 0 to 365"),
        ("AISWE_HTTPS", "perhaps", "true or false"),
        ("AISWE_SANDBOX", "chroot", "one of auto, docker, bubblewrap"),
        ("OLLAMA_NUM_PARALLEL", "x", "a whole number from 1 to 256"),
    ],
)
def test_a_wrong_value_is_refused_in_one_sentence(monkeypatch, variable, value, allowed):
    monkeypatch.setenv(variable, value)
    with pytest.raises(WrongSetting) as wrong:
        load()
    assert str(wrong.value) == f"{variable} is {value!r}; it must be {allowed}."


def test_the_first_variable_that_is_set_counts_and_an_empty_one_does_not(monkeypatch):
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", "2")
    assert load().MODEL_PARALLEL == 2
    monkeypatch.setenv("AISWE_MODEL_PARALLEL", "3")
    assert load().MODEL_PARALLEL == 3
    monkeypatch.setenv("AISWE_WORKERS", "")
    assert load().WORKERS == 4
    row = next(row for row in rows() if row.name == "MODEL_PARALLEL")
    assert (row.source({"OLLAMA_NUM_PARALLEL": "2"}), row.source({})) == ("OLLAMA_NUM_PARALLEL", "")


def test_every_model_server_is_in_the_table_with_its_address_and_its_key(monkeypatch):
    monkeypatch.setenv("AISWE_OPENAI_URL", "http://one:1/v1")
    table = {row.variables[0]: row for row in rows()}
    for kind in model_servers():
        assert table[kind.url_variable].value() == kind.url_in(os.environ)
        assert not kind.key_variable or table[kind.key_variable].secret


def test_a_list_is_written_with_commas(monkeypatch):
    monkeypatch.setenv("AISWE_HOSTS", "swe.example.org, 127.0.0.1,")
    assert load().HOSTS == ["swe.example.org", "127.0.0.1"]


def test_a_database_url_is_read_with_its_escapes(tmp_path):
    found = database("postgres://me:p%40ss@db.example:5433/swe?sslmode=require", tmp_path)
    assert found == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "swe",
        "USER": "me",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "5433",
        "OPTIONS": {"sslmode": "require"},
    }
    assert database("postgresql://me@%2Frun%2Fpg/swe", tmp_path)["HOST"] == "/run/pg"
    assert database("", tmp_path)["NAME"] == str(tmp_path / "db.sqlite3")
    assert database("sqlite:////srv/swe.sqlite3", tmp_path)["NAME"] == "/srv/swe.sqlite3"


@pytest.mark.parametrize("url", ["mysql://me:secret@x/y", "postgres://me:secret@x", "postgres://me:secret@x:port/y"])
def test_an_unusable_database_url_is_refused_without_showing_it(url, tmp_path):
    with pytest.raises(WrongSetting, match="DATABASE_URL") as wrong:
        database(url, tmp_path)
    assert "secret" not in str(wrong.value)


def test_every_default_is_inside_its_range():
    assert all(spec.low <= spec.default <= spec.high and spec.label for spec in LIMITS.values())
