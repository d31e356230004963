"""Recipes for tests: the smallest one, and git repositories of them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

MANIFEST = (
    'title = "Tiny"\nsummary = "The smallest there is."\nlanguages = ["python"]\nstart = "python -m __PACKAGE__"\n'
)
SMALLEST = {"recipe.toml": MANIFEST, "skeleton/README.md": "# __NAME__\n"}


def write_recipe(folder: Path, files: Mapping[str, str | bytes | None] | None = None) -> Path:
    """A folder with the smallest recipe and these files; None leaves one out."""
    for path, text in {**SMALLEST, **(files or {})}.items():
        if text is None:
            continue
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def commit_all(folder: Path, *, tag: str = "") -> str:
    """Make a git repository of the folder, or a further commit of it; the commit."""

    def git(*argv: str) -> str:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        return subprocess.run(["git", *who, *argv], cwd=folder, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "Recipe")
    if tag:
        git("tag", tag)
    return git("rev-parse", "HEAD").strip()
