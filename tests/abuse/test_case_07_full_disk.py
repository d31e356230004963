"""Case 7: a full disk, in the sandbox or where the product keeps its data, is an error with words; the audit trail is
still written.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from projects.models import Event, Task
from sandbox.base import Backend, SandboxError
from sandbox.pytest_run import run_pytest
from tests.faults.conftest import real, runner, still
from tests.needs import missing
from tests.sandbox.conftest import SMALL

__all__ = ["real", "runner", "still"]  # fixtures

FILLS = b"def test_it():\n    for n in range(9):\n        open(f'/workspace/{n}', 'wb').write(b'x' * (16 << 20))\n"


def test_a_test_that_fills_the_disk_fails_with_words_and_the_sandbox_goes(backend: Backend) -> None:
    with backend.open(limits=SMALL) as box:
        box.put({"test_fill.py": FILLS})
        report = run_pytest(box, coverage_of=())
        assert not report.ok
        assert "No space left on device" in (
            report.failures[0].message if report.failures else report.problem + report.output
        )
        with pytest.raises(SandboxError, match="No space left"):
            box.put({"more": b"x" * (8 << 20)})
    with backend.open(limits=SMALL) as fresh:
        assert fresh.exec(["sh", "-c", "head -c 20000000 /dev/zero > a && wc -c < a"]).out.strip() == "20000000"


def test_a_sandbox_takes_nothing_from_the_hosts_disk(backend: Backend) -> None:
    before = os.statvfs(tempfile.gettempdir())
    with backend.open(limits=SMALL) as box:
        box.exec(["sh", "-c", "head -c 40000000 /dev/zero > /workspace/a; head -c 40000000 /dev/zero > /tmp/b"])
        after = os.statvfs(tempfile.gettempdir())
        assert (before.f_bfree - after.f_bfree) * before.f_frsize < 30_000_000


@pytest.mark.django_db(transaction=True)
def test_below_the_reserve_a_task_waits_says_why_and_goes_on_later(still: Any, settings: Any) -> None:
    settings.DISK_RESERVE_MB = 10**9
    run = still.build("T-01")
    task = still.task()
    assert task.status == Task.Status.READY
    assert task.why.startswith("waiting for disk space: ")
    assert "MB are kept for the audit trail" in task.why
    assert "waiting for disk space" in run.why
    assert Event.objects.filter(run=run).exists()
    assert still.runner.calls.count("coder") == 0
    settings.DISK_RESERVE_MB = 0
    still.sweep()
    assert still.task().status == Task.Status.MERGED
    assert still.is_sound()


# A whole worker whose data lie on a disk of 40 MB, which something fills: the disk is real, and so is the end of it.
ON_A_SMALL_DISK = """
import json, os, sys
from pathlib import Path
home = Path(os.environ["AISWE_HOME"])
import django
django.setup()
from django.core.management import call_command
call_command("migrate", interactive=False, verbosity=0)
from projects.jobs import runs as run_jobs
from projects.engine import building
from projects.models import Event, Task
from projects.services.audit import chain
from tests.factories import make_task
from tests.rows import emit
task = make_task(status="ready")
building.open_backend = None  # it must not come so far
filled = (home / "something-else").open("wb")
free = os.statvfs(home)
while (os.statvfs(home).f_bavail * free.f_frsize) > 12 * 2**20:
    filled.write(b"x" * 2**20)
    filled.flush()
before = Event.objects.filter(run=task.run).count()
run_jobs.run_task(task.pk)
task.refresh_from_db()
left = os.statvfs(home).f_bavail * free.f_frsize // 2**20
emit(task.run_id, "system", summary="still written", role="runtime", actor="test", payload={"text": "still written"})
print(json.dumps({"why": task.why, "status": task.status, "events": Event.objects.filter(run=task.run).count() - before,
                  "left": left, "sound": chain.verify_run(task.run_id).ok}))
"""


@pytest.mark.bubblewrap
def test_on_a_disk_that_is_really_full_the_trail_is_written_and_the_reserve_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    wall = ["bwrap", "--dev-bind", "/", "/", "--size", str(40 * 2**20), "--tmpfs", str(home)]
    if os.geteuid():
        wall[1:1] = ["--unshare-user"]
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {
        "AISWE_HOME": str(home),
        "AISWE_DISK_RESERVE_MB": "20",
        "DJANGO_SETTINGS_MODULE": "aiswe_site.settings",
        "PYTHONPATH": os.getcwd(),
    }
    words = [*wall, sys.executable, "-c", ON_A_SMALL_DISK]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)
    if "Operation not permitted" in done.stderr and "bwrap" in done.stderr:
        missing(f"no small disk can be mounted here: {done.stderr[:200]}")
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["why"].startswith("waiting for disk space: ")
    assert str(home) in seen["why"]
    assert seen["status"] == "ready"
    assert seen["left"] >= 8
    assert seen["sound"]
    assert seen["events"] >= 2  # the task's moves, and what was written afterwards
