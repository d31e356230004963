"""Sandboxes for the tests of the nodes."""

import pytest


@pytest.fixture
def mostly_quiet(request: pytest.FixtureRequest) -> None:
    """A sandbox that runs nothing, except for tests marked bubblewrap: their verdict is that of a real run."""
    if not request.node.get_closest_marker("bubblewrap"):
        request.getfixturevalue("quiet_sandbox")
