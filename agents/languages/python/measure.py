"""Coverage of one module by the suite in /workspace, lines and branches apart."""

from __future__ import annotations

import json
import secrets

from agents.languages.base import Covered
from sandbox.base import Sandbox

SECONDS = 120.0
_PYTEST = "-m pytest -q -p no:cacheprovider -o addopts=".split()
# The project's own settings and its `# pragma: no cover` do not count.
_SETTINGS = b"[report]\nexclude_lines =\n    if (typing\\.)?TYPE_CHECKING:\n"


def coverage_of(sandbox: Sandbox, path: str) -> Covered:
    """Run pytest and measure one module; nothing is covered when it was never imported.

    Raises SandboxUnavailable.
    """
    scratch = f"/tmp/{secrets.token_hex(16)}"  # noqa: S108 - inside the sandbox
    settings, data = f"{scratch}/settings", f"--data-file={scratch}/data"
    sandbox.exec(["sh", "-c", f"mkdir -m 700 {scratch} && cat > {settings}"], stdin=_SETTINGS, seconds=30)
    coverage = ["python", "-m", "coverage"]
    sandbox.exec(
        [*coverage, "run", "--branch", f"--rcfile={settings}", data, f"--include=/workspace/{path}", *_PYTEST],
        seconds=SECONDS,
    )
    told = sandbox.exec([*coverage, "json", f"--rcfile={settings}", data, "-q", "-o", "-"], seconds=60)
    sandbox.exec(["rm", "-rf", scratch], seconds=30)
    return _read(told.out, path) if told.ok and not told.truncated else Covered()


def _read(text: str, module: str) -> Covered:
    try:
        files = json.loads(text)["files"]
        (found,) = [file for path, file in files.items() if path == module or path.endswith(f"/{module}")]
        total = found["summary"]
        missing = {*found["missing_lines"], *(abs(pair[0]) for pair in found.get("missing_branches", ()))}
        return Covered(
            _share(total["covered_lines"], total["num_statements"]),
            _share(total["covered_branches"], total["num_branches"]),
            tuple(sorted(int(line) for line in missing)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Covered()


def _share(part: int, of: int) -> float:
    return 100.0 * part / of if of else 100.0
