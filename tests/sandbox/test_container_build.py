"""A Dockerfile is built on a real engine, started, looked into and removed; what cannot be told is no failure."""

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from sandbox import container_build
from sandbox.container_build import try_container
from sandbox.container_report import ContainerReport
from sandbox.docker import DockerBackend, connect
from sandbox.images import BUILD, HOST, OWNER, labels
from tests.needs import missing
from tests.sandbox.engine import NoEngine, OwnEngine, answers
from tests.sandbox.server_images import with_libraries

pytestmark = pytest.mark.docker

BASE = "debian:aiswe-test"  # no name that an engine may have for something else
GOOD = f"""ARG BASE={BASE}
FROM $BASE AS build
RUN echo built > /result
FROM $BASE
COPY --from=build /result /srv/result
COPY app.txt /srv/
USER 1000
EXPOSE 8000
HEALTHCHECK --interval=1h CMD ["test", "-e", "/tmp/ready"]
CMD ["/bin/sh", "-c", "test \\"$(id -u)\\" = 1000 && touch /tmp/ready && exec sleep 1000"]
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.DockerClient]:
    """An engine that has the base: programs of this machine's Debian packages, with their rows of dpkg."""
    own, before = OwnEngine(), os.environ.get("DOCKER_HOST")
    try:
        if not answers():
            os.environ["DOCKER_HOST"] = own.start()
        client = connect(120)
        programs = [found for name in ("sh", "sleep", "touch", "test", "id", "cat") if (found := shutil.which(name))]
        status = subprocess.run(["dpkg-query", "-s", "coreutils", "dash"], capture_output=True, check=True).stdout
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
            for path in sorted(with_libraries(programs)):
                tar.add(os.path.realpath(path), arcname=os.path.normpath(path).lstrip("/"))
            if "/bin/sh" not in programs:
                tar.add(os.path.realpath("/bin/sh"), arcname="bin/sh")
            info = tarfile.TarInfo("var/lib/dpkg/status")
            info.size = len(status)
            tar.addfile(info, io.BytesIO(status))
            info = tarfile.TarInfo("tmp")
            info.type, info.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(info)
        repository, _, tag = BASE.partition(":")
        client.api.import_image_from_data(archive.getvalue(), repository=repository, tag=tag)
        yield client
        client.api.remove_image(BASE, force=True)
        client.close()
    except (NoEngine, OSError, subprocess.CalledProcessError) as error:
        missing(str(error))
    finally:
        os.environ.pop("DOCKER_HOST", None)
        if before is not None:
            os.environ["DOCKER_HOST"] = before
        own.stop()


@pytest.fixture(autouse=True)
def _nothing_is_left(engine: docker.DockerClient) -> Iterator[None]:
    yield
    assert engine.api.images(all=True, filters={"label": f"{OWNER}={labels()[OWNER]}"}) == []
    assert engine.api.containers(all=True, filters={"label": f"{OWNER}={labels()[OWNER]}"}) == []


def tried(folder: Path, text: str = GOOD, **files: str) -> ContainerReport:
    for name, content in {"Dockerfile": text, "app.txt": "text\n", **files}.items():
        (folder / name).write_text(content)
    return try_container(folder, "Dockerfile")


def test_a_good_image_is_built_started_healthy_looked_into_and_removed(tmp_path: Path) -> None:
    report = tried(tmp_path)
    assert (report.state, report.problem, report.health) == ("ok", "", "healthy"), report
    assert (report.user, report.ports) == ("1000", ("8000/tcp",))
    assert [name.split()[0] for name in report.packages] == ["coreutils", "dash"]
    assert ("srv/app.txt", "text\n") in report.texts
    assert "srv/result" in {place for place, _ in report.texts}


def test_a_step_that_fails_gives_its_last_lines(tmp_path: Path) -> None:
    # The builder may lose what a step prints around its beginning and its end, and more of it on a busy machine.
    report = tried(tmp_path, f"FROM {BASE}\nRUN for i in 1 2 3 4 5 6 7 8; do sleep 1; cat /gone; done; false\n")
    assert report.state == "failed"
    assert "/gone: No such file or directory" in report.output


