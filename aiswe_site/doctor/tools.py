"""The machine and the programs that tasks need."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from django.conf import settings

from aiswe_site.doctor.result import CheckVerdict

ENOUGH_GB = 2.0
OLDEST_GIT = (2, 34)
ANSWER_S = 20.0
NODE_WANTED = 20


def python() -> CheckVerdict:
    """A Python that the product runs on."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return CheckVerdict(
        sys.version_info >= (3, 11),
        f"Python {version} ({sys.executable})",
        "Install Python 3.11 or newer: make install",
    )


def disk() -> CheckVerdict:
    """Room for repositories, worktrees and the audit trail."""
    free = shutil.disk_usage(settings.AISWE_HOME).free / 1e9
    return CheckVerdict(
        free >= ENOUGH_GB,
        f"{free:.1f} GB free for {settings.AISWE_HOME}; {ENOUGH_GB:.0f} GB are required",
        "Free some space, or set AISWE_HOME to a folder on a larger disk.",
    )


def git() -> CheckVerdict:
    """A git that knows worktrees and environment configuration."""
    try:
        said = _output("git", "--version")
    except FileNotFoundError:
        return CheckVerdict(False, "git was not found", "sudo apt-get install -y git")
    found = re.search(r"(\d+)\.(\d+)", said)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    wanted = ".".join(map(str, OLDEST_GIT))
    return CheckVerdict(version >= OLDEST_GIT, said, f"Install git {wanted} or newer.")


def sandbox() -> CheckVerdict:
    """A place to run untrusted code in; without one nothing is run, never without a sandbox."""
    from sandbox.base import SandboxError, SandboxPreparing, SandboxUnsafe
    from sandbox.registry import open_backend

    try:
        backend = open_backend(settings.SANDBOX_BACKEND)
        found = backend.availability()
    except SandboxPreparing as soon:
        return CheckVerdict(None, f"Tasks wait: {soon}", "Nothing: they go on when it is ready.")
    except SandboxUnsafe as error:
        return CheckVerdict(
            False, str(error), "aiswe sandbox selftest  shows each check; see docs/explanation/sandbox.md"
        )
    except SandboxError as error:
        return CheckVerdict(False, str(error), "sudo apt-get install -y bubblewrap  (or install and start Docker)")
    if not found.ok:
        return CheckVerdict(False, found.problem, found.hint)
    return CheckVerdict(True, f"{backend.name} {found.version}: isolation verified from inside")


def docker() -> CheckVerdict:
    """The engine, its image, and a real container of it that is looked at from inside; bubblewrap can stand in."""
    from sandbox.base import SandboxError
    from sandbox.build_state import read_build
    from sandbox.docker import DockerBackend
    from sandbox.selftest import refuse_unsafe

    if settings.SANDBOX_BACKEND == "bubblewrap":
        return CheckVerdict(None, "Not used: AISWE_SANDBOX is bubblewrap")
    backend = DockerBackend()
    found = backend.availability()
    if found.preparing and (build := read_build()) is not None:
        last = f"; {build.line}" if build.line else ""
        return CheckVerdict(None, f"The image is being made: {found.preparing}, {build.seconds:.0f} s so far{last}")
    if not found.ok:
        wanted = settings.SANDBOX_BACKEND == "docker" or found.version or os.environ.get("DOCKER_HOST")
        return CheckVerdict(False if wanted else None, found.problem, found.hint)
    try:
        refuse_unsafe(backend)
    except SandboxError as error:
        hint = "aiswe sandbox selftest --backend docker  shows each check; aiswe sandbox build  makes the image again"
        return CheckVerdict(False, f"Docker {found.version}: {error}", hint)
    return CheckVerdict(True, f"Docker {found.version}: a container was started and checked from inside")


def test_servers() -> CheckVerdict:
    """Servers that tests of a project may need, where its sandbox finds them; most projects need none."""
    from sandbox.base import SandboxError
    from sandbox.docker import connect
    from sandbox.docker_services import images_there
    from sandbox.inside.services import START, program
    from sandbox.registry import open_backend
    from sandbox.services import FACTS, KINDS

    try:
        if open_backend(settings.SANDBOX_BACKEND).name == "docker":
            with closing(connect(10)) as client:
                found = images_there(client)
        else:
            found = {kind: place for kind in KINDS if (place := program(*START[kind][0]))}
    except SandboxError as error:
        return CheckVerdict(None, f"Not checked: {error}", "First mend the sandbox.")
    told = [f"{FACTS[kind].name} ({found[kind]})" if kind in found else f"no {FACTS[kind].name}" for kind in KINDS]
    return CheckVerdict(True, f"{', '.join(told)}; for projects whose compose file or settings name one")


