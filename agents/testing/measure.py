"""Coverage of one module by the suite in /workspace, lines and branches apart."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.base import Sandbox

SECONDS = 120.0
# The project's own settings and its `# pragma: no cover` do not count.
_SETTINGS = b"[report]\nexclude_lines =\n    if (typing\\.)?TYPE_CHECKING:\n"


@dataclass(frozen=True)
class Covered:
    """Shares in percent; a module without branches has all of them covered. `missing` are line numbers."""

    lines: float
    branches: float
    missing: tuple[int, ...] = ()

    def meets(self, target: float) -> bool:
        """True when both shares are over the target, or whole (SWE-US-02 asks for more than 80 %)."""
        return all(share > target or share == 100.0 for share in (self.lines, self.branches))


NOTHING = Covered(0.0, 0.0)


def coverage_of(sandbox: Sandbox, module: str, tests: Sequence[str] = ()) -> Covered:
    """Run pytest on `tests` (all of them by default) and measure `module`, a path; NOTHING when it was never imported.

    Raises SandboxUnavailable.
    """
    scratch = f"/tmp/{secrets.token_hex(16)}"  # noqa: S108 - inside the sandbox
    settings, data = f"{scratch}/settings", f"--data-file={scratch}/data"
    sandbox.exec(["sh", "-c", f"mkdir -m 700 {scratch} && cat > {settings}"], stdin=_SETTINGS, seconds=30)
    coverage = ["python", "-m", "coverage"]
    sandbox.exec(
        [*coverage, "run", "--branch", f"--rcfile={settings}", data, f"--include=/workspace/{module}", "-m", "pytest", "-q", "-p",
         "no:cacheprovider", "-o", "addopts=", *tests],
        seconds=SECONDS,
    )  # fmt: skip
    told = sandbox.exec([*coverage, "json", f"--rcfile={settings}", data, "-q", "-o", "-"], seconds=60)
    sandbox.exec(["rm", "-rf", scratch], seconds=30)
    return _read(told.out, module) if told.ok and not told.truncated else NOTHING


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
        return NOTHING


def _share(part: int, of: int) -> float:
    return 100.0 * part / of if of else 100.0
