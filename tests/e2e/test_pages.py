"""Every page in a real browser: accessible in both themes, and fit for a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import complaints_of
from tests.e2e.server import Site

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
PAGES = {
    "projects": "/",
    "new project": "/projects/new",
    "project": "/p/{project}/",
    "requirements": "/p/{project}/reqs",
    "requirement": "/requirements/{requirement}",
    "trace of work that goes on": "/p/{project}/trace",
    "trace before any code": "/p/{other}/trace",
    "plan": "/p/{other}/plan",
    "plan of a finished choice": "/p/{project}/plan",
    "plan with its variants": "/p/{other}/plan?variants=1",
    "plan task": "/plans/{plan}/tasks/T-01",
    "plan draft": "/plans/{plan}/draft",
    "plan task to add": "/plans/{plan}/draft/add",
    "plan task to split": "/plans/{plan}/draft/split/T-01",
    "runs": "/runs",
    "run": "/runs/{run}",
    "run over time": "/runs/{run}?view=time",
    "run as a list": "/runs/{run}?view=list&task=T-02",
    "run filtered": "/runs/{run}?preset=errors",
    "event": "/runs/{run}/e/6",
    "event of a command": "/runs/{run}/e/16",
    "task": "/tasks/{task}",
    "merged task": "/tasks/{done}",
    "tokens of a task": "/tasks/{task}/tokens",
    "tokens of a run": "/runs/{run}/tokens",
    "tokens of a call": "/runs/{run}/tokens/{call}",
    "event of a call": "/runs/{run}/e/{call}",
    "gate": "/tasks/{task}/gate",
    "comment on a line": "/tasks/{task}?comment=1.3",
    "approvals of a kind": "/approvals/together/package",
    "approvals": "/approvals",
    "approval": "/approvals/{approval}",
    "audit of all": "/audit",
    "audit": "/audit/{run}",
    "reports": "/reports",
    "weekly report": "/reports/weekly",
    "weekly report of a quiet week": "/reports/weekly?week=2020-W05",
    "system": "/system",
    "shortcuts": "/keys",
    "notifications": "/account/notifications",
    "search": "/find?q=todo",
    "search without a result": "/find?q=zzzz",
    "import": "/projects/import",
    "baseline": "/p/{project}/baseline",
    "files before any code": "/p/{other}/files",
    "backlog without tickets": "/p/{project}/backlog",
    "reports by week": "/reports?by=week",
    "account": "/account",
    "second factor": "/account/second-factor",
}
WITH_CODE = {
    "project": "/p/{project}/",
    "result": "/runs/{run}/result",
    "folder": "/p/{project}/files/main",
    "file": "/p/{project}/files/main/app/todos.py",
    "ask": "/p/{project}/ask?q=todos",
    "trace": "/p/{project}/trace?gap=1",
    "merged task": "/tasks/{done}",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(story: dict[str, Any], window: Callable[..., Any], name: str, theme: str) -> None:
    page = window(PAGES[name].format(**story), theme=theme)
    assert complaints_of(page) == []


@pytest.fixture(scope="module")
def code(site: Site, story: dict[str, Any]) -> dict[str, Any]:
    """A repository with a merged task."""
    return site.do("code")


@pytest.mark.parametrize("name", WITH_CODE)
def test_pages_of_code_are_accessible_and_fit_a_phone(
    story: dict[str, Any], code: dict[str, Any], window: Callable[..., Any], name: str
) -> None:
    for theme in ("light", "dark"):
        page = window(WITH_CODE[name].format(**story), theme=theme)
        assert complaints_of(page) == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_pages_that_keep_or_give_up_data_are_accessible_and_fit_a_phone(
    site: Site, story: dict[str, Any], code: dict[str, Any], window: Callable[..., Any]
) -> None:
    session = site.do("keeping")["session"]
    for theme in ("light", "dark"):
        page = window("/sign-in", theme=theme, signed_in=False)
        page.context.add_cookies([{"name": "aiswe_session", "value": session, "url": site.url}])
        for path in ("/system/backups", "/p/{project}/", "/runs/{run}", "/runs/{run}/result"):
            page.set_viewport_size({"width": 1440, "height": 900})
            page.goto(site.url + path.format(**story))
            assert complaints_of(page) == []
            page.set_viewport_size({"width": 390, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_backlog_is_accessible_fits_a_phone_and_is_ordered_by_keyboard(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    address = f"/p/{site.do('backlog')['project']}/backlog"
    for theme in ("light", "dark"):
        page = window(address, theme=theme)
        assert complaints_of(page) == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert complaints_of(page) == []
    page.get_by_role("button", name="Move CL-119 up").press("Enter")
    expect(page.locator(".tick tbody tr").first).to_contain_text("CL-119")


def test_each_kind_of_decision_is_accessible_and_fits_a_phone(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    asked = site.do("decisions")
    paths = [f"/approvals/{number}" for number in asked.values()] + ["/approvals/together/package", "/approvals"]
    for theme in ("light", "dark"):
        page = window("/approvals", theme=theme)
        for path in paths:
            page.set_viewport_size({"width": 1440, "height": 900})
            page.goto(site.url + path)
            assert complaints_of(page) == [], path
            page.set_viewport_size({"width": 390, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_a_replay_is_accessible_and_fits_a_phone(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    run = site.do("replay", run=story["run"])["replay"]
    for theme in ("light", "dark"):
        page = window("/runs", theme=theme)
        for path in ("", "?at=15", "?view=time", "?view=list", "/e/6"):
            page.set_viewport_size({"width": 1440, "height": 900})
            page.goto(f"{site.url}/runs/{run}{path}")
            assert complaints_of(page) == [], path
            page.set_viewport_size({"width": 390, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_a_backlog_renews_itself_and_keeps_what_a_person_does_in_it(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    address = f"/p/{site.do('backlog')['project']}/backlog"
    page = window(address)
    box, field = page.get_by_label("Select CL-120"), page.get_by_label("Estimate in minutes")
    box.check()
    field.fill("1 h 15")
    other = window(address)
    other.get_by_role("button", name="Move CL-121 up").click()
    # By their order alone: what still fits tonight, and so stands under which heading, depends on the hour.
    both = page.locator(".tick tbody tr", has=page.get_by_label(re.compile("^Select CL-12[01]$")))
    expect(both.first).to_contain_text("CL-121")
    expect(box).to_be_checked()
    expect(field).to_have_value("1 h 15")
    expect(field).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_any_kind_of_event(story: dict[str, Any], window: Callable[..., Any], theme: str) -> None:
    for seq in story["loop"]:
        page = window(f"/runs/{story['run']}/e/{seq}", theme=theme)
        assert complaints_of(page) == [], seq
        page.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_among_lessons_of_every_state(
    site: Site, story: dict[str, Any], window: Callable[..., Any], theme: str
) -> None:
    site.do("lessons")
    page = window("/memory", theme=theme)
    expect(page.locator(".lesson")).to_have_count(4)
    assert complaints_of(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/sign-in", "/nowhere", "/system/backups"])
def test_axe_finds_nothing_outside_either(window: Callable[..., Any], path: str, theme: str) -> None:
    page = window(path, theme=theme, signed_in=path != "/sign-in", quiet=path != "/sign-in")
    assert complaints_of(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_narrow_screen_scrolls_one_way_only(story: dict[str, Any], window: Callable[..., Any], name: str) -> None:
    page = window(PAGES[name].format(**story))
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_drafts_and_the_trace_of_a_finished_build_are_accessible_and_fit_a_phone(
    site: Site, story: dict[str, Any], code: dict[str, Any], window: Callable[..., Any]
) -> None:
    made, finished = site.do("drafts"), site.do("finish", whole=True)
    paths = ("/plans/{busy}/draft", "/plans/{stale}/draft", "/p/{project}/plan")
    for theme in ("light", "dark"):
        for path in (*(path.format(**made) for path in paths), f"/p/{finished['project']}/trace"):
            page = window(path, theme=theme)
            assert complaints_of(page) == [], path
            page.set_viewport_size({"width": 390, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_the_weekly_report_prints_on_one_page(story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window("/reports/weekly")
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) == 1
    page.emulate_media(media="print")
    expect(page.locator(".nav")).to_be_hidden()
    expect(page.get_by_role("button", name="E-mail this report")).to_be_hidden()
