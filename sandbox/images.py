"""The images of Docker sandboxes, one per ecosystem: their names, and how to build them with or without a registry.

`python -m sandbox.images [python] [node]` builds what is not there (Python's by default). The tag is a hash of all the
image is made from, so building twice is free and an outdated image is never used.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import docker
import docker.errors

from sandbox.base import Ecosystem, SandboxUnavailable
from sandbox.node_env import PACKAGE_JSON, PACKAGE_LOCK, install, run_tool
from sandbox.package_index.pip import platform_tags

HERE = Path(__file__).resolve().parent
DOCKERFILE = HERE / "image" / "Dockerfile"
VARIABLES: dict[Ecosystem, str] = {"python": "AISWE_SANDBOX_IMAGE", "node": "AISWE_SANDBOX_IMAGE_NODE"}
LOCKS = HERE.parent / "requirements"
LOCK, READERS_LOCK = LOCKS / "sandbox.lock.txt", LOCKS / "readers.lock.txt"
SUITE = "bookworm"
RECIPE = 1  # raise it when what is built here changes
VENV = "opt/venv"
SCRIPT = "#!/opt/venv/bin/python\nimport runpy\nrunpy.run_module({module!r}, run_name='__main__', alter_sys=True)\n"
SCRIPTS = ("pytest", "coverage", "uvicorn")
MODULES_AT, NODE_WANTED, NODE_SECONDS = "/node_modules", 20, 60
Say = Callable[[str], None]


def image_name(ecosystem: Ecosystem = "python") -> str:
    """`AISWE_SANDBOX_IMAGE` (for Node `AISWE_SANDBOX_IMAGE_NODE`) if set, else ours for this recipe and processor."""
    chosen = os.environ.get(VARIABLES[ecosystem])
    if chosen:
        return chosen
    recipe = hashlib.sha256(f"{RECIPE} {platform.machine()}".encode())
    parts = (DOCKERFILE, LOCK, READERS_LOCK)
    for part in parts if ecosystem == "python" else (*parts, PACKAGE_JSON, PACKAGE_LOCK):
        if not part.is_file():
            raise SandboxUnavailable(
                f"{part} is missing: the sandbox image is made from it; set {VARIABLES[ecosystem]} instead"
            )
        recipe.update(part.read_bytes())
    name = "aiswe-sandbox" if ecosystem == "python" else f"aiswe-sandbox-{ecosystem}"
    return f"{name}:{recipe.hexdigest()[:16]}"


def image_present(client: docker.DockerClient, name: str | None = None) -> bool:
    """Whether the engine has the image."""
    try:
        client.images.get(name or image_name())
    except docker.errors.ImageNotFound:
        return False
    return True


def build_image(client: docker.DockerClient, say: Say = lambda _: None) -> str:
    """Make the image unless it is there, and return its name; raises SandboxUnavailable with what went wrong."""
    name = image_name()
    if image_present(client, name):
        say(f"{name} is there already")
        return name
    say("building from the Dockerfile")
    try:
        with tempfile.TemporaryDirectory(prefix="aiswe-image-") as context:
            shutil.copy(DOCKERFILE, context)
            (Path(context) / "requirements").mkdir()
            for lock in (LOCK, READERS_LOCK):
                shutil.copy(lock, Path(context) / "requirements")
            client.images.build(path=context, tag=name, rm=True, forcerm=True, timeout=900)
        return name
    except (docker.errors.BuildError, docker.errors.APIError) as error:
        say(f"no image from the Dockerfile ({str(error)[:160]}); building from Debian packages")
    _build_from_packages(client, name, say)
    return name


def build_node_image(client: docker.DockerClient, say: Say = lambda _: None, modules: Path | None = None) -> str:
    """Make the image for Node unless it is there, and return its name; raises SandboxUnavailable with what went wrong.

    `modules` are the packages to put in; the locked ones are fetched by default.
    """
    name = image_name("node")
    if image_present(client, name):
        say(f"{name} is there already")
        return name
    base = build_image(client, say)
    with tempfile.TemporaryDirectory(prefix="aiswe-image-") as scratch:
        if modules is None:
            say("fetching packages for Node")
            modules = install(Path(scratch) / "node_modules")
        _add_node(client, base, name, modules, say)
    return name


def _add_node(client: docker.DockerClient, base: str, name: str, modules: Path, say: Say) -> None:
    """Commit `name`: `base` with `modules`, and this machine's Node where that of the base is too old and ours runs
    there.

    Raises SandboxUnavailable when the engine refuses.
    """
    own = _own_node() if _version_in(client, base) < NODE_WANTED else None
    try:
        _commit(client, base, name, modules, own)
        found = _version_in(client, name)
        if own is not None and found < NODE_WANTED:
            say("this machine's Node does not run in the image; its own is kept")
            _commit(client, base, name, modules, None)
            found = _version_in(client, name)
    except docker.errors.DockerException as error:
        raise SandboxUnavailable(f"the Node image could not be made: {str(error)[:300]}") from None
    say(
        f"Node {found} inside"
        + ("" if found >= NODE_WANTED else f"; {NODE_WANTED} is required, and no newer version is available")
    )


def _own_node() -> Path | None:
    """This machine's Node, when it is recent enough and one file."""
    found = shutil.which("node")
    if found is None:
        return None
    try:
        answer = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(found).resolve() if _major(answer) >= NODE_WANTED else None


def _major(answer: str) -> int:
    found = re.match(r"v(\d+)\.", answer.strip())
    return int(found[1]) if found else 0


