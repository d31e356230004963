"""bubblewrap inside a container that is started as compose.yaml starts the worker."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from sandbox.images import image_name, put_files
from tests.needs import missing

REPOSITORY = Path(__file__).resolve().parents[2]
PROFILE = json.loads((REPOSITORY / "sandbox" / "seccomp_container.json").read_text())
WORKER = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())["services"]["worker"]
# profiles/seccomp/default.json of Docker 20.10.24 (github.com/moby/moby, Apache License 2.0), as Debian 12 has it.
DOCKERS_DEFAULT = "af8fcb4cc4e869779f98c0dfb49ac6420c8ffc95cbdf5846bcfd93489b4b24c0"
ADDED = ["clone", "mount", "pivot_root", "sethostname", "umount2", "unshare"]
SELFTEST = """
import dataclasses, json
from sandbox.bubblewrap import BubblewrapBackend
from sandbox.selftest import probe_backend
print(json.dumps([dataclasses.asdict(probe) for probe in probe_backend(BubblewrapBackend())]))
"""
OPENS = """
from sandbox.base import SandboxLimits
from sandbox.bubblewrap import BubblewrapBackend
with BubblewrapBackend().open(limits=SandboxLimits(disk_mb=32), label="test") as box:
    print(box.exec(["echo", "works"]).out)
"""
WRITABLE = """
import os
for top in ("/proc", "/sys"):
    for folder, folders, files in os.walk(top):
        folders[:] = [one for one in folders if not (folder == "/proc" and (one.isdigit() or one.endswith("self")))]
        for name in files:
            if os.access(os.path.join(folder, name), os.W_OK):
                print(os.path.join(folder, name))
print(os.listdir("/sys/firmware"), os.access("/proc/kcore", os.R_OK))
"""
# Open to everybody on the host too, and not masked by Docker: pressure triggers, and a number that the kernel refuses.
OPEN_TO_ALL = {*(f"/proc/pressure/{kind}" for kind in ("cpu", "io", "irq", "memory")), "/proc/sys/kernel/ns_last_pid"}


def test_the_filter_is_dockers_own_but_for_its_last_entry() -> None:
    own = PROFILE | {"syscalls": PROFILE["syscalls"][:-1]}
    canonical = json.dumps(own, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(canonical.encode()).hexdigest() == DOCKERS_DEFAULT
    last = PROFILE["syscalls"][-1]
    assert last["names"] == ADDED
    assert (last["action"], last["args"], last["includes"], last["excludes"]) == ("SCMP_ACT_ALLOW", [], {}, {})


@pytest.fixture(scope="module")
def image(docker_engine: str) -> str:
    """The sandbox image with bubblewrap and this package in it."""
    if docker_engine.startswith("!"):
        missing(docker_engine[1:])
    program = shutil.which("bwrap")
    if program is None:
        missing("bubblewrap (bwrap) is not installed")
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    needed = [program, *re.findall(r"=> (/\S+) \(0x", libraries)]
    files = {
        os.path.realpath(os.path.dirname(path)).lstrip("/") + "/" + os.path.basename(path): path for path in needed
    }
    name = f"aiswe-test-worker:{image_name().partition(':')[2]}"
    client = docker.from_env(timeout=300)
    try:
        container = client.api.create_container(image_name(), command=["true"], network_disabled=True)["Id"]
        try:
            put_files(client, container, "/", {place: Path(os.path.realpath(path)) for place, path in files.items()})
            put_files(client, container, "/", {"app/sandbox": REPOSITORY / "sandbox"})
            client.api.commit(container, repository="aiswe-test-worker", tag=name.partition(":")[2])
        finally:
            client.api.remove_container(container, force=True)
    finally:
        client.close()
    return name


class Worker:
    """Runs programs in containers with the worker's options, as docker-compose translates them."""

    def __init__(self, client: docker.DockerClient, image: str) -> None:
        self.client, self.image = client, image

    def run(self, source: str, **changed: Any) -> str:
        """What the program prints; `changed` are fields of the container's HostConfig that are to be different."""
        options = WORKER["security_opt"]
        config = self.client.api.create_host_config(
            network_mode="none",
            init=WORKER.get("init", False),  # mounts a program of the machine below /usr
            cap_drop=WORKER["cap_drop"],
            read_only=WORKER["read_only"],
            tmpfs=dict(place.partition(":")[::2] for place in WORKER["tmpfs"]),
            security_opt=[
                *(one for one in options if not one.startswith(("seccomp=", "systempaths="))),
                f"seccomp={json.dumps(PROFILE)}",
            ],
        )
        if "systempaths=unconfined" in options:
            config |= {"MaskedPaths": [], "ReadonlyPaths": []}
        container = self.client.api.create_container(
            self.image,
            command=["python3", "-c", source],
            user="10001:10001",
            working_dir="/app",
            environment={"AISWE_SANDBOX_PYTHON": "/opt/venv/bin/python", "PYTHONPATH": "/app"},
            host_config=config | changed,
        )["Id"]
        try:
            self.client.api.start(container)
            self.client.api.wait(container, timeout=150)
            return str(self.client.api.logs(container).decode(errors="replace"))
        finally:
            self.client.api.remove_container(container, force=True)


@pytest.fixture
def worker(image: str) -> Iterator[Worker]:
    """Containers like the worker's."""
    client = docker.from_env(timeout=200)
    yield Worker(client, image)
    client.close()


@pytest.mark.docker
def test_the_sandbox_holds_inside_the_workers_container(worker: Worker) -> None:
    seen = worker.run(SELFTEST)
    probes = json.loads(seen.splitlines()[-1])
    assert len(probes) > 20
    assert [probe for probe in probes if not probe["ok"]] == []


@pytest.mark.docker
def test_the_worker_may_write_nothing_of_the_kernels_though_proc_is_not_masked(worker: Worker) -> None:
    *writable, last = worker.run(WRITABLE).splitlines()
    assert set(writable) <= OPEN_TO_ALL
    assert last == "[] False"


@pytest.mark.docker
@pytest.mark.parametrize("call", ADDED)
def test_no_sandbox_opens_without_one_of_the_added_calls(worker: Worker, call: str) -> None:
    less = json.loads(json.dumps(PROFILE))
    less["syscalls"][-1]["names"].remove(call)
    options = [one for one in WORKER["security_opt"] if not one.startswith(("seccomp=", "systempaths="))]
    seen = worker.run(OPENS, SecurityOpt=[*options, f"seccomp={json.dumps(less)}"])
    assert "works" not in seen.split()
    assert seen


@pytest.mark.docker
@pytest.mark.parametrize("masks", [{"MaskedPaths": ["/proc/version"]}, {"ReadonlyPaths": ["/proc/sys"]}], ids=str)
def test_no_sandbox_opens_while_one_path_below_proc_is_masked(worker: Worker, masks: dict[str, list[str]]) -> None:
    assert "works" in worker.run(OPENS).split()
    assert "works" not in worker.run(OPENS, **masks).split()
