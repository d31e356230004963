"""A repository with a planted bug, its fix one commit later, and the issue in SWE-bench's format."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

BUGGY = "def total(prices):\n    return prices[0] + sum(prices[1:])\n"
FIXED = "def total(prices):\n    return sum(prices)\n"
KNOWN = "from cart import total\n\n\ndef test_sum():\n    assert total([2, 3]) == 5\n"
HIDDEN = f"{KNOWN}\n\ndef test_empty():\n    assert total([]) == 0\n"


def git(folder: Path, *argv: str) -> str:
    """One git command."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *identity, *argv], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(folder: Path, tests: str = KNOWN) -> tuple[str, str, str]:
    """The repository `folder`/acme__shop; its buggy commit, the patch that mends it, and that of its tests."""
    root = folder / "acme__shop"
    (root / "tests").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    code, test = root / "cart.py", root / "tests" / "test_cart.py"
    code.write_text(BUGGY)
    test.write_text(tests)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "buggy")
    base = git(root, "rev-parse", "HEAD").strip()
    code.write_text(FIXED)
    patch = git(root, "diff")
    git(root, "commit", "-q", "-a", "-m", "fix")
    test.write_text(HIDDEN)
    return base, patch, git(root, "diff")


def row(folder: Path, **changes: Any) -> dict[str, Any]:
    """An instance as the published dataset has it: lists of tests are texts."""
    base, patch, test_patch = repository(folder)
    return {
        "instance_id": "acme__shop-1",
        "repo": "acme/shop",
        "base_commit": base,
        "problem_statement": "The total of an empty cart is an error. It should be 0.",
        "hints_text": "use sum",
        "patch": patch,
        "test_patch": test_patch,
        "FAIL_TO_PASS": json.dumps(["tests/test_cart.py::test_empty"]),
        "PASS_TO_PASS": json.dumps(["tests/test_cart.py::test_sum"]),
        "version": "1.0",
        "environment_setup_commit": base,
    } | changes


def instances(folder: Path, *rows: dict[str, Any]) -> Path:
    """The rows as lines of JSON."""
    path = folder / "instances.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path
