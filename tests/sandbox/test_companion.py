"""A program beside the files of a sandbox: it talks through pipes, and its only way out is a socket of ours."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sandbox.base import SandboxError, SandboxLimits
from sandbox.companion import Companion

pytestmark = pytest.mark.bubblewrap

PROGRAM = """
import os, socket, sys
for line in sys.stdin:
    if line == "net\\n":
        with socket.create_connection(("127.0.0.1", 3128)) as out:
            out.sendall(b"hello")
            print(out.recv(9), flush=True)
    elif line == "much\\n":
        held = bytearray(800_000_000)
    else:
        os.symlink("/etc/passwd", "link")
        open("made", "w").write(os.environ["MODE"])
        print(os.listdir("/shown"), os.path.exists("/root/.ssh"), flush=True)
print("aargh", file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture
def companion(tmp_path):
    made = Companion((), SandboxLimits(memory_mb=256), "test")
    yield made
    made.close()


def talk(companion: Companion, line: bytes) -> str:
    companion.writes.write(line)
    return os.read(companion.reads.fileno(), 4096).decode()


def ended(companion: Companion) -> None:
    """Wait until process 1 has noticed the end of the program."""
    until = time.monotonic() + 30
    while companion.look().runs:
        assert time.monotonic() < until, "it does not end"
        time.sleep(0.05)


def test_it_talks_works_on_the_files_and_ends_with_its_words(tmp_path: Path):
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "tool").write_text("x")
    companion = Companion((shown,), SandboxLimits(), "test")
    try:
        companion.sandbox.put({"there.txt": b"hi"})
        companion.start(["python3", "-c", PROGRAM.replace("/shown", str(shown))], {"MODE": "plain"}, [3128])
        assert talk(companion, b"go\n") == "['tool'] False\n"
        listed = companion.sandbox.listing()
        assert {path: each.regular for path, each in listed.items()} == {"there.txt": True, "made": True, "link": False}
        assert companion.sandbox.get(["made"]) == {"made": b"plain"}
        companion.writes.write(b"net\n")
        companion.listeners[3128].settimeout(10)
        line, _ = companion.listeners[3128].accept()
        with line:
            assert line.recv(9) == b"hello"
            line.sendall(b"yes")
        assert os.read(companion.reads.fileno(), 99) == b"b'yes'\n"
        assert companion.look().runs
        companion.writes.close()
        assert os.read(companion.reads.fileno(), 99) == b"", "its end is heard at once"
        ended(companion)
        state = companion.look()
        assert (state.runs, state.exit_code, state.said) == (False, 3, "aargh\n")
    finally:
        companion.close()


def test_one_that_takes_too_much_memory_is_stopped(companion):
    companion.start(["python3", "-c", PROGRAM], {"MODE": ""})
    companion.writes.write(b"much\n")
    ended(companion)


def test_a_program_that_is_not_there_is_named(companion):
    companion.start(["/opt/none"], {})
    assert "No such file" in companion.look().detail


def test_after_the_end_it_answers_nobody(companion):
    companion.close()
    with pytest.raises(SandboxError):
        companion.look()