def test_build_steps_and_containers_have_no_network_and_few_rights(tmp_path: Path) -> None:
    probe = "cat /proc/net/dev /proc/self/status"
    report = tried(tmp_path, f"FROM {BASE}\nRUN {probe}; test -e /gone\n")
    assert "eth0" not in report.output
    report = tried(tmp_path, f'FROM {BASE}\nUSER 1000\nCMD ["/bin/sh", "-c", "{probe}; test -e /gone"]\n')
    assert (report.state, report.problem) == ("failed", "the container ended with exit code 1")
    assert "eth0" not in report.output
    assert "CapBnd:\t0000000000000000" in report.output
    assert "NoNewPrivs:\t1" in report.output


def test_an_image_that_runs_as_root_is_not_started(tmp_path: Path) -> None:
    report = tried(tmp_path, f'FROM {BASE}\nCMD ["sleep", "1000"]\n')
    assert (report.state, report.problem) == ("failed", "the image runs as root, so it was not started")


@pytest.mark.parametrize(
    ("busy", "state", "why"),
    [(False, "failed", "its health check failed"), (True, "no verdict", "the machine is too busy")],
)
def test_a_health_check_that_fails_is_a_failure_unless_the_machine_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy: bool, state: str, why: str
) -> None:
    monkeypatch.setattr(container_build, "START_SECONDS", 12)
    monkeypatch.setattr(container_build, "SURE_CHECKS", 1)
    monkeypatch.setattr(container_build, "_busy", lambda: busy)
    report = tried(tmp_path, GOOD.replace("&& touch /tmp/ready", ""))
    assert (report.state, why in report.problem) == (state, True), report


def test_a_program_that_ends_well_needs_no_health_check(tmp_path: Path) -> None:
    report = tried(tmp_path, f'FROM {BASE}\nUSER 1000\nCMD ["id"]\n')
    assert (report.state, report.health) == ("ok", "ended with exit code 0")


def test_a_secret_that_a_later_layer_removes_is_seen(tmp_path: Path) -> None:
    text = GOOD.replace("USER 1000", "COPY key.txt /srv/\nRUN echo gone > /srv/key.txt\nUSER 1000")
    report = tried(tmp_path, text, **{"key.txt": "the key"})
    assert ("srv/key.txt", "the key") in report.texts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("FROM nowhere.test/gone:1\n", "the engine has no image nowhere.test/gone:1"),
        (f"FROM {BASE}\nRUN --mount=type=cache,target=/c true\n", "line 2 needs BuildKit"),
        (f"FROM {BASE}\nRUN echo Could not resolve host; test -e /gone\n", "a step needs the network"),
    ],
)
def test_what_cannot_be_built_here_is_said_and_is_no_failure(tmp_path: Path, text: str, why: str) -> None:
    report = tried(tmp_path, text)
    assert (report.state, why in report.problem) == ("not built", True), report


def test_what_the_ignore_file_lists_is_not_in_the_context(tmp_path: Path) -> None:
    report = tried(tmp_path, **{".dockerignore": "app.txt\n"})
    assert report.state == "failed"
    assert "app.txt" in report.output + report.problem


def test_without_an_engine_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    report = tried(tmp_path)
    assert (report.state, "no Docker engine answers" in report.problem) == ("not built", True)


def test_images_of_a_worker_that_died_are_reaped(engine: docker.DockerClient) -> None:
    gone = labels() | {OWNER: "999999-1", BUILD: "dead"}
    lines = "".join(f"LABEL {key}={value}\n" for key, value in gone.items())
    image, _ = engine.images.build(fileobj=io.BytesIO(f"FROM {BASE}\n{lines}ENV A=b\n".encode()), rm=True)
    assert engine.images.get(image.id).labels[HOST] == labels()[HOST]
    assert DockerBackend().reap() >= 1
    assert engine.api.images(all=True, filters={"label": f"{BUILD}=dead"}) == []
