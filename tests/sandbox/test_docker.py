"""What is particular to the Docker backend."""

from __future__ import annotations

import pytest
import requests
from docker.errors import DockerException

from sandbox import docker
from sandbox.base import SandboxUnavailable
from sandbox.docker import DockerBackend, runtime_problem
from sandbox.owners import me
from sandbox.registry import open_backend
from tests.needs import missing
from tests.sandbox.conftest import SMALL


@pytest.fixture
def engine(docker_engine: str) -> str:
    """The address of a Docker engine."""
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    return docker_engine


@pytest.mark.docker
def test_a_runtime_that_the_engine_does_not_know_is_refused_by_name(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AISWE_DOCKER_RUNTIME", "no-such-runtime")
    state = DockerBackend().availability()
    assert not state.ok
    assert "no runtime 'no-such-runtime' (AISWE_DOCKER_RUNTIME); it has" in state.problem
    assert "runsc install" in state.hint
    with pytest.raises(SandboxUnavailable, match="no runtime 'no-such-runtime'"):
        open_backend("docker")


@pytest.mark.docker
def test_the_runtime_that_was_asked_for_is_used(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = docker.connect()
    try:
        known = [name for name in client.info()["Runtimes"] if name != client.info()["DefaultRuntime"] and "v2" in name]
        if not known:
            missing("the engine knows its default runtime only")
        monkeypatch.setenv("AISWE_DOCKER_RUNTIME", known[0])
        with open_backend("docker").open(limits=SMALL) as box:
            assert box.exec(["true"]).ok
            (made,) = client.api.containers(filters={"label": f"{docker.OWNER}={me()}"})
            assert client.api.inspect_container(made["Id"])["HostConfig"]["Runtime"] == known[0]
    finally:
        client.close()


def test_without_a_wish_every_runtime_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AISWE_DOCKER_RUNTIME", raising=False)
    assert runtime_problem({}) == ""
    monkeypatch.setenv("AISWE_DOCKER_RUNTIME", "runsc")
    assert runtime_problem({"runc": {}, "runsc": {}}) == ""
    assert "it has none" in runtime_problem({})


@pytest.mark.parametrize(
    ("error", "way_out"),
    [
        (PermissionError(13, "no"), "sudo usermod -aG docker $USER, then sign in again"),
        (FileNotFoundError(2, "no"), docker.NO_ENGINE),
    ],
)
def test_an_engine_that_cannot_be_reached_names_the_one_step(
    monkeypatch: pytest.MonkeyPatch, error: OSError, way_out: str
) -> None:
    def refuse(timeout: int) -> None:
        try:
            raise requests.ConnectionError("aborted", error)  # as its libraries wrap it
        except requests.ConnectionError as wrapped:
            raise DockerException("no version") from wrapped

    monkeypatch.setattr(docker.docker, "from_env", refuse)
    found = DockerBackend().availability()
    assert (found.problem, found.hint) == ("no Docker engine answers (no version)", way_out)
