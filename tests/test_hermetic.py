"""The tests write below a home of their own and nowhere else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from django.conf import settings
from django.db import connections


def test_home_database_and_logs_lie_in_a_temporary_folder():
    home = Path(os.environ["AISWE_HOME"])
    assert home.is_relative_to(tempfile.gettempdir())
    assert home == settings.AISWE_HOME
    database = connections["default"].settings_dict
    if database["ENGINE"].endswith("sqlite3"):
        assert Path(database["NAME"]).parent == home


def test_no_outside_service_is_configured():
    assert settings.MODEL_URLS["ollama"] == "http://127.0.0.1:9"
    assert settings.REDIS_URL == ""


def test_what_a_finalizer_raises_is_not_in_the_output_of_another_test(capfd) -> None:
    class Leaking:
        def __del__(self) -> None:
            raise ResourceWarning("unclosed")

    leaking = Leaking()
    del leaking
    assert capfd.readouterr().err == ""
