"""Case 22: the worker is killed after an effect was announced and before its outcome was written down.

The announcement is committed first, so the trail shows what may have happened; whoever takes over announces anew, does
the effect once, and the first announcement stays on record as one whose end nobody knows.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.abuse.crashing import STORIES
from tests.tables import each_row

REPOSITORY = Path(__file__).resolve().parents[2]
OUTCOMES = {  # the last part of the key of each effect's outcome
    "git.merge": "merged",
    "git.commit": "commit",
    "command": "cmd",
    "files.apply": "apply",
    "model.call": "0",
}
pytestmark = [pytest.mark.stage, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What happened at every point, from a process of its own."""
    home = tmp_path_factory.mktemp("crashes")
    done = subprocess.run(
        [sys.executable, "-m", "tests.abuse.crashing", str(home)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@each_row(("point", "moment"), STORIES)
def test_the_announcement_is_there_and_the_outcome_is_not(told: dict[str, Any], point: str, moment: str) -> None:
    after = told[f"{point} {moment}"]["killed"]
    assert told[f"{point} {moment}"]["signal"] == signal.SIGKILL
    assert after["sound"]
    assert after["announced"][-1] == point
    assert len(after["open"]) == 1
    assert after["open"][0][1] is False
    assert after["open"][0][0] == OUTCOMES.get(point, after["open"][0][0])


@each_row(("point", "moment"), STORIES)
def test_the_next_worker_ends_it_and_the_first_announcement_stays_in_doubt(
    told: dict[str, Any], point: str, moment: str
) -> None:
    story = told[f"{point} {moment}"]
    end = story["finally"]
    assert story["ended"] == 0
    assert end["sound"]
    assert (end["status"], end["merged"]) == ("merged", 1)
    if point == "git.merge" and moment == "after":
        # It is seen in the repository that the merge took place: its outcome is written, nothing is done again.
        assert (end["open"], end["again"]) == ([], [])
    else:
        assert [again for _, again in end["open"]] == [True]
        assert end["again"] == [point]
