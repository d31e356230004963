"""A whole trial through a browser: a requirements document of yours goes in, a tested repository comes out.

    .venv/bin/python scripts/trial.py --prd FILE --scenario readtime [--home DIR] [--headful]

Needs `make install-dev` and Chromium. The model is a recording that fits the document; all else is real. Prints one
JSON document; exit code 0 only when all of it is right. See docs/how-to/trial.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from trial_result import REPOSITORY, Wrong, prove

AISWE = [sys.executable, "-m", "aiswe_site.cli"]
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
WHO, PASSWORD = "architect", "a trial needs no secret"
PAGE_S = 60.0
STUCK_S = 60.0  # a run that waits for a person this long is not going on by itself


def say(words: str) -> None:
    """Tell what happens, on stderr."""
    sys.stderr.write(words + "\n")
    sys.stderr.flush()


def environment(home: Path, **more: str) -> dict[str, str]:
    """Ours, with a data folder of its own."""
    return {**os.environ, "AISWE_HOME": str(home), "PYTHONPATH": str(REPOSITORY), **more}


@contextmanager
def serving(home: Path, scenario: str, tokens_per_s: float) -> Iterator[str]:
    """`aiswe up` on a free port; yields its address and stops it at the end, whatever happens."""
    recorded = {"AISWE_MODEL": f"scripted:{scenario}", "AISWE_DEMO_TOKENS_PER_S": str(tokens_per_s)}
    with (home / "up.log").open("a") as log:
        server = subprocess.Popen(
            [*AISWE, "up", "--port", "0"],
            env=environment(home, **recorded),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert server.stdout is not None  # noqa: S101
        try:
            found = re.search(r"http://\S+/", server.stdout.readline())
            if found is None:
                raise Wrong(f"aiswe up did not start; {home / 'up.log'} says why")
            yield found[0]
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            server.stdout.close()


class Person:
    """An architect in front of a browser; whatever the browser complains about is kept."""

    def __init__(self, page: Any, address: str, until: float) -> None:
        self.page, self.address, self.until = page, address, until
        self.complaints: list[str] = []
        page.set_default_timeout(PAGE_S * 1000)
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.violatedDirective))"
        )
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.complaints.append(str(e)))
        page.on("dialog", lambda d: (self.complaints.append(f"dialog: {d.message}"), d.dismiss()))
        page.on("response", lambda r: self.complaints.append(f"{r.status} {r.url}") if r.status >= 500 else None)

    def press(self, name: str) -> None:
        """Press a button by its words."""
        self.page.get_by_role("button", name=name).click()

    def is_told_of_the_recording(self) -> None:
        """Every page about the project must say that no model works here."""
        if not self.page.locator(".recording").is_visible():
            raise Wrong(f"{self.page.url} does not say that the model is a recording")

    def wait(self, what: str, seconds: float = 0.25) -> None:
        """Let some time pass; raises Wrong when the time of the whole trial is over."""
        if time.monotonic() > self.until:
            raise Wrong(f"the trial's --timeout was over while {what}")
        self.page.wait_for_timeout(seconds * 1000)

    def sets_up(self) -> None:
        """The first visit makes the administrator."""
        self.page.goto(self.address)
        self.page.get_by_label("Username").fill(WHO)
        self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        self.page.get_by_label("Password again").fill(PASSWORD)
        self.press("Create and go on")

    def uploads(self, prd: Path) -> dict[str, int]:
        """A new project from the document; returns how much was read from it."""
        self.page.get_by_role("link", name="New project").click()
        self.page.get_by_label("Name").fill(f"Trial of {prd.stem}"[:100])
        self.page.get_by_label("Upload a document").set_input_files(str(prd))
        self.press("Preview")
        self.page.locator("#preview strong").first.wait_for()
        self.press("Extract requirements")
        self.page.wait_for_url("**/reqs")
        self.is_told_of_the_recording()
        meter = self.page.locator("meter")
        return {
            "requirements": self.page.locator("article.req").count(),
            "implied": self.page.locator("article.req .tag", has_text="implied").count(),
            "paragraphs": int(meter.get_attribute("max") or 0),
            "mapped": int(meter.get_attribute("value") or 0),
        }

    def has_it_planned(self) -> int:
        """Confirm what was read, watch the planner, say yes to its plan; returns the number of tasks."""
        self.press("Have the model look for more")
        self.page.wait_for_url("**/runs/*")
        self.is_told_of_the_recording()
        confirm = self.page.locator("#run-next a", has_text="Confirm requirements")
        while not confirm.count():
            self.gives_up_on("failed", "cancelled")
            self.wait("the model read the document")
        confirm.click()
        self.page.get_by_role("button", name="Confirm requirements").wait_for()
        # The recorded plan is for these too.
        suggested = self.page.get_by_role("button", name=re.compile(r"^Accept (IMP|INF)-"))
        for left in range(suggested.count() - 1, -1, -1):
            suggested.first.click()
            while suggested.count() > left:
                self.wait("the suggestion was accepted")
        self.press("Confirm requirements")
        self.page.locator(".why").get_by_role("link", name="run").click()
        link = self.page.locator("#run-next a", has_text="Plan v1").first
        while not link.count():
            self.gives_up_on("failed", "cancelled")
            self.wait("the plan was made")
        link.click()
        self.is_told_of_the_recording()
        tasks = self.page.locator("tr[id^=task-]").count()
        self.press("Approve plan v1")
        self.page.get_by_text("is approved and pinned to").wait_for()
        return tasks

    def has_it_built(self) -> dict[str, Any]:
        """Start the build and watch it to its end on the live page."""
        self.press("Start building")
        self.page.wait_for_url("**/runs/*")
        self.is_told_of_the_recording()
        status, said, waiting = self.page.locator("#run-status"), "", 0.0
        while (state := status.get_attribute("data-state")) != "finished":
            self.gives_up_on("failed", "cancelled")
            waiting = waiting or time.monotonic() if state == "needs_you" else 0.0
            if waiting and time.monotonic() - waiting > STUCK_S:
                self.gives_up_on("needs_you")
            if said != (said := " ".join(status.inner_text().split())):
                say(said)
            self.wait("the build went on", 1)
        self.page.get_by_text(", no gaps").wait_for()
        return {
            "run": int(self.page.url.rpartition("/")[2]),
            "merged": self.page.locator('.tasks [data-word="merged"]').count(),
            "live": self.page.locator("#live").get_attribute("data-state"),
            "counted": self.page.locator("#counted").inner_text(),
        }

    def gives_up_on(self, *states: str) -> None:
        """Raise Wrong with the page's own reason when the run is in one of the states."""
        if self.page.locator("#run-status").get_attribute("data-state") in states:
            words = " ".join(self.page.locator(".why").inner_text().split())
            raise Wrong(f"{self.page.url}: {words}")


