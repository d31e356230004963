"""Which tests are fast: those that stay in this process. `make check` runs them (`-m fast`).

Nothing is listed by hand. A test of a folder that mirrors one of the source tree is fast unless a marker names what it
needs or says that it takes long. In a run of the fast tests, one that is about to start a program is skipped: starting
the product, a scanner or a sandbox takes seconds. Git and ruff take milliseconds.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import hypothesis
import pytest

MIRRORED = ("agents", "aiswe_site", "dashboard", "measure", "projects", "sandbox", "scripts")
NEEDS = ("docker", "bubblewrap", "browser", "redis", "postgresql")
# A time limit of its own is for a test that takes long. Hypothesis tries hundreds of examples, too.
LONG = ("slow", "timeout", "stage")
ALLOWED = ("git", "ruff")


def is_fast(item: pytest.Item) -> bool:
    """Whether the test mirrors a source folder, or checks the repository, needs nothing else and is short."""
    _, *folders, _ = item.location[0].split("/")
    if isinstance(item, pytest.Function) and hypothesis.is_hypothesis_test(item.obj):  # its marker comes later
        return False
    return (not folders or folders[0] in MIRRORED) and not any(map(item.get_closest_marker, NEEDS + LONG))


def skip_programs() -> None:
    """From now on skip every test that is about to start a program; an audit hook cannot be removed again."""
    sys.addaudithook(_on_event)


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    # What a thread starts may belong to a test that is over.
    if event != "subprocess.Popen" or threading.current_thread() is not threading.main_thread():
        return
    executable, words, *_ = arguments
    name = os.path.basename(os.fsdecode(executable or words[0]))
    if name not in ALLOWED and "PYTEST_CURRENT_TEST" in os.environ:
        pytest.skip(f"starts {name}; `make test` runs it")
