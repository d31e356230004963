"""A small shop that is deployed, and versions of it that fare badly."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from projects.engine.operations import rollout
from projects.models import Deployment, Project, Target
from projects.services.operations import releases, targets
from projects.storage.paths import ensure_repository

SHOP = '''"""A shop."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prices import total


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, {"version": VERSION, "path": self.path})

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.answer(200, {"total": total(order)})

    def answer(self, status, data):
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


VERSION = 1
if __name__ == "__main__":
    print("the shop opens", flush=True)
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Shop).serve_forever()
'''
PRICES = "def total(order):\n    return order['price'] * order.get('count', 1)\n"


def version(number: int, **changes: str) -> dict[str, str]:
    """The files of a version of the shop."""
    files = {"app.py": SHOP.replace("VERSION = 1", f"VERSION = {number}"), "prices.py": PRICES}
    return files | {name.replace("_py", ".py"): text for name, text in changes.items()}


def shop(by: User, files: dict[str, str] | None = None, **fields: Any) -> Project:
    """A project whose first commit is a shop."""
    project = Project.objects.create(name="Shop", slug="shop", created_by=by, **fields)
    ensure_repository(project)
    commit(project, files or version(1))
    return project


def commit(project: Project, files: dict[str, str], removed: tuple[str, ...] = ()) -> str:
    """Merge these files; the commit."""
    repository = ensure_repository(project)
    base = repository.head()
    tree = repository.worktree("by-hand", base)
    tree.write(files)
    for path in removed:
        (Path(tree.path) / path).unlink()
    made = tree.commit(base, "By hand", "", {})
    repository.fast_forward(made)
    repository.remove("by-hand")
    return made


def deployed(project: Project, by: User, **options: Any) -> Target:
    """A target on which the newest commit is live."""
    target = targets.add_target(project, name="staging", kind="sandbox", by=by, options=options)
    releases.deploy(target, ensure_repository(project).head(), by=by)
    return until(target, lambda row: row.status == Deployment.Status.LIVE)


def until(target: Target, done: Callable[[Deployment], bool], seconds: float = 90.0) -> Target:
    """Look after a target until its newest deployment is as wanted."""
    end = time.monotonic() + seconds
    while True:
        rollout.tend(target)
        target.refresh_from_db()
        newest = target.deployments.first()
        assert newest is not None
        if done(newest):
            return target
        assert time.monotonic() < end, (newest.status, newest.reason, newest.step, newest.log)
        time.sleep(0.1)
