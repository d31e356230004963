"""aiswe up: one process tree that serves, comes back, and ends."""

from __future__ import annotations

import os
import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.aiswe_site.running import WAIT_S, Up, aiswe, alive, up
from tests.waiting import eventually


def gone(pid: int) -> bool:
    return eventually(lambda: not alive(pid))


def test_it_serves_says_where_and_stops_on_sigterm(tmp_path: Path) -> None:
    with up(tmp_path) as server:
        assert server.answers() == 200
        worker = server.worker
        assert server.stop() == 0
        assert not alive(worker)
        assert not (tmp_path / "run" / "worker.pid").exists()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with up(tmp_path_factory.mktemp("home")) as found:
        assert found.address, "it holds its folder now, whichever test comes first"
        yield found


def test_a_killed_worker_is_started_again_at_the_same_address(server: Up) -> None:
    assert server.answers() == 200
    first = server.worker
    os.kill(first, signal.SIGKILL)
    server.wait_for("was killed by SIGKILL; starting it again")
    # Asked in the gap: the parent holds the socket, so this waits instead of being refused.
    assert server.answers() == 200
    server.wait_for("is up again")
    assert server.worker != first
    assert alive(server.worker)


def test_the_worker_does_not_outlive_a_killed_parent_and_its_folder_can_be_used_again(tmp_path: Path) -> None:
    with up(tmp_path) as server:
        assert server.answers() == 200
        worker = server.worker
        server.stop(signal.SIGKILL)
        assert gone(worker)
    with up(tmp_path) as server:
        assert server.answers() == 200


def test_a_second_one_on_the_same_folder_is_refused_and_names_the_first(server: Up) -> None:
    second = aiswe("up", "--port", "0", home=server.home)
    assert second.returncode == 1
    assert server.address in second.stderr
    assert str(server.process.pid) in second.stderr
    assert "AISWE_HOME" in second.stderr
    assert server.answers() == 200


def test_a_busy_port_is_named_with_a_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = aiswe("up", "--port", str(port), home=tmp_path)
    assert refused.returncode == 1
    assert f"127.0.0.1:{port}" in refused.stderr
    assert "--port" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_child_that_cannot_start_is_not_tried_for_ever(tmp_path: Path) -> None:
    (tmp_path / "db.sqlite3").write_bytes(b"this is no database" * 100)
    refused = aiswe("up", "--port", "0", home=tmp_path)
    assert refused.returncode == 1
    assert "cannot start" in refused.stderr
    assert "not a database" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "starting it again" not in refused.stderr


def test_the_first_visit_makes_the_administrator_also_beside_users_made_by_commands(tmp_path: Path) -> None:
    prd = tmp_path / "prd.md"
    prd.write_text("FR-01: The system shall store notes.\n")
    assert aiswe("project", "new", "Notes", "--prd", str(prd), home=tmp_path / "home").returncode == 0
    with up(tmp_path / "home") as server:
        server.wait_for("the first visit creates the administrator")
        server.wait_for(r"Set-up token \(makes the first administrator, once; not asked for on this machine itself\)")
        with urllib.request.urlopen(server.address, timeout=WAIT_S) as page:
            assert b"<title>Set up" in page.read()
