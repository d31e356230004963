"""What a person waits for in `aiswe chat` besides the model: its start, and the own time of a turn."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from measure.figures import CannotMeasure, Figure, Section, Spread
from measure.processes import ROOT, ended, environment, killed_after, scratch

TITLE = "a conversation in the terminal, with a model that answers at once"
DEFAULT_N = 100
STARTS = 5
WITHIN = 900.0
IMPORTS = "import django, rich.markdown, pydantic; django.setup()"
STORED = 1_000  # exchanges in the log and on record when the start is measured; asked in turns of their own


def measure(section: Section, options: Any) -> None:
    """Fill the section; raises CannotMeasure when the program ends or does not answer."""
    n = options.n or DEFAULT_N
    with scratch() as home, _model() as url:
        bare = Spread.of([_asked(url) for _ in range(n)], "ms")
        turns = Spread.of(_turns(home, url, n), "ms")
        _turns(home, url, STORED)
        starts = Spread.of([_started(home, url) for _ in range(STARTS)], "ms")
        imports = Spread.of([_imported(home) for _ in range(STARTS)], "ms")
    section.figures = [
        Figure("a turn, from the prompt to the next one", turns, bare, "one call of the same model over HTTP"),
        Figure(
            f"start, with {STORED + n:,} stored exchanges, until it takes a prompt",
            starts,
            imports,
            "a process that only imports Django, Rich and Pydantic",
        ),
    ]
    section.notes = ["asked for: P95 of a turn under 150 ms, a start under a second"]


@contextmanager
def _model() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            said = {"role": "assistant", "content": "A short answer."}
            row = {"model": "qwen2.5-coder:7b", "message": said, "done": True, "done_reason": "stop", "eval_count": 4}
            body = json.dumps(row).encode() + b"\n"
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _asked(url: str) -> float:
    start = time.perf_counter()
    request = urllib.request.Request(f"{url}/api/chat", data=b"{}", method="POST")  # noqa: S310
    with urllib.request.urlopen(request, timeout=WITHIN) as answer:  # noqa: S310
        answer.read()
    return 1000 * (time.perf_counter() - start)


@contextmanager
def _chat(home: Path, url: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "aiswe_site.cli", "chat"],
        cwd=ROOT,
        env={**environment(home), "AISWE_OLLAMA_URL": url, "AISWE_EMBEDDING": "hashing"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        with killed_after(process, WITHIN):
            yield process
    finally:
        ended(process)


def _until(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None  # noqa: S101
    for line in process.stdout:
        if word in line:
            return
    raise CannotMeasure("aiswe chat ended before it answered; run it by hand to see why")


def _turns(home: Path, url: str, n: int) -> list[float]:
    taken = []
    with _chat(home, url) as process:
        assert process.stdin is not None  # noqa: S101
        _until(process, "/help")
        for number in range(n):
            start = time.perf_counter()
            process.stdin.write(f"Question {number}?\n")
            process.stdin.flush()
            _until(process, "P95")
            taken.append(1000 * (time.perf_counter() - start))
    return taken


def _started(home: Path, url: str) -> float:
    start = time.perf_counter()
    with _chat(home, url) as process:
        _until(process, "/help")
        return 1000 * (time.perf_counter() - start)


def _imported(home: Path) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, env=environment(home), timeout=WITHIN, check=True)
    return 1000 * (time.perf_counter() - start)
