"""Runs inside a sandbox: whether a server beside it answers; exit code 0 when it does."""

from __future__ import annotations

import json
import sys

from sandbox.inside.services import READY

if __name__ == "__main__":
    wanted = json.loads(sys.stdin.read())
    sys.exit(0 if READY[wanted["kind"]](wanted) else 1)
