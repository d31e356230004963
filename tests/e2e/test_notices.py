"""What an open page says by itself: title, icon and badge follow the questions that wait."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_question_shows_in_title_icon_and_badge_without_a_reload(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/memory")
    badge = page.locator('a[data-key="i"] .count').first
    before = int(re.sub(r"\D", "", badge.inner_text()))
    asked = site.do("ask", subject="left-pad")
    expect(page).to_have_title(re.compile(rf"^\({before + 1}\) "), timeout=60_000)
    expect(badge).to_contain_text(str(before + 1))
    assert page.locator('link[rel="icon"]').get_attribute("href").endswith("favicon-waiting.svg")
    site.do("answer", approval=asked["approval"])
    expect(page).to_have_title(re.compile(rf"^\({before}\) "), timeout=60_000)
