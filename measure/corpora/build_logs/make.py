"""Make the repositories and keep what the real tools say of them.

Call it as `python -m measure.corpora.build_logs.make FOLDER [CASE]`. Each repository is made below FOLDER; its log goes
to `logs/`, with the tool's version in the first line. What a CI system puts around a log (times, groups, sections) is
added here in that system's documented form.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

from measure.corpora.build_logs.cases import CASES, Case

LOGS = Path(__file__).parent / "logs"
VERSIONS = {
    "pip": "pip --version",
    "uv": "uv --version",
    "npm": "npm --version",
    "tsc": "npx tsc --version",
    "python": "python --version",
    "docker": "docker --version",
    "pytest": "python -m pytest --version",
    "node-test": "node --version",
    "vitest": "npx vitest --version",
    "node": "node --version",
    "ruff": "ruff --version",
    "mypy": "mypy --version",
    "eslint": "npx eslint --version",
}


def repository(case: Case, folder: Path) -> None:
    """Write the case's files into a new folder and make a git repository of it."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in case.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    ignored = "node_modules/\n__pycache__/\n"
    (folder / ".gitignore").write_text(ignored)
    for command in case.before:
        _run(command, folder, case, check=True)
    git = "git -c user.name=Author -c user.email=author@example.org"
    _run(f"git init -q -b main && git add -A && {git} commit -q -m First", folder, case, check=True)


def log_of(case: Case, folder: Path) -> str:
    """What the command prints in that folder, in the form of the case's CI system."""
    done = _run(case.command, folder, case)
    if done.returncode == 0:
        raise SystemExit(f"{case.command} does not fail in {folder}")
    text = done.stdout.replace(str(folder), "/builds/shop").replace(str(Path(sys.prefix)), "/opt/venv")
    text = text.replace(str(Path.home()), "/home/ci")
    wrap = {"github": _github, "gitlab": _gitlab}.get(case.wrapped)
    return wrap(case, text, done.returncode) if wrap else text


def _github(case: Case, text: str, code: int) -> str:
    lines = [f"##[group]Run {case.command}", f"\x1b[36;1m{case.command}\x1b[0m", "shell: /usr/bin/bash -e {0}"]
    lines += ["##[endgroup]", *text.splitlines(), f"##[error]Process completed with exit code {code}."]
    lines += [
        "Post job cleanup.",
        "[command]/usr/bin/git version",
        "git version 2.51.0",
        "Cleaning up orphan processes",
    ]
    return "".join(f"2026-03-02T10:15:{at // 10 % 60:02}.{at % 10}412345Z {line}\n" for at, line in zip(count(), lines))


def _gitlab(case: Case, text: str, code: int) -> str:
    head = "\x1b[0KRunning with gitlab-runner 18.2.0 (4d7093e1)\x1b[0;m\nsection_start:1772446500:step_script\r\x1b[0K"
    head += '\x1b[0K\x1b[36;1mExecuting "step_script" stage of the job script\x1b[0;m\x1b[0;m\n'
    head += f"\x1b[32;1m$ {case.command}\x1b[0;m\n"
    tail = "section_end:1772446512:step_script\r\x1b[0Ksection_start:1772446512:cleanup_file_variables\r\x1b[0K"
    tail += "\x1b[0K\x1b[36;1mCleaning up project directory and file based variables\x1b[0;m\x1b[0;m\n"
    tail += "section_end:1772446513:cleanup_file_variables\r\x1b[0K"
    return f"{head}{text}{tail}\x1b[31;1mERROR: Job failed: exit code {code}\n\x1b[0;m"


def _run(command: str, folder: Path, case: Case, *, check: bool = False) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}", **case.environment}
    environment |= {
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "true",
        "DOCKER_BUILDKIT": "0",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if check and done.returncode:
        raise SystemExit(f"{command} failed in {folder}: {done.stdout[-600:]}")
    return done


def main() -> None:
    """Make all of them, or those that are named."""
    place, *named = sys.argv[1:]
    for name in named or CASES:
        case, folder = CASES[name], Path(place).resolve() / name
        repository(case, folder)
        version = _run(VERSIONS[case.tool], folder, case).stdout.split("\n")[0]
        version = version.replace(str(Path(sys.prefix)), "/opt/venv")
        (LOGS / f"{name}.log").write_text(f"{case.tool} {version}\n" + log_of(case, folder))
        print(name, version)  # noqa: T201


if __name__ == "__main__":
    main()
