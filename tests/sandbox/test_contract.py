"""What every real backend promises, tried out on each of them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sandbox.base import Backend, PathRefused, Sandbox, SandboxError, SandboxUnavailable
from sandbox.selftest import probe_backend
from tests.sandbox.conftest import SMALL
from tests.tables import each_row
from tests.waiting import eventually

ALIVE = "import os; print(sum(n.isdigit() for n in os.listdir('/proc')))"


def python(box: Sandbox, source: str, **more: float) -> str:
    """What a Python program prints inside."""
    done = box.exec(["python", "-c", source], **more)  # type: ignore[arg-type]
    assert done.ok, done
    return done.out.strip()


def nothing_else_runs(box: Sandbox) -> bool:
    """Whether only the agent and the one that counts are left."""
    return python(box, ALIVE) == "2"


# -- commands ---------------------------------------------------------------------------------------------------------
def test_a_command_tells_its_exit_code_and_both_streams(box: Sandbox) -> None:
    done = box.exec(["sh", "-c", "echo out; echo err >&2; exit 7"])
    assert (done.exit_code, done.out, done.err, done.ok) == (7, "out\n", "err\n", False)


def test_a_command_reads_its_standard_input(box: Sandbox) -> None:
    assert box.exec(["wc", "-c"], stdin=b"x" * 2_000_000).out.strip() == "2000000"


def test_standard_input_that_nobody_reads_is_no_problem(box: Sandbox) -> None:
    assert box.exec(["true"], stdin=b"x" * 2_000_000).ok


def test_a_missing_program_is_data(box: Sandbox) -> None:
    done = box.exec(["no-such-program"])
    assert done.exit_code == 127
    assert "no-such-program" in done.err


def test_death_by_a_signal_is_told_as_a_shell_tells_it(box: Sandbox) -> None:
    assert box.exec(["sh", "-c", "kill -SEGV $$"]).exit_code == 128 + signal.SIGSEGV


def test_a_command_gets_the_environment_and_folder_it_was_given(box: Sandbox) -> None:
    box.put({"inner/file": b""})
    done = box.exec(["sh", "-c", "echo $WORD; pwd"], env={"WORD": "grün"}, cwd="inner")
    assert done.out == "grün\n/workspace/inner\n"


@each_row("cwd", ["..", "/etc", "a/../..", "a\0b"])
def test_a_folder_outside_is_refused(box: Sandbox, cwd: str) -> None:
    with pytest.raises(PathRefused):
        box.exec(["true"], cwd=cwd)


def test_a_nul_in_a_word_is_refused_and_harms_nothing(box: Sandbox) -> None:
    with pytest.raises(SandboxError):
        box.exec(["echo", "a\0b"])
    assert box.exec(["true"]).ok


def test_what_a_command_leaves_running_ends_with_it(box: Sandbox) -> None:
    assert box.exec(["sh", "-c", "setsid sleep 300 >/dev/null 2>&1 & sleep 300 & echo started"]).out == "started\n"
    assert nothing_else_runs(box)


def test_a_sandbox_full_of_processes_leaves_the_others_theirs(box: Sandbox, backend: Backend) -> None:
    filling = (
        "import os, time\nuntil = time.time() + 5\nwhile time.time() < until:\n    try:\n        mine = os.fork()\n"
        "    except OSError:\n        time.sleep(0.1)\n        continue\n    if not mine:\n        "
        "time.sleep(5)\n        os._exit(0)"
    )
    full = threading.Thread(target=box.exec, args=(["python", "-c", filling],))
    full.start()
    with backend.open(limits=SMALL) as other:
        ends = time.monotonic() + 3
        while time.monotonic() < ends:
            assert other.exec(["sh", "-c", "echo ran | cat"]).out == "ran\n"
    full.join(30)


# -- output -----------------------------------------------------------------------------------------------------------
@each_row(
    "command",
    [
        "head -c 300000000 /dev/zero",
        "yes",
        "cat /dev/urandom",
        "head -c 300000000 /dev/zero >&2",
        "printf 'a\\0b\\377'",
    ],
)
def test_any_output_is_capped_and_valid_text(box: Sandbox, command: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = box.exec(["sh", "-c", f"exec {command}"], seconds=20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes
    for text in (done.out, done.err):
        assert len(text) <= 2 * SMALL.output_bytes + 200
        assert "\0" not in text
        text.encode()
    assert done.truncated is not command.startswith("printf")


def test_the_first_and_the_last_lines_of_long_output_are_kept(box: Sandbox) -> None:
    done = box.exec(["sh", "-c", "echo first; yes | head -c 1000000; echo last"])
    assert done.exit_code == 0
    assert done.truncated
    assert done.out.startswith("first\n")
    assert done.out.endswith("last\n")
    assert "bytes left out" in done.out


# -- limits -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "command",
    ["sleep 300", "setsid -f sleep 300; sleep 300", "trap '' TERM INT; sleep 300 & wait", "while :; do :; done"],
)
def test_a_timeout_ends_the_command_and_all_its_children(box: Sandbox, command: str) -> None:
    done = box.exec(["sh", "-c", command], seconds=0.5)
    assert done.timed_out
    assert done.exit_code is None
    assert nothing_else_runs(box)


def test_what_was_said_before_a_timeout_is_kept(box: Sandbox) -> None:
    assert box.exec(["sh", "-c", "echo so far; sleep 300"], seconds=0.5).out == "so far\n"


def test_a_memory_bomb_is_killed_and_named(box: Sandbox) -> None:
    done = box.exec(["python", "-c", "kept = []\nwhile True: kept.append(bytearray(1 << 24))"])
    assert done.out_of_memory
    assert not done.ok
    assert box.exec(["true"]).ok


def test_a_fork_bomb_is_contained(box: Sandbox) -> None:
    box.exec(["bash", "-c", ":(){ :|:& };:; sleep 5"], seconds=2)
    assert nothing_else_runs(box)


def test_a_command_cannot_kill_its_sandbox(box: Sandbox) -> None:
    box.exec(["sh", "-c", "kill -9 1; kill -9 -1"])
    box.exec(["python", "-c", "import os; os.kill(1, 19); os.kill(1, 15); os.kill(1, 2)"])
    assert box.exec(["true"]).ok


def test_a_full_disk_is_reported_and_can_be_emptied(box: Sandbox) -> None:
    done = box.exec(["sh", "-c", "head -c 40000000 /dev/zero > a; head -c 40000000 /dev/zero > b"])
    assert "No space left on device" in done.err
    with pytest.raises(SandboxError, match="No space left"):
        box.put({"c": b"x" * 1_000_000})
    box.exec(["rm", "a", "b"])
    box.put({"c": b"x"})
    assert box.get(["c"]) == {"c": b"x"}


def test_one_file_cannot_grow_past_its_limit(box: Sandbox) -> None:
    done = box.exec(["sh", "-c", "ulimit -f; head -c 70000000 /dev/zero > /dev/shm/big"])
    assert not done.ok


# -- isolation --------------------------------------------------------------------------------------------------------
def test_every_probe_of_the_self_test_holds(backend: Backend) -> None:
    probes = probe_backend(backend)
    assert len(probes) == (27 if backend.name == "docker" else 26)
    assert [probe for probe in probes if not probe.ok] == []


def test_nothing_of_the_workers_environment_is_inside(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AISWE_TEST_TOKEN", "hunter2-hunter2")
    with backend.open(limits=SMALL) as box:
        assert "hunter2" not in box.exec(["sh", "-c", "env; cat /proc/*/environ 2>/dev/null"]).out


@each_row("place", ["/x", "/usr/x", "/etc/x", "/dev/x", "/proc/sys/kernel/core_pattern"])
def test_nothing_outside_the_workspace_can_be_written(box: Sandbox, place: str) -> None:
    assert not box.exec(["sh", "-c", f"echo x > {place}"]).ok


def test_two_sandboxes_know_nothing_of_each_other(backend: Backend) -> None:
    with backend.open(limits=SMALL) as one, backend.open(limits=SMALL) as two:
        one.put({"secret": b"1"})
        one.exec(["sh", "-c", "echo 1 > /tmp/secret"])
        assert two.get(["secret"]) == {}
        assert not two.exec(["cat", "/tmp/secret"]).ok


# -- files ------------------------------------------------------------------------------------------------------------
def test_files_go_in_and_come_out_unchanged(box: Sandbox) -> None:
    files = {"a/b/c.bin": bytes(range(256)) * 100, "empty": b"", "grün.txt": "ü".encode()}
    box.put(files)
    assert box.get([*files, "missing"]) == files


@each_row(
    "path",
    [
        "..",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a\0b",
        "",
        ".",
        "~/x",
        "C:\\x",
        "..\\x",
        "x" * 4096,
        "a/" * 600 + "x",
        "a\nb",
        "\ud800",
    ],
)
def test_a_path_that_would_leave_is_refused_both_ways(box: Sandbox, path: str) -> None:
    with pytest.raises(PathRefused):
        box.put({"fine": b"1", path: b"x"})
    with pytest.raises(PathRefused):
        box.get([path])
    assert box.get(["fine"]) == {}  # nothing was written before the refusal


def test_a_link_planted_in_the_workspace_is_not_followed(box: Sandbox) -> None:
    box.exec(["sh", "-c", "ln -s /etc folder; ln -s /etc/passwd file; ln -s /tmp/x new; mkfifo pipe"])
    for path in ("folder/passwd", "file"):
        with pytest.raises(PathRefused):
            box.get([path])
    for path in ("folder/x", "file", "new", "pipe"):
        with pytest.raises(PathRefused):
            box.put({"before": b"1", path: b"x"})
    assert box.get(["before", "pipe"]) == {}


def test_mirror_makes_the_workspace_equal_to_the_folder(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("a = 1\n")
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("secret")
    (tmp_path / "link").symlink_to("/etc/passwd")
    box.exec(
        [
            "sh",
            "-c",
            "mkdir -p old/deep src; echo x > old/deep/stale; ln -s /etc src/a.py; mkfifo p; mkdir closed; "
            "touch closed/x; chmod 0 closed",
        ]
    )
    box.mirror(tmp_path)
    assert box.exec(["sh", "-c", "find . | sort"]).out.split() == [".", "./run.sh", "./src", "./src/a.py"]
    assert box.exec(["./run.sh"]).out == "ran\n"
    (tmp_path / "src/a.py").write_text("a = 2\n")
    (tmp_path / "run.sh").unlink()
    box.mirror(tmp_path)
    assert box.get(["src/a.py", "run.sh"]) == {"src/a.py": b"a = 2\n"}


def test_a_rewritten_file_never_runs_stale_bytecode(box: Sandbox) -> None:
    for number in range(10, 30):
        box.put({"answer.py": f"VALUE = {number}\n".encode()})
        assert python(box, "import answer; print(answer.VALUE)") == str(number)


# -- life and death ---------------------------------------------------------------------------------------------------
def test_a_closed_sandbox_says_so(backend: Backend) -> None:
    box = backend.open(limits=SMALL)
    box.close()
    box.close()
    with pytest.raises(SandboxUnavailable, match="closed"):
        box.exec(["true"])


def test_opening_and_closing_leaves_no_file_open(backend: Backend) -> None:
    for _ in range(8):  # until the client's own pool of connections is full
        backend.open(limits=SMALL).close()
    before = len(os.listdir("/proc/self/fd"))
    kept = [backend.open(limits=SMALL) for _ in range(4)]
    for box in kept:
        box.close()
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_closing_from_another_thread_ends_a_running_command(backend: Backend) -> None:
    box = backend.open(limits=SMALL)
    threading.Timer(0.5, box.close).start()
    with pytest.raises(SandboxUnavailable):
        box.exec(["sleep", "25"])


def test_a_sandbox_outlives_the_thread_that_opened_it(backend: Backend) -> None:
    opened: list[Sandbox] = []
    thread = threading.Thread(target=lambda: opened.append(backend.open(limits=SMALL)))
    thread.start()
    thread.join()
    with opened[0] as box:
        assert box.exec(["true"]).ok


OWNER = """
import sys
from sandbox.base import SandboxLimits
from sandbox.registry import load_backend
box = load_backend(sys.argv[1]).open(limits=SandboxLimits(memory_mb=128), label="orphan")
print("open", flush=True)
box.exec(["sh", "-c", "setsid sleep 4242 & sleep 4242"], seconds=200)
"""


def orphans() -> int:
    """Processes on this host that belong to the command of OWNER."""
    count = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                count += folder.joinpath("cmdline").read_bytes() == b"sleep\x004242\x00"
            except OSError:
                continue
    return count


def until(wanted: int) -> int:
    """Wait until that many orphans are there; how many there are."""
    eventually(lambda: orphans() == wanted)
    return orphans()


def test_nothing_survives_an_owner_that_was_killed(backend: Backend) -> None:
    backend.reap()
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, backend.name],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"open\n"
        assert until(2) == 2
        owner.kill()
    assert until(0) == 0
    backend.reap()
    assert backend.reap() == 0


def test_reaping_spares_the_sandboxes_of_the_living(box: Sandbox, backend: Backend) -> None:
    backend.reap()
    assert box.exec(["true"]).ok