def _version_in(client: docker.DockerClient, image: str) -> int:
    """The major version of the image's Node; 0 when it has none that runs."""
    container = client.api.create_container(
        image,
        command=["--version"],
        entrypoint=["node"],
        network_disabled=True,
        host_config=client.api.create_host_config(network_mode="none", cap_drop=["ALL"], read_only=True),
    )["Id"]
    try:
        client.api.start(container)
        client.api.wait(container, timeout=NODE_SECONDS)
        return _major(client.api.logs(container).decode(errors="replace"))
    except docker.errors.APIError:
        return 0
    finally:
        client.api.remove_container(container, force=True)


def _commit(client: docker.DockerClient, base: str, name: str, modules: Path, node: Path | None) -> None:
    container = client.api.create_container(base, command=["true"], network_disabled=True)["Id"]
    try:
        put_files(
            client, container, "/", {MODULES_AT.lstrip("/"): modules} | ({"usr/local/bin/node": node} if node else {})
        )
        repository, _, tag = name.partition(":")
        client.api.commit(container, repository=repository, tag=tag)
    finally:
        client.api.remove_container(container, force=True)


def put_files(client: docker.DockerClient, container: str, folder: str, files: Mapping[str, Path]) -> None:
    """Copy files and folders into a container below `folder`, by their place there; all belong to root."""
    with tempfile.TemporaryFile() as archive:
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for place, path in files.items():
                tar.add(path, arcname=place, filter=_as_root)
        archive.seek(0)
        client.api.put_archive(container, folder, archive)


def _as_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode = (entry.mode | (0o555 if entry.isdir() else 0o444)) & 0o755
    return entry


def _run(argv: Sequence[str], seconds: float) -> None:
    run_tool(argv, seconds, f"building the sandbox image: {argv[0]} failed")


def _build_from_packages(client: docker.DockerClient, name: str, say: Say) -> None:
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise SandboxUnavailable(
            "without a registry the image is built by debootstrap: install it and run this as root"
        )
    with tempfile.TemporaryDirectory(prefix="aiswe-image-") as scratch:
        root = Path(scratch) / "root"
        include = "--include=python3,nodejs,git,ca-certificates,procps"
        # Without one, debootstrap takes the mirror it was packaged with.
        mirror = [os.environ["AISWE_DEBIAN_MIRROR"]] if os.environ.get("AISWE_DEBIAN_MIRROR") else []
        say("debootstrap (about a minute)")
        _run(["debootstrap", "--variant=minbase", include, SUITE, str(root), *mirror], 900)
        for mounted in ("proc", "sys"):  # debootstrap may leave them; they are not ours to delete
            subprocess.run(["umount", str(root / mounted)], capture_output=True, timeout=30, check=False)
        say("installing the sandbox's Python packages")
        _install_packages(root)
        for waste in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"):
            shutil.rmtree(root / waste, ignore_errors=True)
        for folder in ("workspace", "packages"):
            (root / folder).mkdir(exist_ok=True)
        with (root / "etc/passwd").open("a") as passwd, (root / "etc/group").open("a") as group:
            passwd.write("user:x:1000:1000::/tmp:/bin/sh\n")
            group.write("user:x:1000:\n")
        for file in root.rglob("*"):
            if file.is_file() and not file.is_symlink() and file.stat().st_mode & 0o6000:
                file.chmod(file.stat().st_mode & 0o1777)
        archive = Path(scratch) / "root.tar"
        left_out = ["--one-file-system", "--exclude=./proc/*", "--exclude=./dev/*"]
        _run(["tar", *left_out, "-C", str(root), "-cf", str(archive), "."], 300)
        say("importing")
        repository, _, tag = name.partition(":")
        path = "ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8"
        changes = ["USER 1000:1000", "WORKDIR /workspace", path]
        client.api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=changes)


def _install_packages(root: Path) -> None:
    """Unpack the locked wheels into a virtual environment of the new root; none of their code runs here."""
    venv = root / VENV
    site = venv / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (venv / "bin").mkdir()
    for python in ("python", "python3", "python3.11"):
        (venv / "bin" / python).symlink_to("/usr/bin/python3.11")
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11\n")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    platform_options = ["--python-version", "3.11", "--implementation", "cp", *platform_tags()]
    only = ["--only-binary", ":all:", "--require-hashes", "--no-deps", "--no-compile"]
    for lock, target in ((LOCK, site), (READERS_LOCK, venv / "readers")):
        _run([*pip, "--target", str(target), *platform_options, *only, "-r", str(lock)], 600)
    shutil.rmtree(site / "bin", ignore_errors=True)
    for script in SCRIPTS:
        file = venv / "bin" / script
        file.write_text(SCRIPT.format(module=script))
        file.chmod(0o755)
    _run(
        [
            "chroot",
            str(root),
            "/opt/venv/bin/python",
            "-m",
            "compileall",
            "-q",
            "-j",
            "2",
            f"/{VENV}/lib",
            f"/{VENV}/readers",
        ],
        300,
    )


def main(ecosystems: Sequence[str] = ()) -> int:
    """Build the images of these ecosystems for the engine of `DOCKER_HOST`."""
    say: Say = lambda text: print(text, file=sys.stderr)  # noqa: E731, T201
    try:
        client = docker.from_env(timeout=900)
        client.ping()
    except docker.errors.DockerException as error:
        say(f"no Docker engine answers: {error}")
        return 3
    try:
        for ecosystem in ecosystems or ("python",):
            build = {"python": build_image, "node": build_node_image}.get(ecosystem)
            if build is None:
                say(f"unknown ecosystem {ecosystem!r}; known: {', '.join(VARIABLES)}")
                return 2
            print(build(client, say))  # noqa: T201
    except SandboxUnavailable as error:
        say(str(error))
        return 1
    finally:
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
