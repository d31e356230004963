"""git as a person runs it."""

import os
import subprocess
from pathlib import Path

ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"},
    **{f"GIT_{who}_{what}": "p@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *argv: str, text: bytes = b"") -> str:
    """What the command prints, without the blanks around it."""
    env = {**os.environ, **ENVIRONMENT}
    done = subprocess.run(["git", *argv], cwd=folder, input=text, env=env, check=True, capture_output=True)
    return done.stdout.decode().strip()
