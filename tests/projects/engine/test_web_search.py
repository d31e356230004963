"""The web search that the settings choose, what the doctor says of it, and that its key is shown nowhere."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.conversation.web_search import GoogleSearch, NoSearch
from aiswe_site.doctor import tools
from aiswe_site.startup.configuration import WrongSetting, load
from projects.engine.web_search import web_search
from tests.aiswe_site.running import environment

KEY = "q7Rw2mZx9vTb4LkP"  # no known shape: only its place tells that it is a secret


def test_it_is_off_until_somebody_is_named() -> None:
    assert isinstance(web_search(), NoSearch)
    assert (tools.web_search().ok, tools.web_search().detail) == (True, "Off; AISWE_SEARCH turns it on")


def test_the_settings_name_who_answers(settings: Any) -> None:
    settings.SEARCH, settings.SEARCH_KEY, settings.SEARCH_ENGINE = "google", KEY, "017:abc"
    search = web_search()
    assert isinstance(search, GoogleSearch)
    assert (search.key, search.engine, search.seconds) == (KEY, "017:abc", 5.0)
    assert tools.web_search().detail == "Google Custom Search at www.googleapis.com; not tried"


def test_what_is_missing_is_a_finding_of_the_doctor(settings: Any) -> None:
    settings.SEARCH = "searxng"
    found = tools.web_search()
    assert (found.ok, found.hint) == (False, "docs/how-to/web-search.md names the settings")
    assert "AISWE_SEARCH_URL" in found.detail


def test_the_key_is_not_shown_and_taken_out_of_everything(tmp_path: Path) -> None:
    told = "import django; django.setup(); from agents.secrets.redaction import redact; print(redact('it is ' + KEY))"
    env = {**environment(tmp_path), "AISWE_SEARCH": "tavily", "AISWE_SEARCH_KEY": KEY}
    env |= {"DJANGO_SETTINGS_MODULE": "aiswe_site.settings", "PATH": os.environ["PATH"]}
    for words in (["-m", "aiswe_site.cli", "config", "show"], ["-c", told.replace("KEY", repr(KEY))]):
        done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, check=True)
        assert KEY not in done.stdout + done.stderr
    assert done.stdout.strip() == "it is [redacted:search-key]"


def test_an_unknown_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AISWE_SEARCH", "bing")
    with pytest.raises(WrongSetting, match="it must be one of tavily, google, searxng"):
        load()