def sandbox_python() -> CheckVerdict:
    """What code in the sandbox may import."""
    from sandbox.python_env import find_python

    found = find_python()
    if isinstance(found, str):
        return CheckVerdict(False, found, "make install")
    return CheckVerdict(True, str(found.python))


def sandbox_node() -> CheckVerdict:
    """What runs the tests of projects for Node."""
    from sandbox.node_env import is_current, modules_folder

    program = shutil.which("node")
    if program is None or shutil.which("npm") is None:
        return CheckVerdict(False, "Node or npm was not found", "install Node 20 or newer with npm, then: make install")
    version = _output(program, "--version").strip()
    if int(version.removeprefix("v").partition(".")[0] or 0) < NODE_WANTED:
        return CheckVerdict(False, f"Node {version} is too old", f"install Node {NODE_WANTED} or newer")
    folder = modules_folder()
    if not folder.is_dir():
        return CheckVerdict(False, f"Node {version}; no tools at {folder}", "make install")
    if not is_current(folder):
        return CheckVerdict(False, f"Node {version}; the tools at {folder} are not those of the lock", "make install")
    return CheckVerdict(True, f"Node {version} ({folder})")


def bandit() -> CheckVerdict:
    """Scanner of Python code; runs in this process."""
    try:
        return CheckVerdict(True, f"bandit {importlib.metadata.version('bandit')}")
    except importlib.metadata.PackageNotFoundError:
        return CheckVerdict(False, "bandit is not installed", "make install")


def semgrep() -> CheckVerdict:
    """Scanner with rules of our own; lives in an environment of its own."""
    from agents.gates.semgrep_tool import find_semgrep

    program = find_semgrep()
    if program is None:
        return CheckVerdict(False, "semgrep was not found", "make install  (or set AISWE_SEMGREP=/path/to/semgrep)")
    said = _semgrep_version(program)
    return CheckVerdict(
        bool(said), f"semgrep {said} ({program})" if said else f"{program} does not run", "make install"
    )


def advisories() -> CheckVerdict:
    """Who says whether a package is known to be vulnerable. Nothing is asked: a gate says when an index is silent."""
    from agents.gates.advisories import AdvisoryError
    from agents.gates.advisory_sources import osv_files
    from sandbox.package_index.index import NONE, IndexClient, npm_registry, python_index

    try:
        covered = {ecosystem for ecosystem, _ in osv_files()}
    except AdvisoryError as error:
        return CheckVerdict(False, str(error), "Name a file or folder of OSV records in AISWE_ADVISORIES.")
    sources = {
        name: "OSV files" if name in covered else NONE if index == NONE else IndexClient(index).address
        for name, index in (("PyPI", python_index()), ("npm", npm_registry()))
    }
    silent = [name for name, source in sources.items() if source == NONE]
    left = "a person decides" if os.environ.get("AISWE_UNCHECKED_DEPENDENCIES") == "ask" else "blocks"
    said = ", ".join(f"{name}: {source}" for name, source in sources.items())
    hint = f"Name OSV records for {' and '.join(silent)} in AISWE_ADVISORIES."
    return CheckVerdict(not silent, f"{said}; a package without an answer {left}", hint)


def _semgrep_version(program: Path) -> str:
    """From the package's own data when it can be: the program takes seconds to say it."""
    for folder in program.resolve().parent.parent.glob("lib/python3.*/site-packages/semgrep-*.dist-info"):
        return folder.name.removeprefix("semgrep-").removesuffix(".dist-info")
    try:
        return _output(str(program), "--version", "--disable-version-check")
    except OSError:
        return ""


def _output(*argv: str) -> str:
    result = subprocess.run(
        argv, capture_output=True, text=True, timeout=ANSWER_S, check=False, stdin=subprocess.DEVNULL, cwd=os.sep
    )
    return result.stdout.strip() if result.returncode == 0 else ""


def web_search() -> CheckVerdict:
    """Where searches of a chat go. Nothing is sent: a wrong key is told by the first search."""
    from agents.conversation.web_search import NoSearch
    from projects.engine.web_search import web_search as configured

    search = configured()
    if not settings.SEARCH:
        return CheckVerdict(True, "Off; AISWE_SEARCH turns it on")
    if isinstance(search, NoSearch):
        return CheckVerdict(False, search.about, "docs/how-to/web-search.md names the settings")
    return CheckVerdict(True, f"{search.about}; not tried")