@contextmanager
def browser_page(headful: bool) -> Iterator[Any]:
    """A page in Chromium."""
    if not CHROMIUM.exists():
        raise Wrong(f"there is no Chromium at {CHROMIUM}: install it, or name it in CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"], headless=not headful)
        try:
            yield browser.new_page(viewport={"width": 1440, "height": 900})
        finally:
            browser.close()


def trial(options: argparse.Namespace, home: Path) -> dict[str, Any]:
    """Everything, from the first page to the tests of what was built. Raises Wrong."""
    started = time.monotonic()
    until = started + options.timeout
    scenario = options.scenario
    if "/" in scenario:
        scenario = str(Path(scenario).resolve())
    with serving(home, scenario, options.tokens_per_s) as address, browser_page(options.headful) as page:
        say(f"{address} with the data folder {home}")
        person = Person(page, address, until)
        try:
            person.sets_up()
            read = person.uploads(options.prd)
            say(f"{read['requirements']} requirements, {read['mapped']} of {read['paragraphs']} paragraphs mapped")
            planned = person.has_it_planned()
            built = person.has_it_built()
        except Exception as problem:
            with suppress(Exception):
                page.screenshot(path=str(home / "trial-failed.png"), full_page=True)
                say(f"the page as it was: {home / 'trial-failed.png'}")
            if isinstance(problem, Wrong):
                raise
            raise Wrong(f"{page.url}: {str(problem).splitlines()[0]}") from problem
        watched = time.monotonic() - started
    found = {
        **read,
        "tasks": planned,
        "merged": built["merged"],
        "run": built["run"],
        "events": built["counted"],
        "complaints": person.complaints,
        "seconds": round(watched, 1),
    }
    audit = subprocess.run(
        [*AISWE, "audit", "verify", str(built["run"]), "--json"], env=environment(home), capture_output=True, text=True
    )
    found["audit_verified"] = audit.returncode == 0
    checkout = home / "trial-checkout"
    bare = next((home / "repositories").glob("[!.]*"))
    subprocess.run(["git", "clone", "-q", str(bare), str(checkout)], check=True)
    return found | prove(checkout, home, Path(options.scenario).name)


def all_right(found: dict[str, Any]) -> bool:
    """Whether nothing is missing."""
    return bool(
        found["requirements"]
        and 0 < found["tasks"] == found["merged"]
        and found["audit_verified"]
        and not found["complaints"]
        and found["tests"]["exit_code"] == 0
        and found["tests"]["passed"] > 0
        and found["works"]["ok"]
    )


def main() -> int:
    """Read the words of the command line, run the trial, print its document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--prd", type=Path, required=True, help="the requirements document to upload")
    parser.add_argument("--scenario", required=True, help="a recording that fits it: a name, or a folder")
    parser.add_argument("--home", type=Path, help="data folder; else a new one")
    parser.add_argument("--headful", action="store_true", help="show the browser")
    parser.add_argument("--tokens-per-s", type=float, default=400.0, help="speed of the recording")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for everything")
    options = parser.parse_args()
    if not options.prd.is_file():
        parser.error(f"--prd: there is no file {options.prd}")
    home = (options.home or Path(tempfile.mkdtemp(prefix="aiswe-trial-"))).resolve()
    home.mkdir(parents=True, exist_ok=True)
    if (home / "db.sqlite3").exists():
        parser.error(f"--home: {home} holds the data of an earlier trial; name an empty folder")
    try:
        found = trial(options, home)
    except Wrong as problem:
        sys.stdout.write(json.dumps({"ok": False, "problem": str(problem), "home": str(home)}, indent=2) + "\n")
        return 1
    good = all_right(found)
    sys.stdout.write(json.dumps({"ok": good, **found, "home": str(home)}, indent=2, ensure_ascii=False) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
