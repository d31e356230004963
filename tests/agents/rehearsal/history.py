"""A small repository with a history, as people make them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

COINS = '"""Coins."""\n\n\ndef total(coins):\n    return sum(coins)\n\n\ndef largest(coins):\n    return max(coins)\n'
TILL = '"""A till."""\n\nfrom coins import total\n\n\ndef balance(till):\n    return total(till)\n'
TEST = "from coins import total\n\n\ndef test_the_total_of_some_coins():\n    assert total([1, 2]) == 3\n"
ABSOLUTE = COINS.replace("sum(coins)", "sum(abs(coin) for coin in coins)")
MORE = f"{TEST}\n\ndef test_a_coin_that_is_owed_counts_too():\n    assert total([-1, 2]) == 3\n"


def commit(folder: Path, message: str, files: Mapping[str, str | bytes | None]) -> str:
    """Commit files, or their removal, and return the hash; the first one makes the repository."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _git(folder, "init", "-q", "-b", "main")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    _git(folder, "add", "-A")
    who = ("-c", "user.name=U", "-c", "user.email=u@example.org")
    _git(folder, *who, "commit", "-q", "--allow-empty", "-m", message)
    return _git(folder, "rev-parse", "HEAD").strip()


def first_commit(folder: Path) -> str:
    """The tree that a change is made on."""
    return commit(folder, "Coins and a till", {"coins.py": COINS, "till.py": TILL, "test_coins.py": TEST})


def _git(folder: Path, *argv: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *argv], capture_output=True, text=True, check=True).stdout
