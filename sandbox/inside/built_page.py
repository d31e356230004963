"""Runs inside a sandbox: builds a page with Vite, serves it on the loopback and opens it once in a browser.

A request as JSON on standard input, one marked line of JSON as the answer on standard output.
"""

from __future__ import annotations

import contextlib
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
import time
from typing import Any

# Programs, not the scripts that Debian starts them with: those read folders that a sandbox does not show.
BROWSERS = (
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/bin/google-chrome-stable",
)
# Few processes and no page of the browser's own: together they must stay within the limit of a sandbox.
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-extensions --enable-logging=stderr "
    "--no-startup-window --no-zygote --remote-debugging-pipe"
).split()
UNCAUGHT = re.compile(r'CONSOLE[:(]\d+\)?\] "(Uncaught (?!\(in promise\)).*?)", source: (\S*) \((\d+)\)')
CONSOLE = re.compile(r'CONSOLE[:(]\d+\)?\] ".*?", source: ', re.DOTALL)
LOADED = "new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))"
# Five seconds by the page's own clock, which rests while something loads, and which work without end cannot stop.
CLOCK = {"policy": "pauseIfNetworkFetchesPending", "budget": 5000, "maxVirtualTimeTaskStarvationCount": 9999}
NO_THREAD = "pthread_create: Resource temporarily unavailable"
SECONDS = 75.0  # for the build and the browser, within the limit of the sandbox
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


def opened(browser: str, url: str, seconds: float) -> tuple[str, str]:
    """The page in a browser after its load event and some time of its own, and what the browser logged.

    "" for the page where no browser starts, or none answers in these seconds: that says nothing about the page.
    """
    words = [browser, *OPTIONS, f"--user-data-dir={tempfile.mkdtemp(prefix='browser-')}"]
    # The protocol is spoken on descriptors 3 and 4: https://chromedevtools.github.io/devtools-protocol
    pipes = ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh", *words]
    shown_page = ""
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        # Outside of the process: leaving it flushes its pipe, which a browser that ended has broken.
        with (
            contextlib.suppress(OSError, EOFError),
            subprocess.Popen(pipes, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as process,
        ):
            limit = threading.Timer(seconds, process.kill)
            limit.start()
            try:
                shown_page = looked_at(process, url)
            finally:
                limit.cancel()
                process.kill()
        log.seek(0)
        return shown_page, log.read()


def looked_at(process: Any, url: str) -> str:
    """Raises OSError and EOFError when the browser ends or refuses a command."""
    head: dict[str, Any] = {"id": 0}

    def ask(method: str, until: str = "", **values: Any) -> dict[str, Any]:
        """The answer to a command, or the event that follows it."""
        head["id"] += 1
        process.stdin.write(json.dumps({**head, "method": method, "params": values}).encode() + b"\0")
        process.stdin.flush()
        while True:
            text = bytearray()
            while (byte := process.stdout.read(1)) != b"\0":
                if not byte:
                    raise EOFError
                text += byte
            message = json.loads(text)
            if message.get("id") == head["id"] and "error" in message:
                raise ConnectionRefusedError(str(message["error"]))
            if message.get("method") == until if until else message.get("id") == head["id"]:
                return dict(message.get("params") or message.get("result") or {})

    target = ask("Target.createTarget", url="about:blank")["targetId"]
    head["sessionId"] = ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    ask("Page.navigate", url=url)  # answered once the new document is there; events may still be of the one before it
    with contextlib.suppress(ConnectionRefusedError):  # the page went elsewhere by itself meanwhile
        ask("Runtime.evaluate", expression=LOADED, awaitPromise=True)
    ask("Emulation.setVirtualTimePolicy", until="Emulation.virtualTimeBudgetExpired", **CLOCK)
    seen = ask("Runtime.evaluate", expression="document.documentElement.outerHTML")
    return str(seen.get("result", {}).get("value", ""))


def lacked_threads(log: str) -> bool:
    """Whether the browser itself says so; what the page wrote to the console does not count."""
    return any(NO_THREAD in line and "CONSOLE" not in line for line in CONSOLE.sub("", log).splitlines())


def answer(request: dict[str, Any]) -> dict[str, Any]:
    folder, out, began = str(request["folder"]), tempfile.mkdtemp(prefix="page-"), time.monotonic()
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
            seconds = max(began + SECONDS - time.monotonic(), 1)
            dom, log = opened(browser, f"http://127.0.0.1:{server.server_address[1]}/", seconds)
            if "<body" in dom:
                break
        server.shutdown()
    if "<body" not in dom:
        return found | {"missing": f"a browser that starts and answers ({log[-200:].strip()})"}
    with open(os.path.join(out, "index.html"), errors="replace") as page:
        before = shown(page.read())
    empty = shown(dom) == before
    errors = [f"{error} ({place.rpartition('/')[2]}:{line})" for error, place, line in UNCAUGHT.findall(log)]
    if empty and not errors and lacked_threads(log):  # its scripts may never have been asked for
        return found | {"missing": "room for a browser: it could not start a thread"}
    return found | {"opened": True, "empty": empty, "errors": errors[:10]}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    told = json.dumps(answer(asked))
    sys.stdout.write(f"\n{asked['mark']}{told}\n")
