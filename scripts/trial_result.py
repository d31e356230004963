"""What a trial built, tried out: its own tests, and whether the program does what was asked for."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS_S = 600


class Wrong(Exception):
    """The trial cannot go on; the text says why."""


class Shop:
    """A Python with the packages that the built repository asks for, and the repository on its path."""

    def __init__(self, repository: Path, home: Path) -> None:
        self.repository, self.extra = repository, home / "trial-packages"
        named = os.environ.get("AISWE_SANDBOX_PYTHON") or str(REPOSITORY / ".venv-sandbox" / "bin" / "python")
        self.python = Path(named) if Path(named).is_file() else Path(named) / "bin" / "python"
        if not self.python.is_file():
            raise Wrong(f"there is no {self.python}: make install makes it")
        self._fetch()

    def _fetch(self) -> None:
        """Install what requirements.txt names and the environment lacks, beside it and not into it."""
        wanted = self.repository / "requirements.txt"
        if not wanted.is_file():
            return
        names = [line for raw in wanted.read_text().splitlines() if (line := raw.partition("#")[0].strip())]
        look = (
            "import sys, re, importlib.metadata as m\n"
            "have = {re.sub('[-_.]+', '-', d.name).lower() for d in m.distributions()}\n"
            "print(*[n for n in sys.argv[1:]"
            " if re.sub('[-_.]+', '-', re.split('[^A-Za-z0-9._-]', n)[0]).lower() not in have])\n"
        )
        missing = self._run([str(self.python), "-c", look, *names], 60).stdout.split()
        if missing:
            pip = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", str(self.extra)]
            done = self._run([str(self.python), *pip, *missing], TESTS_S)
            if done.returncode:
                raise Wrong(f"pip could not install {', '.join(missing)}: {done.stderr[-500:]}")

    def _run(self, argv: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, cwd=self.repository, env=self.environment(), capture_output=True, text=True, timeout=seconds
        )

    def environment(self) -> dict[str, str]:
        """For whatever runs the built program."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AISWE_", "DJANGO_"))}
        path = os.pathsep.join((str(self.repository), str(self.extra)))
        return {**kept, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *words: str, seconds: float = TESTS_S) -> subprocess.CompletedProcess[str]:
        """Python with these words, in the repository."""
        return self._run([str(self.python), *words], seconds)


def prove(repository: Path, home: Path, scenario: str) -> dict[str, Any]:
    """Run the merged repository's tests and use it. Raises Wrong when there is nothing to run them with."""
    shop = Shop(repository, home)
    done = shop.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    passed = re.search(r"(\d+) passed", done.stdout)
    history = subprocess.run(
        ["git", "-C", str(repository), "log", "--format=%B"], capture_output=True, text=True, check=True
    ).stdout
    return {
        "repository": str(repository),
        "commits_of_tasks": len(set(re.findall(r"^Task: *(\S+)", history, re.M))),
        "tests": {
            "exit_code": done.returncode,
            "passed": int(passed[1]) if passed else 0,
            "last_line": (done.stdout.strip().splitlines() or [done.stderr[-300:]])[-1],
        },
        "works": USES[scenario](shop) if scenario in USES else {"ok": True, "note": f"no use of {scenario} is known"},
    }


SAMPLES = """
import json, readtime
words = "word " * 530
samples = {
    "text": words,
    "html": f"<head><title>no</title><style>p {{}}</style></head><p>{words}</p><script>let not_read = 1</script>",
    "markdown": "# word\\n\\n" + "word " * 528 + "[word](https://example.org/not/read)",
}
found = {name: readtime.read_time(content, name) for name, content in samples.items()}
try:
    readtime.read_time("word", "pdf")
    refused = ""
except ValueError as problem:
    refused = str(problem)
print(json.dumps({
    "seconds": {name: time.seconds for name, time in found.items()},
    "shown": {name: str(time) for name, time in found.items()},
    "at_530_wpm": {name: readtime.read_time(content, name, wpm=530).seconds for name, content in samples.items()},
    "pdf": refused,
}))
"""


def reading_times(shop: Shop) -> dict[str, Any]:
    """530 words read at 265 words a minute take two minutes, in each of the three formats."""
    done = shop.run("-c", SAMPLES, seconds=60)
    if done.returncode:
        return {"ok": False, "problem": done.stderr[-500:]}
    found: dict[str, Any] = json.loads(done.stdout)
    demo = shop.run("examples/demo.py", seconds=60)
    kinds = ("text", "html", "markdown")
    right = (
        found["seconds"] == dict.fromkeys(kinds, 120)
        and found["at_530_wpm"] == dict.fromkeys(kinds, 60)
        and "pdf" in found["pdf"]
        and demo.returncode == 0
        and demo.stdout.count("min read") == len(kinds)
    )
    return {"ok": right, **found, "demo": demo.stdout.splitlines()}


def household_answers(shop: Shop) -> dict[str, Any]:
    """The service starts and says that it is well."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [str(shop.python), "-m", "uvicorn", "household.app:app", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(
        argv, cwd=shop.repository, env=shop.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(150):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                    body = answer.read().decode()
                return {"ok": body == '{"status":"ok"}', "health": body}
            except urllib.error.URLError:
                time.sleep(0.2)
        return {"ok": False, "problem": "the service does not answer"}
    finally:
        server.terminate()
        server.wait(10)


USES = {"readtime": reading_times, "household": household_answers}
