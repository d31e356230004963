"""Check every wall of house.toml: `python -m scripts.house`. With `--lower`, first lower ceilings to what there is."""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from scripts.house import circles, commits, complexity, lines, markers, words
from scripts.house.tree import Tree

WALLS = (lines, complexity, circles, markers, words, commits)


def problems(root: Path) -> list[str]:
    """What passes a wall in the checkout at `root`, one sentence each; empty where every wall holds."""
    tree = Tree(root)
    house = tomllib.loads((root / "house.toml").read_text(encoding="utf-8"))
    return [problem for wall in WALLS for problem in wall.check(tree, house)]


def lower(root: Path) -> None:
    """Write the ceilings anew that the code has come below. No ceiling rises and none is added."""
    tree, path = Tree(root), root / "house.toml"
    text = path.read_text(encoding="utf-8")
    house = tomllib.loads(text)
    for wall in (lines, complexity, words):
        text = wall.lower(text, tree, house)
    path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 when every wall holds, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m scripts.house", description=__doc__)
    parser.add_argument("--lower", action="store_true", help="lower the ceilings in house.toml to what the code needs")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout (default: this folder)")
    options = parser.parse_args(arguments)
    if not (options.root / ".git").exists():
        print(f"✕ {options.root} is not a git checkout, so the walls were not checked: clone it", file=sys.stderr)
        return 1
    if options.lower:
        lower(options.root)
    found = problems(options.root)
    for problem in found:
        print(f"✕ {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
