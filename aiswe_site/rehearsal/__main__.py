"""The process that rehearses: python -m aiswe_site.rehearsal FOLDER, with the folder's own data folder.

Its progress goes to stdout, a line each; what flow and worker say of their work, to stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agents.rehearsal.upstream import PastCommit, suitable
from aiswe_site.startup import django, serving
from aiswe_site.startup.home import data_folder
from aiswe_site.terminal import output
from projects.services.insight.rehearsals import REFERENCE, Order, RehearsalFolder

# Where the installation keeps what is its own: nothing of it is written, or read, in a rehearsal.
_OUTSIDE = ("DATABASE_URL", "REDIS_URL", "AISWE_AUDIT_HEADS", "AISWE_SHARE_LESSONS")


def main() -> int:
    """Rehearse what has no result yet; exit code 1 when it could not go on to the end."""
    folder = RehearsalFolder(Path(sys.argv[1]).resolve())
    order = folder.order()
    if order is None:
        return 2
    with folder.taken() as ours:
        if not ours:
            return 1
        folder.clear()  # what a killed process left; what it had done is in the results
        done = {result.sha for result in folder.results()}
        todo = [one for sha in order.commits if sha not in done for one in suitable(Path(order.git_dir), sha, newest=1)]
        try:
            return _rehearse(folder, order, todo) if todo else 0
        finally:
            folder.clear()


def _rehearse(folder: RehearsalFolder, order: Order, todo: Sequence[PastCommit]) -> int:
    for name in _OUTSIDE:
        os.environ.pop(name, None)
    for name, file in {"AISWE_MODELS_FILE": "models.toml", "AISWE_AGENTS_FILE": "agents.toml"}.items():
        os.environ[name] = os.environ.get(name) or str(data_folder() / file)
    os.environ["AISWE_HOME"] = str(folder.home)
    if order.model in ("", REFERENCE):
        os.environ["AISWE_MODEL"] = f"scripted:{folder.work / 'replies'}"
        os.environ["AISWE_DEMO_TOKENS_PER_S"] = "0"  # nobody watches these words being written
    django.start()
    from aiswe_site.rehearsal.play import Rehearser

    with serving.worker(output.note) as worker:
        player = Rehearser(folder, order, worker)
        for number, change in enumerate(todo, len(order.commits) - len(todo) + 1):
            if order.tokens and sum(result.tokens for result in folder.results()) >= order.tokens:
                output.say(f"Stopped before commit {number}: {order.tokens:,} tokens are used.")
                return 1
            output.say(f"{number} of {len(order.commits)}: {change.subject[:80]}")
            result = player.play(change)
            if worker.failure:
                return 1
            folder.keep(result)
            output.say(f"  {result.outcome}" + (f": {result.cause[:160]}" if result.cause else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
