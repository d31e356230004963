"""`aiswe doctor --bundle`: a file for whoever helps, without secrets and without contents."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import pytest

from aiswe_site import doctor
from aiswe_site.startup.home import Home
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_project

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_process", "enqueued")]
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"name": "git", "ok": True, "detail": "git 2", "hint": "", "seconds": 0.1, "blocks": "", "needed": True}
    monkeypatch.setattr(doctor, "checks", lambda: [row])


def test_the_file_holds_findings_and_counts_and_no_secret(
    tmp_path: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project("Secret plans")
    monkeypatch.setenv("AISWE_MAIL_PASSWORD", "hunter2-and-more")
    logs = Home.from_environment().logs
    logs.mkdir(parents=True, exist_ok=True)
    (logs / "error-1.log").write_text(f"pushing with {TOKEN} failed\n")
    place = tmp_path / "help.zip"
    answer = cli.answers("doctor", "--bundle", str(place))
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with zipfile.ZipFile(place) as bundle:
        texts = {name: bundle.read(name).decode() for name in bundle.namelist()}
    assert list(texts) == answer["holds"]
    assert json.loads(texts["doctor.json"])[0]["detail"] == "git 2"
    assert json.loads(texts["counts.json"])["Project"] == 1
    assert "django" in map(str.lower, json.loads(texts["versions.json"]))
    whole = "\n".join(texts.values())
    for hidden in (TOKEN, "hunter2-and-more", "Secret plans"):
        assert hidden not in whole
    assert "pushing with [redacted" in texts["logs/error-1.log"]
    (logs / "error-1.log").unlink()


def test_no_file_is_overwritten_and_a_place_that_cannot_be_written_is_named(tmp_path: Path, cli: CommandLine) -> None:
    place = tmp_path / "help.zip"
    place.write_text("mine")
    assert "is there already" in cli.refuses("doctor", "--bundle", str(place))
    assert place.read_text() == "mine"
    refusal = cli.refuses("doctor", "--bundle", str(tmp_path / "none" / "help.zip"))
    assert "cannot be written: No such file or directory" in refusal
