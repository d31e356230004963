"""Hosting by a Docker engine: each release in a container of its own that no network leads out of.

Two containers and a network for each. The network of the application has no gateway, so that neither the machine nor
the internet can be reached from it whatever the engine's firewall does; nothing can be published from such a network
either. So a relay, which is our program in the sandbox image, stands in it and in a network of the relays, and the
engine publishes its port on this machine's loopback.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import docker
import docker.errors
import docker.types

from sandbox.agent import forwarder_source
from sandbox.base import SandboxLimits, SandboxUnavailable
from sandbox.confinement import MEGABYTE, bounded_log, confined, is_root
from sandbox.docker import PYTHON, DockerBackend, chosen_runtime, connect
from sandbox.hosting.base import Address, HostingError, Log, Release, Seen
from sandbox.hosting.compose_state import MOST_SENT, read_log, seen_of, uid_problem
from sandbox.images import ENGINE_ERRORS, OWNER, image_name, repository_and_tag
from sandbox.owners import lives, me

APP, RELEASE, PART = "aiswe.app", "aiswe.release", "aiswe.part"  # of which installation, which release, what of it
USER = "10001:10001"  # where the image names none, or root
NOWHERE = "192.0.2.1"  # a name server that nobody answers at: the engine's own would ask the world
BUILD_SECONDS, BUILD_SILENCE, BUILD_MB = 1800.0, 900, 2048
RELAY = SandboxLimits(cpus=0.5, memory_mb=128, processes=64, disk_mb=1)
ADD = re.compile(r"^\s*(?:ONBUILD\s+)?ADD\b", re.IGNORECASE | re.MULTILINE)
NO_DOCKERFILE = "there is no Dockerfile to build: add one, name an image, or deploy to the embedded host"


@dataclass
class _Job:
    """An image on its way: built or fetched, then started."""

    step: str = "waiting for the engine"
    problem: str = ""
    output: str = ""  # the end of what the build printed
    dropped: int = 0  # characters before it
    cancelled: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)  # held while containers are made or removed

    def say(self, text: str) -> None:
        kept = self.output + text.replace("\0", "\u2400")
        self.dropped += max(0, len(kept) - MOST_SENT)
        self.output = kept[-MOST_SENT:]

    def log(self, after: int) -> Log:
        start = max(after - self.dropped, 0)
        return Log(self.output[start:], self.dropped + max(start, len(self.output)), after < self.dropped)


class ComposeHost:
    """Releases of one installation on the engine that DOCKER_HOST names. They outlive this process."""

    kind = "compose"

    def __init__(self, installation: str, build_network: str = "none") -> None:
        """`installation` tells ours from those of others on the engine; `build_network` is for builds that fetch."""
        self._installation, self._build_network = installation, build_network
        self._prefix = f"aiswe-app-{hashlib.sha256(installation.encode()).hexdigest()[:8]}"
        self._jobs, self._lock = dict[str, _Job](), threading.Lock()

    def problem(self) -> str:
        if urlsplit(os.environ.get("DOCKER_HOST", "")).hostname not in (None, "localhost", "127.0.0.1", "::1"):
            return "the Docker engine is on another machine, where requests cannot reach it; name one of this machine"
        found = DockerBackend().availability()
        return "" if found.ok else f"{found.problem}; {found.hint}"

    def start(self, release: Release) -> None:
        """Make its network and relay, then build or fetch its image in the background. Raises HostingError."""
        if not release.image and not (release.folder / "Dockerfile").is_file():
            raise HostingError(NO_DOCKERFILE)
        self.stop(release.name)
        try:
            with _engine() as client, self._lock:
                network = self._network(client, release.name)
                self._start_relay(client, release, network)
                job = self._jobs[release.name] = _Job()
        except HostingError:
            with contextlib.suppress(HostingError):
                self.stop(release.name)
            raise
        threading.Thread(target=self._bring_up, args=(release, job, network), daemon=True).start()

    def _bring_up(self, release: Release, job: _Job, network: str) -> None:
        tag = f"aiswe-app-{release.name}:{os.urandom(6).hex()}"
        try:
            with _engine(BUILD_SILENCE) as client:
                if release.image:
                    self._fetch(client, release.image, job)
                else:
                    self._build(client, release, tag, job)
                with job.lock:
                    if not job.cancelled:
                        job.step = "starting its container"
                        self._start_app(client, release, network, release.image or tag)
                        self._jobs.pop(release.name, None)
        except HostingError as error:
            job.problem = str(error)
        if job.cancelled and not release.image:
            with contextlib.suppress(HostingError), _engine() as client, contextlib.suppress(docker.errors.NotFound):
                client.api.remove_image(tag)

    def _fetch(self, client: docker.DockerClient, image: str, job: _Job) -> None:
        try:
            client.images.get(image)
        except docker.errors.ImageNotFound:
            job.step = f"fetching {image}"[:300]
            for told in client.api.pull(*repository_and_tag(image), stream=True, decode=True):
                if "error" in told:
                    raise HostingError(f"the image {image} cannot be had: {str(told['error'])[:300]}") from None
                if job.cancelled:
                    return

    def _build(self, client: docker.DockerClient, release: Release, tag: str, job: _Job) -> None:
        deadline, recipe = time.monotonic() + BUILD_SECONDS, (release.folder / "Dockerfile").read_text(errors="replace")
        if self._build_network == "none" and ADD.search(recipe):  # the engine itself fetches it, from where it stands
            raise HostingError("the image was not built: its Dockerfile has ADD, which may fetch; use COPY")
        told = client.api.build(
            path=str(release.folder),
            tag=tag,
            labels=self._labels(release.name),
            network_mode=self._build_network,
            container_limits={"memory": BUILD_MB * MEGABYTE, "memswap": BUILD_MB * MEGABYTE},
            rm=True,
            forcerm=True,
            decode=True,
        )
        for message in told:
            text = str(message.get("stream") or message.get("error") or "")
            job.say(text)
            if "error" in message:
                raise HostingError(f"the image was not built: {text.strip()[:300]}")
            if text.startswith("Step "):
                job.step = f"building: {text.strip()}"[:300]
            if job.cancelled or time.monotonic() > deadline:  # the engine gives it up with our connection
                raise HostingError(f"the image was not built within {BUILD_SECONDS / 60:.0f} minutes")

    def _network(self, client: docker.DockerClient, release: str) -> str:
        made = client.api.create_network(
            f"{self._prefix}-{release}",
            driver="bridge",
            internal=True,
            options={"com.docker.network.bridge.inhibit_ipv4": "true"},
            labels=self._labels(release) | {OWNER: me()},
            check_duplicate=True,
        )
        return str(made["Id"])

    def _start_relay(self, client: docker.DockerClient, release: Release, network: str) -> None:
        front = f"{self._prefix}-front"
        if not client.api.networks(names=[f"^{front}$"]):
            client.api.create_network(front, driver="bridge", labels={APP: self._installation}, check_duplicate=True)
        relay = client.api.create_container(
            image_name(),
            entrypoint=[str(PYTHON), "-I", "-S", "-c", forwarder_source()],
            command=["port", str(release.port), "app"],
            user="1000:1000",
            ports=[release.port],
            labels=self._labels(release.name, "relay"),
            host_config=client.api.create_host_config(
                **_walls(RELAY),
                network_mode=front,
                port_bindings={release.port: ("127.0.0.1", None)},
                restart_policy={"Name": "always"},
            ),
            name=f"{self._prefix}-{release.name}-relay",
        )["Id"]
        client.api.connect_container_to_network(relay, network)
        client.api.start(relay)

    def _start_app(self, client: docker.DockerClient, release: Release, network: str, image: str) -> None:
        user = str(client.images.get(image).attrs["Config"].get("User") or "")
        if is_root(user):
            user = USER
        aliased: Any = {network: client.api.create_endpoint_config(aliases=["app"])}
        made = client.api.create_container(
            image,
            command=list(release.command) or None,
            user=user,
            environment={**release.environment, "PORT": str(release.port)},
            hostname="app",
            labels=self._labels(release.name, "app"),
            host_config=client.api.create_host_config(
                **_walls(release.limits), network_mode=network, restart_policy={"Name": "unless-stopped"}
            ),
            networking_config=client.api.create_networking_config(aliased),
            name=f"{self._prefix}-{release.name}",
        )["Id"]
        try:
            if problem := uid_problem(client, made, user):
                raise HostingError(problem)
            client.api.start(made)
        except (HostingError, *ENGINE_ERRORS) as error:
            client.api.remove_container(made, force=True, v=True)
            raise HostingError(f"its container did not start: {str(error)[:300]}") from None

    def look(self, name: str) -> Seen:
        job = self._jobs.get(name)  # first: it goes when the container is there
        with _engine() as client:
            if found := self._container(client, name, "app"):
                with contextlib.suppress(docker.errors.NotFound):
                    return seen_of(client, str(found["Id"]))
            if job is not None:
                failed = Seen("exited", detail=job.problem, stuck=True)
                return failed if job.problem else Seen("starting", detail=job.step)
            for network in client.api.networks(filters=self._filter(name)):
                if lives(network["Labels"].get(OWNER, "")) and network["Labels"][OWNER] != me():
                    return Seen("starting", detail="another worker makes its image")
                return Seen("exited", detail="its start was interrupted; deploy it again", stuck=True)
            return Seen("gone")

    def logs(self, name: str, after: int = 0) -> Log:
        """What it printed, or what its build printed as long as there is no container of it."""
        job = self._jobs.get(name)
        with _engine() as client:
            if found := self._container(client, name, "app"):
                return read_log(client, str(found["Id"]), after, running=found["State"] == "running")
            if job is not None:
                return job.log(after)
            raise HostingError(f"{name} does not run here")

    def restart(self, name: str) -> None:
        """End its process and start it again; the engine begins to count crashes anew."""
        with _engine() as client:
            client.api.restart(self._existing(client, name, "app")["Id"], timeout=5)

    def stop(self, name: str) -> None:
        job = self._jobs.pop(name, None) or _Job()
        job.cancelled = True
        with _engine() as client, job.lock, self._lock:
            ours = self._filter(name)
            for container in client.api.containers(all=True, filters=ours):
                client.api.remove_container(container["Id"], force=True, v=True)
            for image in client.api.images(filters=ours):
                for tag in image["RepoTags"] or ():
                    if tag.startswith(f"aiswe-app-{name}:"):
                        client.api.remove_image(tag)
            for network in client.api.networks(filters=ours):  # last: as long as it is there, the release is named
                client.api.remove_network(network["Id"])
            if not self._names(client):
                for network in client.api.networks(filters={"label": f"{APP}={self._installation}"}):
                    client.api.remove_network(network["Id"])

    def address(self, name: str) -> Address:
        """The relay's, from the moment that start() returns; it answers 502 while the application is down."""
        with _engine() as client:
            relay = client.api.inspect_container(self._existing(client, name, "relay")["Id"])
            for bound in relay["NetworkSettings"]["Ports"].values():
                if bound:
                    return Address(url=f"http://127.0.0.1:{bound[0]['HostPort']}")
            raise HostingError(f"requests do not reach {name}: its relay does not run")

    def names(self) -> list[str]:
        with _engine() as client:
            return self._names(client)

    def _names(self, client: docker.DockerClient) -> list[str]:
        ours = {"label": [f"{APP}={self._installation}", RELEASE]}
        return sorted(network["Labels"][RELEASE] for network in client.api.networks(filters=ours))

    def _container(self, client: docker.DockerClient, name: str, part: str) -> dict[str, Any] | None:
        found: list[dict[str, Any]] = client.api.containers(all=True, filters=self._filter(name, part))
        return found[0] if found else None

    def _existing(self, client: docker.DockerClient, name: str, part: str) -> dict[str, Any]:
        if found := self._container(client, name, part):
            return found
        raise HostingError(f"{name} does not run here")

    def _labels(self, name: str, part: str = "") -> dict[str, str]:
        return {APP: self._installation, RELEASE: name} | ({PART: part} if part else {})

    def _filter(self, name: str, part: str = "") -> dict[str, list[str]]:
        return {"label": [f"{key}={value}" for key, value in self._labels(name, part).items()]}


@contextlib.contextmanager
def _engine(seconds: int = 30) -> Iterator[docker.DockerClient]:
    try:
        client = connect(seconds)
    except SandboxUnavailable as error:
        raise HostingError(str(error)) from None
    try:
        yield client
    except ENGINE_ERRORS as error:
        raise HostingError(f"the Docker engine does not do it: {str(error)[:300]}") from None
    finally:
        client.close()


def _walls(limits: SandboxLimits) -> dict[str, Any]:
    """What every container of a release is shut in by; it writes below /tmp and in the volumes that its image names."""
    return {
        **confined(limits.memory_mb, limits.processes),
        "read_only": True,
        "nano_cpus": int(limits.cpus * 1_000_000_000),
        "dns": [NOWHERE],
        "tmpfs": {"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={limits.disk_mb}m"},  # noqa: S108
        "log_config": bounded_log(4, 3),
        "ulimits": [
            docker.types.Ulimit(name="core", soft=0, hard=0),
            docker.types.Ulimit(name="nofile", soft=4096, hard=4096),
            docker.types.Ulimit(name="fsize", soft=limits.file_mb * MEGABYTE, hard=limits.file_mb * MEGABYTE),
        ],
        "runtime": chosen_runtime() or None,
    }
