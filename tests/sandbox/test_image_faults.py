"""Faults in the middle of an image build: nothing stays mounted, no process lives on, no folder stays for ever."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sandbox.build_state import ImageBuild
from sandbox.debian import NODE_VERSION
from tests.needs import missing
from tests.sandbox.stand_in_engine import StandInEngine
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.stage]
REPOSITORY = Path(__file__).resolve().parents[2]
# Like the real one: it makes a root, mounts into it, and has children.
DEBOOTSTRAP = """#!/bin/sh
for root; do case "$root" in /*) break;; esac; done
echo "I: Retrieving libc6"
mkdir -p "$root/proc" "$root/sys" "$root/etc" "$root/usr/bin" "$root/var/lib"
mount -t proc proc "$root/proc" && mount -t tmpfs tmpfs "$root/sys" || exit 9
touch "$root/etc/passwd" "$root/etc/group" "$root/sys/kept"
sleep 300 &
setsid sleep 300 >/dev/null 2>&1 </dev/null &
case "$FAULT" in
    "debootstrap fails") echo "E: Failed to unpack libc6"; exit 1;;
    "debootstrap is killed"|"debootstrap hangs") touch "$READY"; sleep 300;;
    "disk full") dd if=/dev/zero of="$root/big" bs=1M count=64 || exit 1;;
    "disk full while packing") dd if=/dev/zero of="$root/big" bs=1M count=5 2>/dev/null;;
    "network away") echo "E: Couldn't download dists/bookworm/main/binary-amd64/Packages"; exit 1;;
    "large root") dd if=/dev/urandom of="$root/big" bs=1M count=8 2>/dev/null;;
esac
exit 0
"""
PIP = """
import os, sys, time, pathlib
fault, target = os.environ["FAULT"], pathlib.Path(sys.argv[sys.argv.index("--target") + 1])
target.mkdir(parents=True, exist_ok=True)
(target / "some.py").write_text("x = 1")
if fault == "pip fails": sys.exit("ERROR: No space for this wheel in this test")
if fault == "pip hash": sys.exit("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE")
if fault == "pip network": sys.exit("ERROR: Could not find a version (from: Failed to establish a new connection)")
if fault == "pip hangs":
    pathlib.Path(os.environ["READY"]).touch()
    time.sleep(300)
"""
CHROOT = """#!/bin/sh
[ "$FAULT" != "compile fails" ] || { echo "error: bad code"; exit 1; }
"""
# fault: (what the message names, what the test does in the middle, how the build ends)
FAULTS = {
    "debootstrap fails": ("debootstrap failed: E: Failed to unpack libc6", "", "failed"),
    "debootstrap is killed": ("debootstrap failed: it was ended by SIGKILL", "kill it", "failed"),
    "debootstrap hangs": ("", "TERM", "interrupted"),
    "debootstrap hangs, stopped by a person": ("it was stopped", "USR1", "stopped"),
    "debootstrap hangs, Ctrl-C": ("it was stopped", "INT", "stopped"),
    "debootstrap hangs, builder killed": ("", "KILL", "interrupted"),
    "debootstrap hangs, product dies": ("", "lifeline", "interrupted"),
    "debootstrap hangs and says nothing": ("debootstrap failed: it printed nothing", "silent", "failed"),
    "debootstrap is not installed": ("debootstrap was not found", "", "failed"),
    "disk full": ("debootstrap failed: the disk is full", "small disk", "failed"),
    "disk full while packing": ("could not be packed: the disk is full", "small disk", "failed"),
    "network away": ("debootstrap failed: the packages could not be fetched (E: Couldn't download", "", "failed"),
    "Node of another hash": ("another hash than the pinned one", "", "failed"),
    "Node registry away": ("http://127.0.0.1:9/ does not answer", "", "failed"),
    "Node not in the registry": ("it has no such file", "", "failed"),
    "pip fails": ("pip failed: ERROR: No space for this wheel", "", "failed"),
    "pip hash": ("pip failed: a package has another hash than the locked one", "", "failed"),
    "pip network": ("pip failed: the packages could not be fetched", "", "failed"),
    "pip hangs": ("", "KILL", "interrupted"),
    "pip hangs, terminated": ("", "TERM", "interrupted"),
    "compile fails": ("the packages could not be compiled: error: bad code", "", "failed"),
    "large root, engine dies during the import": ("the Docker engine did not finish it", "", "failed"),
    "engine refuses the import": ("invalid tar header", "", "failed"),
    "engine fails late": ("the engine did not import the image: the disk is full", "", "failed"),
    "terminated during the import": ("", "TERM", "interrupted"),
    "killed during the import": ("", "KILL", "interrupted"),
    "engine that runs no containers": ("this engine runs no containers", "", "failed"),
    "broken tar": ("broken.tar (AISWE_SANDBOX_IMAGE_FILE) could not be loaded: unexpected EOF", "", "failed"),
    "no tar": ("there is no such file", "", "failed"),
    "tar of another image": ("it does not hold aiswe-sandbox:", "", "failed"),
    "image that cannot be pulled": ("example.test/box:1 could not be pulled: manifest unknown", "", "failed"),
}
ENGINES = {
    "large root, engine dies during the import": {"import": "dies"},
    "engine refuses the import": {"import": "refuses"},
    "engine fails late": {"import": "fails late"},
    "terminated during the import": {"import": "waits"},
    "killed during the import": {"import": "waits"},
    "broken tar": {"load": "unexpected EOF"},
}
INTERRUPTED_IMPORT = ("terminated during the import", "killed during the import")


class Bench:
    """One machine to build on: programs that fail as asked, a registry for Node, folders of its own."""

    def __init__(self, folder: Path, registry: str, engine: StandInEngine, node_hash: str) -> None:
        self.folder, self.engine, self.mark = folder, engine, secrets.token_hex(8)
        self.temporary, self.ready, programs = folder / "tmp", folder / "ready", folder / "bin"
        for each in (self.temporary, programs, folder / "fakes" / "pip"):
            each.mkdir(parents=True)
        for name, text in (("debootstrap", DEBOOTSTRAP), ("chroot", CHROOT)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (folder / "fakes" / "pip" / "__init__.py").touch()
        (folder / "fakes" / "pip" / "__main__.py").write_text(PIP)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AISWE_")}
        self.environment = kept | {
            "PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH": f"{folder / 'fakes'}:{REPOSITORY}",
            "TMPDIR": str(self.temporary),
            "DOCKER_HOST": engine.url,
            "READY": str(self.ready),
            "MARK": self.mark,
            "AISWE_NPM_REGISTRY": registry,
            "AISWE_TEST_NODE_HASH": node_hash,
        }

    def start(self, fault: str) -> subprocess.Popen[bytes]:
        """The builder, with that fault ahead of it."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.sandbox.faulty_builder"],
            stdin=subprocess.PIPE,
            env={**self.environment, "FAULT": fault.partition(",")[0]},
            cwd=self.folder,
        )

    def processes(self) -> list[str]:
        """What runs with this bench's mark in its environment."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if f"MARK={self.mark}".encode() in (place / "environ").read_bytes():
                    found.append((place / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        return found

    def debootstrap(self) -> int:
        """Its process, seen from outside."""
        script = str(self.folder / "bin" / "debootstrap")
        found = [place for place in Path("/proc").glob("[0-9]*") if _words(place)[:2] == ["/bin/sh", script]]
        return min(int(place.name) for place in found)

    def folders(self) -> list[str]:
        """The temporary folders of builds that are there."""
        return [path.name for path in self.temporary.glob("aiswe-images-*/build-*")]

    def mounts(self) -> list[str]:
        """What is mounted below the temporary folder; its own file system not counted."""
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return [line for line in lines if f"{self.temporary}/" in line]

    def state(self) -> ImageBuild:
        """What the builder wrote."""
        (file,) = self.temporary.glob("aiswe-images-*/*.json")
        return ImageBuild(**json.loads(file.read_text()))


