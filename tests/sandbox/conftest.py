"""Real backends for the sandbox tests; where one cannot be had, the reason is printed (and in CI the test fails)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sandbox.base import Backend, Sandbox, SandboxLimits, SandboxUnavailable
from sandbox.registry import load_backend
from tests.needs import missing
from tests.sandbox.engine import NoEngine, OwnEngine, answers

SMALL = SandboxLimits(memory_mb=256, processes=64, file_mb=64, disk_mb=48, output_bytes=100_000, seconds=30)
BOTH = [
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=pytest.mark.docker),
]


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[str]:
    """A Docker engine with the sandbox image: the one that answers, else one of our own. Sets DOCKER_HOST."""
    own, before = OwnEngine(), os.environ.get("DOCKER_HOST")
    try:
        if not answers():
            os.environ["DOCKER_HOST"] = own.start()
        from sandbox.docker import connect
        from sandbox.images import build_image

        client = connect(900)
        try:
            # The image's Node comes from the real registry, as its packages of Debian and Python do.
            with own.alone(), pytest.MonkeyPatch.context() as patched:
                patched.delenv("AISWE_NPM_REGISTRY", raising=False)
                build_image(client, print)
        finally:
            client.close()
        yield os.environ.get("DOCKER_HOST", "")
    except (NoEngine, SandboxUnavailable) as error:
        yield f"!{error}"
    finally:
        if before is None:
            os.environ.pop("DOCKER_HOST", None)
        else:
            os.environ["DOCKER_HOST"] = before
        own.stop()


@pytest.fixture(params=BOTH)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each real backend in turn."""
    if request.param == "docker":
        address = str(request.getfixturevalue("docker_engine"))
        if address.startswith("!"):
            missing(address[1:])
    return _ready(request.param)


@pytest.fixture
def box(backend: Backend) -> Iterator[Sandbox]:
    """A fresh small sandbox."""
    with backend.open(limits=SMALL, label="contract") as opened:
        yield opened


@pytest.fixture
def bubble() -> Iterator[Sandbox]:
    """A fresh small sandbox of bubblewrap: for what the same programs do inside of every backend."""
    with _ready("bubblewrap").open(limits=SMALL, label="contract") as opened:
        yield opened


def _ready(name: str) -> Backend:
    made = load_backend(name)
    state = made.availability()
    if not state.ok:
        missing(f"{name}: {state.problem}; {state.hint}")
    return made
