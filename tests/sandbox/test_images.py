"""Images of a real engine: loaded from a file, and found out when they are not what they are called."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker as docker_py
import pytest

from sandbox.base import SandboxUnavailable
from sandbox.contained import ImageNotMade
from sandbox.docker import DockerBackend, connect
from sandbox.images import build_image, image_name, image_present
from sandbox.registry import open_backend
from tests.needs import missing

pytestmark = pytest.mark.docker
SMALL = "aiswe-sandbox-test-small:1"
SITE = "/opt/venv/lib/python3.11/site-packages"


@pytest.fixture
def client(docker_engine: str) -> Iterator[docker_py.DockerClient]:
    """A client of a real engine that has the image."""
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    made = connect(300)
    yield made
    made.close()


def change(client: docker_py.DockerClient, command: str, *changes: str) -> str:
    """An image that differs from ours by what that command did to it; the caller removes it."""
    made = client.api.create_container(image_name(), command=["sh", "-c", command], user="0:0", network_disabled=True)
    try:
        client.api.start(made["Id"])
        client.api.wait(made["Id"])
        return str(client.api.commit(made["Id"], changes=list(changes or ["USER 1000:1000"]))["Id"])
    finally:
        client.api.remove_container(made["Id"], force=True)


@pytest.mark.parametrize(
    ("command", "changes", "said"),
    [
        (f"rm -r {SITE}/pytest {SITE}/hypothesis", (), "the docker sandbox is not used: it has no pytest, hypothesis"),
        ("rm /usr/local/bin/node", (), "its Node is missing, and 20 is needed"),
        ("true", ("USER root",), "runs as root"),
        ("rm -r /opt/venv/bin", (), "Docker made no sandbox"),
    ],
    ids=["no pytest", "no Node", "root", "no Python"],
)
def test_an_image_of_the_right_name_that_lacks_something_is_not_used(
    client: docker_py.DockerClient,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    changes: tuple[str, ...],
    said: str,
) -> None:
    image = change(client, command, *changes)
    try:
        with monkeypatch.context() as then:
            then.setenv("AISWE_SANDBOX_IMAGE", image)
            with pytest.raises(SandboxUnavailable) as refusal:
                open_backend("docker")
        assert said in str(refusal.value)
    finally:
        client.api.remove_image(image, force=True)


@pytest.fixture
def saved(client: docker_py.DockerClient, tmp_path: Path) -> Iterator[Path]:
    """What `docker save` makes of a small image; the engine does not have it any more."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        entry = tarfile.TarInfo("hello")
        entry.size = 5
        tar.addfile(entry, io.BytesIO(b"hello"))
    repository, _, tag = SMALL.partition(":")
    client.api.import_image_from_data(data.getvalue(), repository=repository, tag=tag)
    file = tmp_path / "small.tar"
    with file.open("wb") as out:
        out.writelines(client.api.get_image(SMALL))
    client.api.remove_image(SMALL, force=True)
    yield file
    if image_present(client, SMALL):
        client.api.remove_image(SMALL, force=True)


def test_an_image_is_loaded_from_the_file_that_is_named(
    client: docker_py.DockerClient, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, float]] = []
    monkeypatch.setenv("AISWE_SANDBOX_IMAGE", SMALL)
    monkeypatch.setenv("AISWE_SANDBOX_IMAGE_FILE", str(saved))
    assert build_image(client, lambda step, percent, line: seen.append((step, percent))) == SMALL
    assert image_present(client, SMALL)
    assert seen[-1] == ("loading the image", 95)
    assert "runs as root" in DockerBackend().availability().problem  # there, and still not used


def test_a_torn_file_is_named_with_what_the_engine_says(
    client: docker_py.DockerClient, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved.write_bytes(saved.read_bytes()[:1500])
    monkeypatch.setenv("AISWE_SANDBOX_IMAGE", SMALL)
    monkeypatch.setenv("AISWE_SANDBOX_IMAGE_FILE", str(saved))
    with pytest.raises(
        ImageNotMade, match=r"small\.tar \(AISWE_SANDBOX_IMAGE_FILE\) could not be loaded: .+"
    ) as refusal:
        build_image(client)
    assert refusal.value.hint == "write it again with: docker save"
    assert not image_present(client, SMALL)
