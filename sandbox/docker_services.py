"""Servers for tests in containers beside a sandbox's, which share its loopback and have no other network."""

from __future__ import annotations

import contextlib
import io
import json
import posixpath
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence

import docker
import docker.errors

from sandbox.agent import joined
from sandbox.base import SandboxUnavailable
from sandbox.confinement import bounded_log, confined
from sandbox.images import ENGINE_ERRORS
from sandbox.services import FACTS, KINDS, READY_SECONDS, Kind, Service, ServiceFailed
from sandbox.warm import WarmSandbox

SEEDS_AT = "/docker-entrypoint-initdb.d"
MEMORY_MB, DISK_MB, PROCESSES = 768, 512, 256
# The user of the server in its image, and where it keeps data.
HOMES: Mapping[Kind, tuple[str, str]] = {
    "postgresql": ("postgres", "/var/lib/postgresql/data"),
    "mysql": ("mysql", "/var/lib/mysql"),
    "redis": ("redis", "/data"),
}


def image_for(client: docker.DockerClient, service: Service) -> str:
    """The image that is named, else the usual one, if the engine has it; nothing is pulled in the middle of a test."""
    name = service.image or service.facts.image
    try:
        client.images.get(name)
    except docker.errors.ImageNotFound:
        return ""
    return name


def images_there(client: docker.DockerClient) -> dict[Kind, str]:
    """An image of each kind that the engine has. Raises SandboxUnavailable."""
    try:
        tags = {tag for image in client.images.list() for tag in image.tags}
    except ENGINE_ERRORS as error:
        raise SandboxUnavailable(f"the engine does not tell its images: {str(error)[:160]}") from None
    repositories = {tag.rpartition(":")[0].rpartition("/")[2]: tag for tag in sorted(tags)}
    return {
        kind: tag
        for kind in KINDS
        if (tag := next((repositories[name] for name in FACTS[kind].images if name in repositories), ""))
    }


@contextlib.contextmanager
def running(
    client: docker.DockerClient, sandbox: WarmSandbox, services: Sequence[Service], labels: Mapping[str, str]
) -> Iterator[Sequence[Service]]:
    """Run those of which the engine has the image, and wait until they answer. Raises ServiceFailed."""
    started: list[str] = []
    found: list[Service] = []
    try:
        try:
            for service in services:
                if image := image_for(client, service):
                    started.append(_create(client, sandbox.tag, service, image, labels))
                    if service.seeds:
                        seeds = _archive(sandbox.get(service.seeds))
                        client.api.put_archive(started[-1], posixpath.dirname(SEEDS_AT), seeds)
                    client.api.start(started[-1])
                    found.append(service)
            for container, service in zip(started, found, strict=True):
                _wait(client, container, sandbox, service)
        except ENGINE_ERRORS as error:
            raise ServiceFailed(f"Docker started no server for the tests: {str(error)[:200]}") from None
        yield found
    finally:
        for container in started:
            with contextlib.suppress(*ENGINE_ERRORS):
                client.api.remove_container(container, force=True, v=True)


def _wait(client: docker.DockerClient, container: str, sandbox: WarmSandbox, service: Service) -> None:
    asked = json.dumps(service.to_start()).encode()
    end = time.monotonic() + READY_SECONDS
    while not sandbox.run_script(joined("services", "service_ready"), seconds=20, stdin=asked).ok:
        ended = not client.api.inspect_container(container)["State"]["Running"]
        if not ended and time.monotonic() < end:
            time.sleep(0.2)
            continue
        said = " ".join(client.api.logs(container, tail=5).decode(errors="replace")[-500:].split())
        why = "ended" if ended else f"did not answer within {READY_SECONDS:.0f} s"
        own = any(posixpath.basename(seed) in said for seed in service.seeds)
        raise ServiceFailed(f"{service.facts.name} {why}: {said}", own=own)


def _create(client: docker.DockerClient, sandbox: str, service: Service, image: str, labels: Mapping[str, str]) -> str:
    user, data = HOMES[service.kind]
    host = client.api.create_host_config(
        **confined(MEMORY_MB, PROCESSES),
        network_mode=f"container:{sandbox}",
        tmpfs={data: f"rw,nosuid,nodev,mode=1777,size={DISK_MB}m"},
        log_config=bounded_log(),
        restart_policy={"Name": "no"},
    )
    made = client.api.create_container(
        image,
        command=_command(service),
        user=user,
        environment=_environment(service, data),
        labels=dict(labels),
        host_config=host,
    )
    return str(made["Id"])


def _environment(service: Service, data: str) -> dict[str, str]:
    """What the official images read."""
    if service.kind == "redis":
        return {}
    if service.kind == "postgresql":
        names = {"POSTGRES_USER": service.user, "POSTGRES_DB": service.database, "PGDATA": f"{data}/server"}
        login = {"POSTGRES_PASSWORD": service.password} if service.password else {"POSTGRES_HOST_AUTH_METHOD": "trust"}
        return names | login
    names = {"MYSQL_DATABASE": service.database}
    if service.user == "root":
        return names | ({"MYSQL_ROOT_PASSWORD": service.password} if service.password else _OPEN)
    return names | {"MYSQL_USER": service.user, "MYSQL_PASSWORD": service.password} | _OPEN


_OPEN = {"MYSQL_ALLOW_EMPTY_PASSWORD": "yes"}  # in a network of one sandbox


def _command(service: Service) -> list[str] | None:
    """Options of the server; its data outlives nothing, so nothing is written twice."""
    if service.kind == "postgresql":
        return ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=40"]
    if service.kind == "mysql":
        return ["--bind-address=127.0.0.1"]
    secret = ["--requirepass", service.password] if service.password else []
    return ["redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *secret]


def _archive(files: Mapping[str, bytes]) -> bytes:
    """The seeds as a folder that the images' entry points run in this order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for number, (path, data) in enumerate(files.items()):
            info = tarfile.TarInfo(f"{posixpath.basename(SEEDS_AT)}/{number:03}-{posixpath.basename(path)}")
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()
