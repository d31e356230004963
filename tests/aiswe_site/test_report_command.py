"""`aiswe report weekly` says what the page says."""

from __future__ import annotations

import pytest

from aiswe_site.cli.app import run
from tests.aiswe_site.answers import refused, said
from tests.projects.services.insight.year import WEEK, set_prices, tell_year

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process", "enqueued")]


def test_the_report_is_words_json_or_csv(settings, capsys: pytest.CaptureFixture[str]) -> None:
    set_prices(settings)
    tell_year()
    document = said(capsys, "report", "weekly", "--week", str(WEEK), "--as", "ada")
    assert (document["total_tokens"], document["ledger_tokens"], document["adds_up"]) == (17_702, 17_702, True)
    assert run(["report", "weekly", "--week", str(WEEK), "--as", "ada", "--project", "clinic"]) == 0
    words = capsys.readouterr().out
    assert words.startswith("Two requirements delivered for $0.03.")
    assert "The rows add up to the ledger." in words
    assert run(["report", "weekly", "--week", str(WEEK), "--as", "ada", "--csv"]) == 0
    assert "FR-02" in capsys.readouterr().out.splitlines()[2]
    assert "no project" in refused(capsys, "report", "weekly", "--project", "no-such")
