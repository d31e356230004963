"""What tests need of the machine. Where it is missing a test skips with the reason; in CI, where nobody reads, it
fails.
"""

from __future__ import annotations

import functools
import os
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """End the test for want of something; `reason` names it and the way to get it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason} (in CI nothing may be missing; .ci/run installs it)", pytrace=False)
    pytest.skip(reason)


@functools.cache
def bubblewrap_problem() -> str:
    """Why bubblewrap cannot make a sandbox here and what helps; empty when it can."""
    from sandbox.registry import load_backend

    state = load_backend("bubblewrap").availability()
    return "" if state.ok else f"{state.problem}; {state.hint}"
