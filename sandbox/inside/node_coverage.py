"""Runs inside a sandbox: coverage of scripts, from the file that JavaScript tools can write (coverage-final.json)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any

from sandbox.inside.node_choice import ASIDE, FOLDERS, SCRIPT_FILE, is_test_name

# Lines that V8 counts and nobody can run: empty ones, comments, brackets alone.
_NOTHING = re.compile(r"^\s*(?:$|//|/?\*|[\])};,]+\s*$)")
_MOST_LINES = 500


def sources_of(measured: Iterable[str], paths: Iterable[str]) -> list[str]:
    """The scripts in these files and folders that are no tests, no types and no configuration."""
    wanted = [one.removeprefix("./").rstrip("/") for one in measured]
    found = []
    for path in paths:
        parts = path.split("/")
        if not SCRIPT_FILE.search(path) or path.endswith((".d.ts", ".d.mts", ".d.cts")) or ".config." in parts[-1]:
            continue
        if is_test_name(path) or (FOLDERS | ASIDE) & set(parts[:-1]) or parts[-1].startswith("."):
            continue
        if any(one in ("", ".", path) or path.startswith(f"{one}/") for one in wanted):
            found.append(path)
    return found


def read_coverage(file: str, root: str, sources: Iterable[str]) -> dict[str, Any]:
    """Shares by file, as the report's last row has them; a file that no test loaded has none of its lines covered."""
    try:
        with open(file, encoding="utf-8") as text:
            document = json.load(text)
    except (OSError, ValueError):
        return {"branch_coverage": None, "files": {}}
    known = {os.path.relpath(os.path.realpath(path), root): one for path, one in document.items()}
    files, done, total = {}, 0, 0
    for path in sources:
        try:
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as text:
                lines = text.read().splitlines()
        except OSError:
            continue
        hits, ways = _hits(known[path]) if path in known else ({at + 1: 0 for at in range(len(lines))}, [])
        hits = {
            line: count for line, count in hits.items() if line <= len(lines) and not _NOTHING.match(lines[line - 1])
        }
        reached, taken = sum(map(bool, hits.values())), sum(bool(count) for _, count in ways)
        missing = {line for line, count in hits.items() if not count} | {line for line, count in ways if not count}
        shares = [100 * part / whole if whole else 100.0 for part, whole in ((reached, len(hits)), (taken, len(ways)))]
        files[path] = (*shares, sorted(missing)[:_MOST_LINES])
        done, total = done + reached + taken, total + len(hits) + len(ways)
    return {"branch_coverage": 100 * done / total if total else None, "files": files}


def _hits(one: dict[str, Any]) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """How often each line ran, and of each way out of a branch its line and how often it was taken."""
    hits: dict[int, int] = {}
    for key, place in one.get("statementMap", {}).items():
        line = int(place["start"]["line"])
        hits[line] = max(hits.get(line, 0), int(one["s"].get(key, 0)))
    ways = []
    for key, branch in one.get("branchMap", {}).items():
        counts, places = one["b"].get(key, []), branch.get("locations", [])
        for at, count in enumerate(counts):
            place = (
                places[at] if at < len(places) and places[at].get("start", {}).get("line") else branch.get("loc", {})
            )
            ways.append((int(place.get("start", {}).get("line") or 1), int(count)))
    return hits, ways
