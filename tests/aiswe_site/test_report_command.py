"""`aiswe report weekly` says what the page says."""

from __future__ import annotations

import pytest

from tests.aiswe_site.answers import CommandLine
from tests.projects.services.insight.year import WEEK, set_prices, tell_year

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process", "enqueued")]


def test_the_report_is_words_json_or_csv(settings, cli: CommandLine) -> None:
    set_prices(settings)
    tell_year()
    document = cli.answers("report", "weekly", "--week", str(WEEK), "--as", "ada")
    assert (document["total_tokens"], document["ledger_tokens"], document["adds_up"]) == (17_702, 17_702, True)
    words = cli.prints("report", "weekly", "--week", str(WEEK), "--as", "ada", "--project", "clinic")
    assert words.startswith("Two requirements delivered for $0.03.")
    assert "The rows add up to the ledger." in words
    assert "FR-02" in cli.prints("report", "weekly", "--week", str(WEEK), "--as", "ada", "--csv").splitlines()[2]
    assert "no project" in cli.refuses("report", "weekly", "--project", "no-such")