def _words(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_text().split("\0")
    except OSError:
        return []


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a registry that has Node, and the hash of what it has."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        entry = tarfile.TarInfo("package/bin/node")
        entry.size = 4
        tar.addfile(entry, io.BytesIO(b"node"))
    served = tmp_path / "registry" / "node-test" / "-" / f"node-test-{NODE_VERSION}.tgz"
    served.parent.mkdir(parents=True)
    served.write_bytes(data.getvalue())

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "registry")))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", base64.b64encode(hashlib.sha512(data.getvalue()).digest()).decode()
    server.shutdown()
    server.server_close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    (place := tmp_path / "small").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def needs_root() -> None:
    """Skip where nothing can be mounted."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        missing("building an image from packages needs root and the right to mount")


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_nothing_is_mounted_runs_or_stays_and_the_cause_is_named(
    fault: str, tmp_path: Path, registry: tuple[str, str], small_disk: Path
) -> None:
    needs_root()
    named, deed, ends = FAULTS[fault]
    with StandInEngine(tmp_path, **ENGINES.get(fault, {})) as engine:
        bench = Bench(tmp_path / "bench", registry[0], engine, registry[1])
        prepare(bench, fault, deed, small_disk)
        builder = bench.start(fault)
        if deed in ("TERM", "KILL", "INT", "USR1", "lifeline", "kill it"):
            begun = engine.importing.is_set if fault in INTERRUPTED_IMPORT else bench.ready.exists
            assert eventually(begun), bench.state()
            assert len(bench.processes()) > 1 or fault in INTERRUPTED_IMPORT
            if deed == "lifeline":
                assert builder.stdin is not None
                builder.stdin.close()
            elif deed == "kill it":
                os.kill(bench.debootstrap(), signal.SIGKILL)
            else:
                builder.send_signal(getattr(signal, f"SIG{deed}"))
        code = builder.wait(60)
        if builder.stdin is not None:
            builder.stdin.close()

        assert eventually(lambda: not bench.processes()), bench.processes()
        assert bench.mounts() == []
        state = bench.state()
        assert named in state.problem
        assert code == (-signal.SIGKILL if deed == "KILL" else 1)
        if deed == "KILL":
            assert bench.folders(), "nobody could delete it yet"
            again = bench.start("debootstrap fails")
            again.wait(60)
            again.communicate()
        else:
            assert state.state == ends
            assert bool(state.hint) == bool(state.problem)
        assert bench.folders() == []
        assert bench.mounts() == []


def prepare(bench: Bench, fault: str, deed: str, small_disk: Path) -> None:
    """Set up what this fault needs around the builder."""
    change: dict[str, Any] = {
        "debootstrap hangs and says nothing": {"AISWE_TEST_SILENT": "1"},
        "Node of another hash": {"AISWE_TEST_NODE_HASH": "another"},
        "Node registry away": {"AISWE_NPM_REGISTRY": "http://127.0.0.1:9/"},
        "Node not in the registry": {"AISWE_NPM_REGISTRY": bench.environment["AISWE_NPM_REGISTRY"] + "nothing/"},
        "broken tar": {"AISWE_SANDBOX_IMAGE_FILE": str(bench.folder / "broken.tar")},
        "no tar": {"AISWE_SANDBOX_IMAGE_FILE": str(bench.folder / "nowhere.tar")},
        "tar of another image": {"AISWE_SANDBOX_IMAGE_FILE": str(bench.folder / "broken.tar")},
        "image that cannot be pulled": {"AISWE_SANDBOX_IMAGE": "example.test/box:1"},
    }
    bench.environment |= change.get(fault, {})
    (bench.folder / "broken.tar").write_bytes(b"no tar")
    if fault == "debootstrap hangs and says nothing":
        program = bench.folder / "bin" / "debootstrap"
        program.write_text(program.read_text().replace('"debootstrap hangs")', '"debootstrap hangs and says nothing")'))
    if fault == "debootstrap is not installed":
        (bench.folder / "bin" / "debootstrap").unlink()
        for program in ("setpriv", "unshare", "tar", "umount"):
            (bench.folder / "bin" / program).symlink_to(str(shutil.which(program)))
        bench.environment["PATH"] = str(bench.folder / "bin")
    if deed == "small disk":
        bench.temporary = small_disk
        bench.environment["TMPDIR"] = str(small_disk)
