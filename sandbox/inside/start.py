"""Process 1 of a sandbox that runs commands."""

from __future__ import annotations

from sandbox.inside.serve import main

if __name__ == "__main__":
    main({})
