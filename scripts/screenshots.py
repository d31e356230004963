"""Take the pictures of the README and the documentation from a running demo: `make screenshots`.

Needs `make install-dev` and Chromium. A demo is started in a folder that is removed afterwards; the run is pictured
while tasks are at work, the rest when all are merged. The exit code is 1 when the demo does not get there.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGES = REPOSITORY / "docs" / "images"
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
SIZE = {"width": 1440, "height": 900}
DEMO_S = 1_200.0  # for the whole demo, on a slow machine
MERGED = 3  # tasks that are merged in the picture of the run
LOOK_MS = 400


class Missing(Exception):
    """The demo did not show what a picture is to be taken of."""


def take(folder: Path, tokens_per_s: float) -> list[Path]:
    """Start a demo, take the pictures into `folder`, and return their paths."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="aiswe-screenshots-") as home:
        command = [sys.executable, "-m", "aiswe_site.cli", "demo", "--home", home, "--tokens-per-s", str(tokens_per_s)]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as demo:
            try:
                sign_in = said(demo, r"http://\S+/sign-in/demo\?token=\S+")
                build = said(demo, r"The build is running: (http://\S+)")
                with sync_playwright() as play:
                    browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
                    page = browser.new_page(viewport=SIZE, color_scheme="light")
                    page.goto(sign_in)
                    page.get_by_role("button", name="Watch the demo").click()
                    taken = pictures(page, build, folder)
                    browser.close()
                    return taken
            finally:
                demo.send_signal(signal.SIGINT)


def said(demo: subprocess.Popen[str], wanted: str) -> str:
    """The first thing that the demo prints which matches; its group, if it has one."""
    assert demo.stdout is not None  # noqa: S101
    for line in demo.stdout:
        if found := re.search(wanted, line):
            return found[found.lastindex or 0]
    raise Missing(f"the demo ended without printing {wanted}")


def pictures(page: Any, build: str, folder: Path) -> list[Path]:
    """A busy run; then what was built, its trace and the weekly report."""
    taken = []

    def picture(name: str) -> None:
        page.wait_for_timeout(LOOK_MS)  # until what slides in is there
        page.screenshot(path=folder / f"{name}.png")
        taken.append(folder / f"{name}.png")

    address = build.partition("/runs/")[0]
    page.goto(f"{build}?view=graph")
    until(page, lambda: page.locator(".tasks [data-word='merged']").count() >= MERGED and is_busy(page))
    picture("run")
    until(page, lambda: page.locator("#run-status").get_attribute("data-state") == "finished")
    for name, path in {"result": f"{build}?view=result", "report": f"{address}/reports/weekly"}.items():
        page.goto(path)
        picture(name)
    return taken


def is_busy(page: Any) -> bool:
    """Whether several tasks are at work."""
    return int(page.locator(".tasks [data-word='running']").count()) >= 2


def until(page: Any, seen: Any) -> None:
    """Wait for what the page is to show. Raises Missing after DEMO_S."""
    end = time.monotonic() + DEMO_S
    while not seen():
        if time.monotonic() > end:
            raise Missing(f"{page.url} did not show what was waited for within {DEMO_S:,.0f} s")
        page.wait_for_timeout(LOOK_MS)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=IMAGES)
    parser.add_argument("--tokens-per-s", type=float, default=60.0, help="speed of the recording")
    given = parser.parse_args()
    if not CHROMIUM.exists():
        sys.stderr.write(f"No Chromium at {CHROMIUM}; install it or name it in CHROMIUM.\n")
        return 1
    given.folder.mkdir(parents=True, exist_ok=True)
    try:
        taken = take(given.folder, given.tokens_per_s)
    except Missing as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    sys.stdout.write("".join(f"{path}\n" for path in taken))
    return 0


if __name__ == "__main__":
    sys.exit(main())
