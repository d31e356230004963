"""Runs inside a sandbox: builds a page with Vite, serves it on the loopback and opens it once in a browser.

A request as JSON on standard input, one marked line of JSON as the answer on standard output.
"""

from __future__ import annotations

import functools
import html.parser
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from typing import Any

# Programs, not the scripts that Debian starts them with: those read folders that a sandbox does not show.
BROWSERS = (
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/bin/google-chrome-stable",
)
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-extensions --enable-logging=stderr "
    "--virtual-time-budget=5000 --dump-dom"
).split()
UNCAUGHT = re.compile(r'CONSOLE[:(]\d+\)?\] "(Uncaught (?!\(in promise\)).*?)", source: (\S*) \((\d+)\)')
STARTS = 2  # of the browser, whose first one may fail on a busy machine
TAIL = 3000
UNSEEN = frozenset({"script", "style", "noscript", "link", "meta", "template"})


class ShownParts(html.parser.HTMLParser):
    """What the body of a page shows: its elements in order, and whether it holds text."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.inside, self.hidden = False, 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.hidden += tag in UNSEEN and tag not in ("link", "meta")
        if self.inside and tag not in UNSEEN:
            self.parts.append(tag)
        self.inside = self.inside or tag == "body"

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in UNSEEN and self.hidden > 0

    def handle_data(self, data: str) -> None:
        if self.inside and not self.hidden and data.strip():
            self.parts.append(data.strip())


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line about each."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def shown(text: str) -> list[str]:
    parser = ShownParts()
    parser.feed(text)
    return parser.parts


def vite_of(folder: str) -> str:
    """Vite as the project brings it, else the one that stands ready; "" when there is none."""
    places, at = [], os.path.abspath(folder)
    while True:
        places.append(os.path.join(at, "node_modules", "vite", "bin", "vite.js"))
        if at == os.path.dirname(at):
            break
        at = os.path.dirname(at)
    return next((place for place in places if os.path.isfile(place)), "")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    folder, out = str(request["folder"]), tempfile.mkdtemp(prefix="page-")
    vite = vite_of(folder)
    if not vite:
        return {"missing": "Vite"}
    words = ["node", vite, "build", "--outDir", out, "--emptyOutDir", "--logLevel", "warn"]
    plain = {**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "0"}
    built = subprocess.run(words, cwd=folder, env=plain, capture_output=True, text=True, errors="replace")
    found: dict[str, Any] = {"built": built.returncode == 0, "output": (built.stdout + built.stderr)[-TAIL:]}
    browser = next((path for path in BROWSERS if os.path.isfile(path)), "")
    if not found["built"] or not browser:
        return found | {"missing": "" if browser else "a browser"}
    handler = functools.partial(QuietFiles, directory=out)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for _ in range(STARTS):
            profile = tempfile.mkdtemp(prefix="browser-")
            words = [browser, *OPTIONS, f"--user-data-dir={profile}", f"http://127.0.0.1:{server.server_address[1]}/"]
            seen = subprocess.run(words, capture_output=True, text=True, errors="replace")
            if "<body" in seen.stdout:
                break
        server.shutdown()
    if "<body" not in seen.stdout:
        return found | {"missing": f"a browser that starts (it ended with {seen.returncode})"}
    with open(os.path.join(out, "index.html"), errors="replace") as page:
        before = shown(page.read())
    errors = [f"{said} ({place.rpartition('/')[2]}:{line})" for said, place, line in UNCAUGHT.findall(seen.stderr)]
    return found | {"opened": True, "empty": shown(seen.stdout) == before, "errors": errors[:10]}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    told = json.dumps(answer(asked))
    sys.stdout.write(f"\n{asked['mark']}{told}\n")
