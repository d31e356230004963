"""Run the failing suites in a sandbox and record what was reported: `python -m` with this module's name."""

import json
import sys
from pathlib import Path

from sandbox.base import Sandbox
from sandbox.node_run import run_node_tests
from sandbox.registry import load_backend
from sandbox.test_setup import TestSetup
from tests.agents.languages.node.failing_suites import SUITES, FailingSuite

PLACE = Path(__file__).with_name("data") / "failing_suites.json"


def variations(suite: FailingSuite) -> dict[str, dict[str, str]]:
    """The files of the suite, with the same cause two lines further down, and with another cause."""
    text = suite.files[suite.edited]
    moved = {**suite.files, suite.edited: "// A remark\n// of two lines.\n" + text}
    return {
        "first": suite.files,
        "moved": moved,
        "other": {**suite.files, suite.edited: text.replace(suite.old, suite.new)},
    }


def reported(box: Sandbox, files: dict[str, str]) -> list[dict[str, str]]:
    """The failures that the product's own run reports."""
    box.exec(["sh", "-c", "rm -rf /workspace/* /workspace/.[!.]*"])
    box.put({path: text.encode() for path, text in files.items()})
    report = run_node_tests(box, setup=TestSetup(test_seconds=2))
    found = [{"nodeid": one.nodeid, "message": one.message, "traceback": one.traceback} for one in report.failures]
    return found or [{"nodeid": "", "message": report.problem or report.void, "traceback": report.output}]


def main() -> None:
    """Record those that are named, else all."""
    known = json.loads(PLACE.read_text()) if PLACE.exists() else {}
    with load_backend("bubblewrap").open(label="failing suites") as box:
        for name in sys.argv[1:] or SUITES:
            known[name] = {kind: reported(box, files) for kind, files in variations(SUITES[name]).items()}
            print(name, [len(found) for found in known[name].values()], flush=True)  # noqa: T201
    PLACE.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
