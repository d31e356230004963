"""How a program for Node that answers requests is started."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from agents.languages.layouts import Reader
from agents.languages.node.packages import is_for_node, manifest_of
from agents.languages.node.test_files import is_test

_SERVES = re.compile(r"\.listen\s*\(|\bserve\s*\(\s*[\{\w]|createServer\s*\(")
_LIKELY = ("server", "index", "main", "app")
_ONLY_NODE = re.compile(r"(?:node|tsx)(?:\s+[\w./=:@-]+)+")
MOST_FILES = 400


def start_commands(read: Reader, paths: Collection[str]) -> tuple[list[str], str]:
    """Commands and the file that tells them: package.json's own start script, else its command; else the tests."""
    manifest = manifest_of(read("package.json"))
    if not manifest and not any(is_for_node(path) for path in paths):
        return [], ""
    scripts = manifest.get("scripts")
    if isinstance(scripts, dict) and "start" in scripts:
        return ["npm install", "npm start"], "package.json"
    commands = manifest.get("bin")
    if isinstance(commands, dict) and commands:
        return ["npm install", f"npx {min(map(str, commands))}"], "package.json"
    if isinstance(scripts, dict) and "dev" in scripts:
        return ["npm install", "npm run dev"], "package.json"
    if not manifest:
        return [], ""
    return ["npm install", "npm test"], ""


def serve_command(read: Reader, paths: Collection[str], port: int) -> tuple[str, ...]:
    """The words of package.json's start script where it runs Node, else a script that listens; the port is in PORT."""
    scripts = manifest_of(read("package.json")).get("scripts")
    start = str(scripts.get("start", "")) if isinstance(scripts, dict) else ""
    if _ONLY_NODE.fullmatch(start) and (found := _with_loader(start.split())) and _listens(read, paths, found[-1]):
        return found
    sources = [path for path in paths if is_for_node(path) and not is_test(path) and ".config." not in path]
    for path in sorted(sources, key=_rank)[:MOST_FILES]:
        if ".listen" in (text := read(path)) and _SERVES.search(text) and "PORT" in text:
            return _with_loader(["node", path])
    return ()


def _listens(read: Reader, paths: Collection[str], path: str) -> bool:
    """Whether the script, or what may be imported by it, opens a port that it is told."""
    own = path.removeprefix("./")
    near = [one for one in paths if is_for_node(one) and not is_test(one)]
    return own in paths and any(".listen" in read(one) for one in [own, *near[:MOST_FILES]])


def _with_loader(words: Sequence[str]) -> tuple[str, ...]:
    """TypeScript is run by tsx, which is among the sandbox's tools."""
    if words[0] == "node" and words[-1].endswith((".ts", ".mts", ".cts")) and "tsx" not in words:
        return ("node", "--import", "file:///node_modules/tsx/dist/loader.mjs", *words[1:])
    return tuple(words)


def _rank(path: str) -> tuple[int, int, str]:
    name = path.rpartition("/")[2].partition(".")[0]
    return (_LIKELY.index(name) if name in _LIKELY else len(_LIKELY), path.count("/"), path)
