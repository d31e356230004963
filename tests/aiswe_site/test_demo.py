"""The recorded demo: what it prints while it prepares, and a complete run with its worker killed in the middle."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.aiswe_site.running import COMMAND, Up, aiswe, environment


@pytest.mark.timeout(300)
def test_it_prints_what_it_is_doing_until_it_can_be_watched(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "demo", "--home", str(tmp_path)],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    demo = Up(process, tmp_path)
    try:
        demo.wait_for(r"The recorded model is writing the plan")
    finally:
        code = demo.stop()
        assert process.stdout is not None
        process.stdout.close()
    steps = [
        "Preparing",
        "Creating the database",
        "Creating the project",
        "Starting",
        "is running: http",
        "Sign in as demo",
    ]
    printed = "".join(demo.lines)
    places = [printed.find(step) for step in steps]
    assert -1 not in places, printed
    assert places == sorted(places), printed
    assert code == 0


@pytest.mark.stage
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_it_ends_with_every_task_merged_although_its_worker_is_killed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "demo", "--headless", "--json", "--home", str(tmp_path), "--tokens-per-s", "2000"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said: list[str] = []
    first: list[int] = []

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if not first and re.search(r"\bT-\d+ .*: merged", line):
                first.append(int((tmp_path / "run" / "worker.pid").read_text()))
                os.kill(first[0], signal.SIGKILL)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
        code = process.wait()
    finally:
        process.kill()
        process.wait()
        listener.join()
    log = "".join(said)
    assert first, log
    assert "was killed by SIGKILL; starting it again" in log
    assert code == 0, log
    assert document["status"] == "finished"
    assert document["tasks"]["merged"] > 0
    assert document["tasks"]["escalated"] == 0
    assert document["audit"]["verified"] is True
    # Each task was merged once, although a step ran twice.
    merged = re.findall(r"\b(T-\d+) .*: merged", log)
    assert sorted(merged) == sorted(set(merged))
    assert len(merged) == document["tasks"]["merged"]
    assert "Traceback" not in log
    repository = Path(document["repository"])
    history = subprocess.run(
        ["git", "-C", str(repository), "log", "--format=%B"], capture_output=True, text=True, check=True
    ).stdout
    assert {line.removeprefix("Task: ").strip() for line in history.splitlines() if line.startswith("Task: ")} >= set(
        merged
    )
    (project,) = json.loads(aiswe("project", "list", "--json", home=tmp_path).stdout)
    bill = aiswe("project", "bill", project["project"], home=tmp_path)
    assert bill.returncode == 0, bill.stderr
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.stdout) is None
