"""Every page in a real browser: accessible in both themes, usable by keyboard, on a phone and without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

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
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def complaints_of(page: Any) -> list[str]:
    """What axe finds wrong, with everything folded opened."""
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    found = Axe().run(page, options=RULES).response["violations"]
    return [f"{v['id']}: {node['target']} {node['html'][:200]}" for v in found for node in v["nodes"]]


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
    expect(page.locator(".tick tbody tr").nth(2)).to_contain_text("CL-121", timeout=20_000)
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
@pytest.mark.parametrize("path", ["/sign-in", "/nowhere"])
def test_axe_finds_nothing_outside_either(window: Callable[..., Any], path: str, theme: str) -> None:
    page = window(path, theme=theme, signed_in=path == "/nowhere", quiet=path == "/nowhere")
    assert complaints_of(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_narrow_screen_scrolls_one_way_only(story: dict[str, Any], window: Callable[..., Any], name: str) -> None:
    page = window(PAGES[name].format(**story))
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_keys_lead_through_the_site(site: Site, story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    for key, path in (
        ("r", "/runs"),
        ("w", "/reports"),
        ("i", "/approvals"),
        ("a", "/audit"),
        ("s", "/system"),
        ("p", "/"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(site.url + path)
    page.keyboard.press("?")
    page.wait_for_url(site.url + "/keys")
    page.goto(f"{site.url}/runs/{story['run']}")
    page.keyboard.press("/")
    expect(page.locator("#f-q")).to_be_focused()
    page.keyboard.type("gr?")
    assert page.url.endswith(f"/runs/{story['run']}"), "keys do nothing while somebody types"
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.locator("#stream .ev.tone-err a.s:focus")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#inspector h3")).to_be_visible()
    page.keyboard.press("f")
    expect(page.locator("#follow")).to_have_attribute("aria-pressed", "true")


def test_shortcuts_can_be_switched_off(site: Site, window: Callable[..., Any]) -> None:
    page = window("/keys")
    page.get_by_role("button", name="Switch single-key shortcuts off").click()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("button", name="Switch single-key shortcuts on")).to_be_visible()
    assert page.url == site.url + "/keys"


def test_the_graph_is_one_stop_and_arrows_walk_it(story: dict[str, Any], window: Callable[..., Any]) -> None:
    page = window(f"/p/{story['project']}/plan")
    assert page.locator(".dag a.node[tabindex='0']").count() == 1
    page.locator(".dag a.node[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    first = page.evaluate("document.activeElement.dataset.key")
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.dataset.key")
    assert {first, second} == {"T-02", "T-03"}
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.key") == "T-04"
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.dataset.key") == "T-01"


def test_the_theme_stays_without_a_flash(site: Site, window: Callable[..., Any]) -> None:
    page = window("/")
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 25)"


def test_a_preview_comes_without_leaving_the_form(window: Callable[..., Any]) -> None:
    page = window("/projects/new")
    page.get_by_label("Name").fill("Todo")
    page.get_by_label("Or paste it").fill("# A\n\nFR-01 The API shall add.\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("1 requirement")
    expect(page.get_by_label("Name")).to_have_value("Todo")


def test_a_list_that_is_polled_keeps_the_focus(site: Site, window: Callable[..., Any]) -> None:
    page = window("/runs")
    link = page.locator("#runs th a").first
    link.focus()
    with page.expect_response(lambda r: r.url == site.url + "/runs", timeout=20_000):
        pass
    page.wait_for_timeout(300)
    assert page.evaluate("document.activeElement.tagName") == "A"


def test_from_upload_to_approval_without_javascript(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/sign-in", signed_in=False, java_script_enabled=False)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(story["password"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="New project").click()
    page.get_by_label("Name").fill("By hand")
    page.get_by_label("Upload a document").set_input_files(
        {
            "name": "prd.md",
            "mimeType": "text/markdown",
            "buffer": b"# A\n\nFR-01 The API shall add.\n\nFR-02 It must list.\n",
        }
    )
    page.get_by_role("button", name="Extract requirements").click()
    page.get_by_role("button", name="Reject R2 (FR-02)").click()
    page.get_by_role("link", name="Edit R1 (FR-01)").click()
    page.get_by_label("Text").fill("The API shall add a to-do.")
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Confirm requirements").click()
    expect(page.get_by_role("button", name="Make a plan")).to_be_visible()

    page.goto(f"{site.url}/p/{story['other']}/plan")
    page.get_by_role("link", name="Edit T-01").click()
    page.get_by_label("Minutes").fill("40")
    page.get_by_role("button", name="Save as a new version").click()
    page.get_by_role("link", name="Edit several tasks").click()
    page.get_by_role("button", name="Remove T-01").click()
    expect(page.locator("main")).to_contain_text("No task covers requirement FR-01")
    expect(page.get_by_role("button", name="Save 1 edit as v4")).to_be_disabled()
    page.get_by_role("button", name="Take back the last").click()
    page.get_by_role("link", name="Split T-02").click()
    page.get_by_label("Title of the second part").fill("Write the tests of it")
    page.get_by_role("button", name="Add to the draft").click()
    page.get_by_role("button", name="Save 1 edit as v4").click()
    expect(page.locator("main")).to_contain_text("1 edit saved as plan v4")
    page.get_by_role("button", name="Approve plan v4").click()
    expect(page.locator("main")).to_contain_text("Plan v4 is approved and pinned to")
    page.get_by_role("button", name="Start building").click()
    expect(page.locator("#stream")).to_contain_text("building plan v4")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#run-status")).to_contain_text("cancelled")

    page.goto(f"{site.url}/runs/{story['run']}/e/6")
    expect(page.locator("#inspector")).to_contain_text("event 6")
    page.goto(f"{site.url}/approvals/{story['approval']}")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("main")).to_contain_text("Approved: Install httpx")


def test_a_part_that_cannot_be_renewed_says_so_until_it_can(site: Site, window: Callable[..., Any]) -> None:
    page = window("/runs", quiet=True)  # the browser itself complains about answers with an error
    expect(page.locator("#trouble")).to_be_hidden()
    page.route("**/runs", lambda route: route.fulfill(status=500, body="<b>broken</b>"))
    expect(page.locator("#trouble")).to_contain_text("error 500", timeout=20_000)
    expect(page.locator("#runs")).to_contain_text("Run 1")
    assert complaints_of(page) == []
    page.unroute("**/runs")
    page.route("**/runs", lambda route: route.abort())
    expect(page.locator("#trouble")).to_contain_text("is not responding", timeout=20_000)
    page.unroute("**/runs")
    expect(page.locator("#trouble")).to_be_hidden(timeout=20_000)


def test_htmx_obeys_no_element_that_the_server_did_not_sign(site: Site, window: Callable[..., Any]) -> None:
    page = window("/runs", quiet=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for nonce in ("", "AAAAAAAAAAAAAAAAAAAAAA=="):
        page.evaluate(
            """nonce => {
                const it = document.createElement('div');
                it.setAttribute('hx-get', '/keys');
                it.setAttribute('hx-trigger', 'load');
                if (nonce) it.setAttribute('hx-nonce', nonce);
                document.getElementById('main').append(it);
                htmx.process(it);
            }""",
            nonce,
        )
    with page.expect_response(lambda answer: answer.url == site.url + "/runs", timeout=20_000):
        pass  # what the server did sign still works
    assert not [url for url in asked if url.endswith("/keys")]


def test_text_becomes_markup_through_named_policies_alone(site: Site, window: Callable[..., Any]) -> None:
    page = window("/runs", quiet=True)
    refused = """() => {
        try { document.createElement('div').innerHTML = '<b>x</b>'; return ''; } catch (e) { return e.name; }
    }"""
    assert page.evaluate(refused) == "TypeError"
    assert page.evaluate(
        "() => { try { trustedTypes.createPolicy('other', {}); return ''; } catch (e) { return e.name; } }"
    )


def test_the_back_office_works_under_its_policy(
    chromium: Any, site: Site, story: dict[str, Any], tmp_path: Any
) -> None:
    own = Site(tmp_path)
    context = chromium.new_context()
    complaints: list[str] = []
    try:
        page = context.new_page()
        # Its pages name no icon, so the browser misses /favicon.ico.
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" and "404" not in m.text else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.goto(own.url)
        page.get_by_label("Username").fill("root")
        page.get_by_label("Password", exact=True).fill("a long passphrase")
        page.get_by_label("Password again").fill("a long passphrase")
        page.get_by_role("button", name="Create and go on").click()
        for path in ("/admin/", "/admin/auth/user/", "/admin/auth/user/1/change/", "/admin/projects/project/"):
            page.goto(own.url + path)
            expect(page.locator("#content")).to_be_visible()
        assert complaints == []
    finally:
        context.close()
        own.kill()


def test_set_up_of_a_new_server(chromium: Any, tmp_path: Any) -> None:
    site = Site(tmp_path)
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(site.url)
        page.get_by_label("Username").fill("root")
        page.get_by_label("Password", exact=True).fill("a long passphrase")
        page.get_by_label("Password again").fill("a long passphrase")
        assert complaints_of(page) == []
        page.get_by_role("button", name="Create and go on").click()
        expect(page.get_by_role("heading", name="Watch the demo")).to_be_visible()
        expect(page.get_by_role("heading", name="Set up your model")).to_be_visible()
        assert complaints_of(page) == []
    finally:
        context.close()
        site.kill()


def test_the_palette_opens_a_task_from_any_page_without_a_mouse(
    site: Site, story: dict[str, Any], window: Callable[..., Any]
) -> None:
    page = window("/system")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-q")).to_be_focused()
    expect(page.locator("#palette-found a").first).to_be_visible()
    page.keyboard.type("T-02")
    expect(page.locator("#palette-found h2").first).to_have_text("Tasks")
    assert complaints_of(page) == []
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.url}/tasks/*")


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
