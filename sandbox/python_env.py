"""The Python environment that code inside a bubblewrap sandbox runs in."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "AISWE_SANDBOX_PYTHON"
REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class PythonEnv:
    """A virtual environment on this machine and the folders that must be visible for it to work."""

    python: Path
    site_packages: Path
    roots: tuple[Path, ...]


def _home(venv: Path) -> Path | None:
    """The prefix of the Python that a virtual environment was made with."""
    try:
        lines = (venv / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == "home":
            return Path(value.strip()).resolve().parent
    return None


def find_python() -> PythonEnv | str:
    """The sandbox's environment (`AISWE_SANDBOX_PYTHON`, else `.venv-sandbox` beside this package), or the problem."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        given = Path(chosen).expanduser().absolute()
        venv = given.parent.parent if given.parent.name == "bin" else given
    else:
        venv = REPOSITORY / ".venv-sandbox"
    python, home = venv / "bin" / "python", _home(venv)
    if home is None or not python.exists():
        return f"no virtual environment for sandboxed code at {venv}"
    if venv.is_relative_to("/workspace"):
        return f"{venv} is below /workspace, where sandboxes keep their files: set {VARIABLE} to one elsewhere"
    packages = sorted((venv / "lib").glob("python3.*/site-packages"))
    if not any((folder / "pytest").is_dir() for folder in packages):
        return f"the virtual environment at {venv} has no pytest"
    roots = [venv]
    real = python.resolve().parent.parent
    for folder in (home, real):
        if not folder.is_relative_to("/usr") and folder not in roots:
            roots.append(folder)
    return PythonEnv(python, packages[-1], tuple(roots))


def find_node() -> Path | None:
    """The folder to show for `node` when it is not below /usr; None when it is, or when there is none."""
    found = shutil.which("node")
    if found is None:
        return None
    real = Path(found).resolve()
    return None if real.is_relative_to("/usr") else real.parent.parent
