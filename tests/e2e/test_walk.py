"""Each page that the table of addresses knows is accessible and fits its window, also one that is added later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server import Site
from tests.e2e.walk import walk

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A new site for each test: a state is brought about once."""
    made = Site(tmp_path)
    try:
        yield made
    finally:
        made.kill()


def test_every_page_of_a_busy_site_is_accessible_and_fits_its_window(site: Site, chromium: Any) -> None:
    pages = site.do("state", state="busy")["pages"]
    wanted = {"projects", "run", "deployments", "incident", "baseline", "recovery-codes", "sign-in-code", "500"}
    assert wanted <= pages.keys()
    assert list(walk(chromium, site, pages, turns=2)) == []


@pytest.mark.parametrize(
    ("state", "names"),
    [("empty", ["run", "trace", "files", "plan"]), ("finished", ["run-result", "trace", "project", "plan"])],
)
def test_pages_are_accessible_before_the_first_event_and_after_the_last(
    site: Site, chromium: Any, state: str, names: list[str]
) -> None:
    pages = site.do("state", state=state)["pages"]
    assert list(walk(chromium, site, {name: pages[name] for name in names}, turns=2)) == []
