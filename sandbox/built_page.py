"""Build the page of a front end in a sandbox and open it once in a real browser, where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox.base import ExecResult, Sandbox
from sandbox.marked_answer import marked_answer

INSIDE = Path(__file__).parent / "inside" / "built_page.py"
SECONDS = 90.0


@dataclass(frozen=True)
class BuiltPage:
    """What came of it; `missing` says what the sandbox lacks for it, and `problem` why nothing is known.

    `errors` were caught by nothing while the page was loaded; `empty` is a page that shows no more than its own
    `index.html` does before any script is run.
    """

    built: bool = False
    output: str = ""  # the end of what the build printed
    opened: bool = False
    empty: bool = False
    errors: tuple[str, ...] = ()
    missing: str = ""
    problem: str = ""


def open_built_page(sandbox: Sandbox, folder: str = ".") -> BuiltPage:
    """Build the folder of /workspace that holds `index.html` with Vite, and load the result.

    Raises SandboxUnavailable when the sandbox broke.
    """
    source = INSIDE.read_text(encoding="utf-8")
    done, found = marked_answer(
        lambda request: sandbox.exec(["python", "-c", source], seconds=SECONDS, stdin=request), {"folder": folder}
    )
    if not isinstance(found, dict):
        return BuiltPage(problem=_why(done))
    errors = found.get("errors")
    return BuiltPage(
        built=bool(found.get("built")),
        output=str(found.get("output", "")),
        opened=bool(found.get("opened")),
        empty=bool(found.get("empty")),
        errors=tuple(map(str, errors)) if isinstance(errors, list) else (),
        missing=str(found.get("missing", "")),
    )


def _why(done: ExecResult) -> str:
    if done.timed_out:
        return f"the page was not built and opened within {done.seconds:.0f} s"
    return "out of memory" if done.out_of_memory else f"the build ended with exit code {done.exit_code}"
