"""A front end's page, built by Vite and opened in Chromium inside the sandbox."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.languages.node.page import page_failures, page_folders
from sandbox.base import Sandbox, SandboxLimits
from sandbox.bubblewrap import BubblewrapBackend
from sandbox.built_page import open_built_page
from sandbox.inside import built_page
from sandbox.inside.built_page import BROWSERS, lacked_threads, shown
from sandbox.node_env import find_node_modules
from tests.needs import missing
from tests.tables import each_row

pytestmark = pytest.mark.bubblewrap
PAGE = b'<!doctype html><body><div id="root"></div><script type="module" src="/src/main.ts"></script></body>'
FILES = ("vite.config.ts", "index.html", "src/main.ts")


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    if find_node_modules() is None:
        missing("the tools of Node for sandboxes: make install with npm on the PATH")
    if not any(Path(path).is_file() for path in BROWSERS):
        missing("Chromium: apt-get install chromium")
    with BubblewrapBackend().open(limits=SandboxLimits()) as sandbox:
        sandbox.put({"index.html": PAGE, "vite.config.ts": b"export default {}"})
        yield sandbox


def opened(box: Sandbox, script: str) -> list[str]:
    box.put({"src/main.ts": script.encode()})
    return [failure.message for failure in page_failures(box, FILES)]


def test_a_page_that_shows_something_is_fine(box: Sandbox) -> None:
    assert opened(box, "document.getElementById('root')!.textContent = `a number: ${1 as number}`;") == []


def test_an_error_that_nothing_catches_is_told(box: Sandbox) -> None:
    (said,) = opened(box, "document.body.append('here'); throw new TypeError('no such list');")
    assert "Uncaught TypeError: no such list" in said


def test_a_page_that_stays_empty_is_told(box: Sandbox) -> None:
    assert opened(box, "export {};") == ["The built page, opened in a browser, shows nothing."]


def test_a_page_that_shows_something_late_by_its_own_clock_is_fine(box: Sandbox) -> None:
    assert opened(box, "setTimeout(() => document.body.append('late'), 4000);") == []


def test_a_page_that_gives_itself_work_without_end_is_looked_at_all_the_same(box: Sandbox) -> None:
    endless = (
        "const c = new MessageChannel(); c.port1.onmessage = () => c.port2.postMessage(0); c.port2.postMessage(0);"
    )
    assert opened(box, f"document.body.append('busy'); {endless}") == []


def test_a_server_that_does_not_answer_is_no_error_of_the_page(box: Sandbox) -> None:
    asks = "document.body.append('wait'); fetch('/api/todos').then((answer) => answer.json());"
    assert opened(box, asks) == []


def test_code_that_does_not_parse_is_told_with_its_line(box: Sandbox) -> None:
    (said,) = opened(box, "const x = ;")
    assert said.startswith("The page cannot be built: ")
    assert "/workspace/src/main.ts:1:10" in said
    assert "\x1b" not in said


def test_a_folder_that_is_not_there_says_so(box: Sandbox) -> None:
    assert open_built_page(box, "nowhere").problem.startswith("the build ended with exit code")


def test_a_page_is_built_from_the_folder_of_its_configuration() -> None:
    assert page_folders(["web/vite.config.ts", "web/index.html", "vite.config.js", "docs/index.html"]) == ["web"]
    assert page_folders(["index.html", "vite.config.mjs"]) == ["."]


def test_what_a_page_shows_is_its_elements_and_its_text() -> None:
    text = "<head><title>t</title></head><body><style>p {}</style><p>hi</p><script>x()</script>there</body>"
    assert shown(text) == ["p", "hi", "there"]


def fake_browser(folder: Path, answers: str) -> str:
    """A program in place of a browser that runs these statements; `read` takes a command, `write` answers."""
    program = folder / "browser"
    told = "import json, os, time\n"
    told += "read = lambda: json.loads(os.read(3, 65536)[:-1])['id']\n"
    told += "write = lambda **answer: os.write(4, json.dumps(answer).encode() + bytes(1))\n"
    program.write_text(f"#!{sys.executable}\n{told}{answers}\n")
    program.chmod(0o755)
    return str(program)


@each_row(
    "answers",
    [
        "",
        "write(id=read(), result={'targetId': 'a'})",
        "while True: write(id=read(), error={'message': 'no target'})",
        "for given in ('targetId', 'sessionId'): write(id=read(), result={given: 'a'})\n"
        "for _ in range(2): write(id=read(), result={})\n"
        "write(id=read(), error={'message': 'no clock'})\n"
        "time.sleep(60)",
    ],
    ids=["ends at once", "ends after an answer", "refuses every command", "refuses the clock"],
)
def test_a_browser_that_fails_says_nothing_about_the_page(tmp_path: Path, answers: str) -> None:
    assert built_page.opened(fake_browser(tmp_path, answers), "http://127.0.0.1:9/", seconds=50)[0] == ""


def test_a_browser_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    assert built_page.opened(fake_browser(tmp_path, "time.sleep(600)"), "http://127.0.0.1:9/", seconds=0.2)[0] == ""


def test_only_the_browser_itself_can_say_that_it_lacks_threads() -> None:
    own = "[1:2:ERROR:platform_thread_posix.cc(155)] pthread_create: Resource temporarily unavailable (11)\n"
    console = '[1:2:INFO:CONSOLE:3] "a\npthread_create: Resource temporarily unavailable", source: http://x/a.js (3)\n'
    assert lacked_threads(console + own)
    assert not lacked_threads(console)
