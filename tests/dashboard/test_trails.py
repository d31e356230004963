"""Exports that carry a signature, and the site's own trail for administrators."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.errors import BadInput
from projects.models import SiteEvent
from projects.services.audit import exports, signing
from projects.services.audit.sitelog import note
from tests.dashboard.markup import acts
from tests.dashboard.story import Story
from tests.factories import make_user
from tests.texts import shows

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(settings: Any, tmp_path: Path) -> Path:
    settings.AISWE_HOME = tmp_path / "home"
    return tmp_path / "home"


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(make_user("root", superuser=True))
    return client


def unpacked(answer: Any) -> dict[str, bytes]:
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def public(client: Client) -> Any:
    return signing.read_public(client.get(reverse("audit-key")).content.decode())


@pytest.mark.parametrize("fmt", ["jsonl", "csv"])
def test_a_runs_export_is_proved_by_the_signature_beside_it(story: Story, root: Client, fmt: str) -> None:
    files = unpacked(root.get(reverse("audit-signed", args=[story.run.pk, fmt])))
    name = f"run-{story.run.pk}-audit.{fmt}"
    assert set(files) == {name, f"{name}.sig"}
    story.run.refresh_from_db()
    report = exports.check_export(io.BytesIO(files[name]), files[f"{name}.sig"].decode(), public(root))
    assert report.ok, report.problem
    assert report.rows == (story.run.last_seq if fmt == "jsonl" else 0)
    spoiled = files[name].replace(b"coder", b"codex", 1)
    assert not exports.check_export(io.BytesIO(spoiled), files[f"{name}.sig"].decode(), public(root)).ok


def test_the_page_names_the_key_and_how_to_check(story: Story, root: Client) -> None:
    text = root.get(reverse("audit-run", args=[story.run.pk])).content.decode()
    assert signing.key_name() in text
    assert f"aiswe audit check-export run-{story.run.pk}-audit.jsonl --key aiswe.pub" in text


def test_a_key_that_others_can_read_signs_nothing_and_the_page_says_so(story: Story, root: Client, home: Path) -> None:
    signing.private_key()
    (home / "audit" / signing.KEY_FILE).chmod(0o644)
    answer = root.get(reverse("audit-signed", args=[story.run.pk, "jsonl"]))
    assert answer.status_code == 422
    assert "can be read by others" in answer.content.decode()
    assert "a signed export says why" in root.get(reverse("audit-run", args=[story.run.pk])).content.decode()
    with pytest.raises(BadInput):
        exports.signed_archive([], "x")


def test_a_long_export_lies_on_disk_meanwhile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "IN_MEMORY", 10)
    with (
        exports.signed_archive((f"{number}\n" for number in range(5_000)), "long.csv") as made,
        zipfile.ZipFile(made) as archive,
    ):
        assert archive.read("long.csv").endswith(b"4999\n")
        assert json.loads(archive.read("long.csv.sig"))["bytes"] == len(archive.read("long.csv"))


def test_the_sites_trail_lists_who_did_what_and_hides_nothing_denied(root: Client) -> None:
    note("eve", "session.refused", "ada", {"why": "<b>wrong</b>"}, outcome="denied")
    text = root.get(reverse("audit-site")).content.decode()
    shows(text, "session.refused", "denied", "&lt;b&gt;wrong")
    assert not acts(text)
    assert "No row matches." in root.get(reverse("audit-site") + "?q=nobody+did").content.decode()
    assert "session.refused" in root.get(reverse("audit-site") + "?q=eve&before=99").content.decode()


def test_the_sites_trail_is_verified_from_the_page_but_not_with_a_file_of_heads_that_was_changed(
    root: Client, home: Path
) -> None:
    note("ada", "role.given", "eve")
    text = " ".join(root.post(reverse("audit-site-verify")).content.decode().split())
    assert "no gaps, all hashes match" in text
    (home / "audit").mkdir(parents=True, exist_ok=True)
    (home / "audit" / "heads.jsonl").write_text("forged\n")
    text = root.post(reverse("audit-site-verify")).content.decode()
    assert "The file of stored head hashes cannot be trusted." in text
    assert "verified" not in text.split("<main")[1]


def test_the_sites_export_is_signed_too(root: Client) -> None:
    note("ada", "role.given", "eve")
    files = unpacked(root.get(reverse("audit-site-signed", args=["jsonl"])))
    report = exports.check_export(
        io.BytesIO(files["site-audit.jsonl"]), files["site-audit.jsonl.sig"].decode(), public(root)
    )
    assert (report.ok, report.rows) == (True, SiteEvent.objects.count())
    assert root.get(reverse("audit-site-signed", args=["exe"])).status_code == 404


def test_only_an_administrator_is_led_there(story: Story, client: Client) -> None:
    client.force_login(story.owner)
    assert reverse("audit-site") not in client.get(reverse("audit")).content.decode()
    client.force_login(make_user("root", superuser=True))
    assert reverse("audit-site") in client.get(reverse("audit")).content.decode()


def test_a_page_that_answered_a_form_is_left_for_one_that_can_be_opened(story: Story, root: Client) -> None:
    for sent, back in (
        (f"/audit/{story.run.pk}/verify", f"/audit/{story.run.pk}"),
        ("/reports?by=week", "/reports?by=week"),
    ):
        answer = root.post("/preferences", {"theme": "dark"}, headers={"referer": f"http://testserver{sent}"})
        assert answer["Location"] == back
        assert root.get(back).status_code == 200
