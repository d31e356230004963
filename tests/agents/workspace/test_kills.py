"""git or its worker is killed at a random step of three merges, again and again: the end is that of a quiet run."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.workspace import merging_worker
from tests.sizes import scaled

pytestmark = [pytest.mark.slow, pytest.mark.whole]
SEEDS = range(int(os.environ.get("SOAK_SEEDS", scaled(10, 4))))
HOME = Path(__file__).resolve().parents[3]
MOST_STARTS = 12
DEATHS = ("before", "middle", "after", "worker before", "worker after", "orphan", "locked")
# Stands before git on PATH; it dies, or its worker does, at one of its calls.
WRAPPER = """#!/bin/sh
n=$(($(cat "$KILL/count") + 1))
echo $n > "$KILL/count"
read at how wait < "$KILL/order"
[ $n -eq $at ] || exec "$KILL/git" "$@"
case "$how" in
before) kill -9 $$ ;;
middle) "$KILL/git" "$@" <&0 & sleep $wait; kill -9 $!; kill -9 $$ ;;
after) "$KILL/git" "$@"; kill -9 $$ ;;
worker_before) kill -9 $PPID; kill -9 $$ ;;
worker_after) "$KILL/git" "$@"; kill -9 $PPID; kill -9 $$ ;;
orphan) kill -9 $PPID; sleep 0.1; exec "$KILL/git" "$@" ;;
locked)
    case "$*" in *"update-ref --stdin"*) for ref in $(sed -n 's/^update \\([^ ]*\\) .*/\\1/p') HEAD; do
        mkdir -p "$(dirname $ref)"; : > $ref.lock; done ;; esac
    kill -9 $PPID; kill -9 $$ ;;
esac
"""


def result(place: Path) -> list[str]:
    """Trees and trailers along the line, oldest first, and what the base stands at."""
    repository = merging_worker.of(place)
    assert repository.base_head() == repository.head()
    shown = subprocess.run(
        ["git", "log", "--reverse", "--format=%T|%p|%an|%s|%(trailers:separator=%x2C)", repository.head()],
        cwd=repository.root,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split("|") for line in shown.stdout.splitlines()]
    return [f"{tree} {len(parents.split())} {words}" for tree, parents, *words in rows]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    place = tmp_path_factory.mktemp("quiet")
    merging_worker.work(place)
    assert len(result(place)) == 1 + len(merging_worker.TASKS)
    return result(place)


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_any_step_it_ends_as_if_nothing_had_happened(
    seed: int, undisturbed: list[str], tmp_path: Path
) -> None:
    chance = random.Random(seed)
    kill, place = tmp_path / "kill", tmp_path / "place"
    (kill / "bin").mkdir(parents=True)
    place.mkdir()
    (kill / "git").symlink_to(shutil.which("git") or "git")
    (kill / "bin" / "git").write_text(WRAPPER.replace("$KILL", str(kill)))
    (kill / "bin" / "git").chmod(0o755)
    environment = os.environ | {"PATH": f"{kill / 'bin'}:{os.environ['PATH']}"}
    orders = []
    for _ in range(MOST_STARTS):
        orders.append((chance.randint(1, 22), chance.choice(DEATHS), chance.uniform(0, 0.004)))
        at, how, wait = orders[-1] if len(orders) < MOST_STARTS - 1 else (0, "after", 0.0)
        (kill / "order").write_text(f"{at} {how.replace(' ', '_')} {wait:.4f}\n")
        (kill / "count").write_text("0")
        worker = [sys.executable, "-m", "tests.agents.workspace.merging_worker", str(place)]
        done = subprocess.run(worker, cwd=HOME, env=environment, capture_output=True, text=True, timeout=120)
        if not done.returncode:
            break
    assert done.returncode == 0, (orders, done.stderr[-2000:])
    assert result(place) == undisturbed, orders
    root = merging_worker.of(place).root
    assert not list(root.rglob("*.lock")), orders
    subprocess.run(["git", "fsck", "--strict", "--no-dangling"], cwd=root, check=True, capture_output=True)
