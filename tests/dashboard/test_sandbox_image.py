"""The sandbox image on the page System."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import SiteEvent
from sandbox.build_state import ImageBuild, write_build
from sandbox.owners import me
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImageBuild:
    """A build of this process, noted in a folder of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = ImageBuild("box:1", "building", me(), "packing the image", 40, "I: <b>libc6</b>", time.time())
    monkeypatch.setattr(ImageBuild, "seconds", 65.0)  # else the page would tell how long this test took, too
    write_build(made)
    return made


def see(client: Client, superuser: bool = True) -> str:
    client.force_login(make_user("root" if superuser else "someone", superuser=superuser))
    return client.get(reverse("system")).content.decode()


def test_a_build_at_work_tells_how_far_it_is_and_looks_again_by_itself(client: Client, build: ImageBuild) -> None:
    text = see(client)
    assert "40 %: packing the image, 1 min 05 s so far" in text
    assert 'value="40"' in text
    assert "I: &lt;b&gt;libc6&lt;/b&gt;" in text
    assert f'hx-get="{reverse("sandbox-image")}"' in text
    assert 'value="stop"' in text
    assert "packing the image" in client.get(reverse("sandbox-image")).content.decode()


def test_a_failed_build_says_why_and_offers_another_try_to_administrators(client: Client, build: ImageBuild) -> None:
    write_build(replace(build, state="failed", problem="the disk is full", hint="free 3 GB"))
    text = see(client)
    assert "The disk is full" in text
    assert "Free 3 GB" in text
    assert "hx-trigger" not in text.partition('id="sandbox-image"')[2].partition("</section>")[0]
    assert 'value="build"' in text
    assert 'value="build"' not in see(Client(), superuser=False)


def test_a_machine_without_one_shows_nothing(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert "Sandbox image" not in see(client)


@pytest.mark.parametrize(("do", "stop", "subject"), [("build", False, "requested"), ("stop", True, "stopped")])
def test_asking_for_it_or_stopping_it_is_a_job_and_on_the_trail(
    client: Client,
    build: ImageBuild,
    enqueued: list[Any],
    django_capture_on_commit_callbacks: Any,
    do: str,
    stop: bool,
    subject: str,
) -> None:
    see(client)
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(reverse("sandbox-image"), {"do": do}).status_code == 302
    assert ("projects.jobs.build_sandbox_image", (stop,)) in [(name, tuple(given)) for name, given in enqueued]
    assert SiteEvent.objects.filter(action="sandbox.image", subject=subject).count() == 1
