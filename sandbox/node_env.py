"""What Node programs find in a sandbox: locked packages, fetched outside without running any of their code.

`python -m sandbox.node_env` fills the folder for bubblewrap; the Docker image is made by `aiswe sandbox build --node`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sandbox.base import SandboxUnavailable

VARIABLE = "AISWE_SANDBOX_NODE"
REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE_JSON = Path(__file__).resolve().parent / "image" / "package.json"
PACKAGE_LOCK = PACKAGE_JSON.with_name("package-lock.json")
SECONDS = 600
STAMP = ".lock-node"  # beside the folder: the hash of the lock it was filled from
# The network's settings and npm's own cache; nothing else of this process's environment.
KEPT = ("PATH", "HOME", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")


def modules_folder() -> Path:
    """`AISWE_SANDBOX_NODE`, else `.venv-sandbox-node` next to this package; it may not exist."""
    chosen = os.environ.get(VARIABLE)
    folder = Path(chosen).expanduser().absolute() if chosen else REPOSITORY / ".venv-sandbox-node"
    return folder if folder.name == "node_modules" else folder / "node_modules"


def find_node_modules() -> Path | None:
    """The folder shown as /node_modules, if it is there.

    Node looks for packages upwards from the file that asks, so every program below /workspace finds them.
    """
    folder = modules_folder()
    return folder if folder.is_dir() else None


def is_current(folder: Path) -> bool:
    """Whether the folder holds what the lock says now."""
    try:
        return folder.is_dir() and folder.with_name(STAMP).read_text(encoding="utf-8") == _stamp()
    except OSError:
        return False


def _stamp() -> str:
    return hashlib.sha256(PACKAGE_LOCK.read_bytes()).hexdigest()


def run_tool(words: Sequence[str], seconds: float, failing: str, **options: Any) -> None:
    """Run a program to its end, or that of this process; raises SandboxUnavailable with `failing` and how it ended."""
    ends_with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    try:
        done = subprocess.run(
            [*ends_with_us, *words], capture_output=True, text=True, timeout=seconds, check=False, **options
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailable(f"{failing}: {error}") from None
    if done.returncode:
        raise SandboxUnavailable(f"{failing}: {(done.stderr or done.stdout).strip()[-400:]}")


def install(target: Path) -> Path:
    """Put the locked packages into `target`, all or none; raises SandboxUnavailable with what went wrong."""
    if shutil.which("npm") is None:
        raise SandboxUnavailable("npm was not found; install Node 20 with npm to fetch what Node programs may import")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="node-", dir=target.parent) as scratch:
        for part in (PACKAGE_JSON, PACKAGE_LOCK):
            shutil.copy(part, scratch)
        names = (*KEPT, *(name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "no_proxy")))
        environment = {name: os.environ[name] for name in names if name in os.environ}
        environment |= {name: value for name, value in os.environ.items() if name.lower().startswith("npm_config_")}
        words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        run_tool(words, SECONDS, "npm could not fetch the packages for Node", cwd=scratch, env=environment)
        shutil.rmtree(target, ignore_errors=True)
        (Path(scratch) / "node_modules").rename(target)
    target.with_name(STAMP).write_text(_stamp(), encoding="utf-8")
    return target


def main() -> int:
    """Fill the folder that bubblewrap sandboxes show, unless it holds the locked packages already."""
    if is_current(modules_folder()):
        return 0
    try:
        print(install(modules_folder()))  # noqa: T201
    except SandboxUnavailable as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
