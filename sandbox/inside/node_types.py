"""Runs inside a sandbox: the TypeScript compiler as a check, without a file being written."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence

ERROR = re.compile(r"^(?P<file>[^\s(:][^(\n:]*)\((?P<line>\d+),\d+\): error (?P<code>TS\d+): (?P<text>.*)$")
ALONE = re.compile(r"^error (?P<code>TS\d+): (?P<text>.*)$")
# For a project without a tsconfig.json. `allowImportingTsExtensions`: what runs the files here takes both spellings.
DEFAULT = {
    "strict": True,
    "noEmit": True,
    "skipLibCheck": True,
    "target": "es2022",
    "module": "preserve",
    "moduleResolution": "bundler",
    "moduleDetection": "force",
    "esModuleInterop": True,
    "resolveJsonModule": True,
    "jsx": "react-jsx",
    "allowImportingTsExtensions": True,
    "allowJs": True,
    "lib": ["es2023", "dom", "dom.iterable"],
}
# The names that runners make global, for a project that does not list the types of its runner.
GLOBALS = "\n".join(
    f"declare const {name}: any;"
    for name in "describe it test expect suite before after beforeEach afterEach beforeAll afterAll jest vi".split()
)
_COMMENT = re.compile(r"\"(?:\\.|[^\"\\])*\"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_MOST = 60


def configurations(folder: str, scratch: str, typed: Sequence[str]) -> list[str]:
    """The tsconfig files that together name the project's files; one of ours when it has none."""
    own = os.path.join(folder, "tsconfig.json")
    try:
        with open(own, encoding="utf-8") as file:
            text = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else "", file.read())
    except OSError:
        place = os.path.join(scratch, "tsconfig.json")
        roots = [f"{base}/@types" for base in (f"{folder}/node_modules", "/workspace/node_modules", "/node_modules")]
        options = {**DEFAULT, "typeRoots": [root for root in roots if os.path.isdir(root)]}
        files = [os.path.join(folder, path) for path in typed]
        if not any(os.path.isdir(f"{root}/{name}") for root in roots[:2] for name in ("jest", "mocha")):
            files.append(os.path.join(scratch, "globals.d.ts"))
            with open(files[-1], "w", encoding="utf-8") as made:
                made.write(GLOBALS)
        with open(place, "w", encoding="utf-8") as made:
            json.dump({"compilerOptions": options, "files": files}, made)
        return [place]
    try:
        read = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
        linked = [os.path.join(folder, str(one["path"])) for one in read.get("references", [])]
        if linked and not read.get("include") and not read.get("files"):
            return [one if one.endswith(".json") else os.path.join(one, "tsconfig.json") for one in linked]
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # the compiler says what is wrong with it
    return [own]


def type_errors(compiler: str, folder: str, scratch: str, typed: Sequence[str], home: str) -> list[tuple[str, str]]:
    """Files and what the compiler says about each, with the lines that belong to it."""
    found: dict[str, list[str]] = {}
    for place in configurations(folder, scratch, typed):
        words = ["node", compiler, "--noEmit", "--pretty", "false", "--skipLibCheck", "--emitDeclarationOnly", "false"]
        done = subprocess.run(
            [*words, "-p", place], capture_output=True, text=True, errors="replace", cwd=folder, check=False
        )
        last = ""
        for line in done.stdout.splitlines():
            if error := ERROR.match(line):
                last = os.path.relpath(os.path.join(folder, error["file"]), home)
                found.setdefault(last, []).append(f"{last}{line[error.end('file') :]}")
            elif ALONE.match(line):
                last = os.path.relpath(place, home) if place.startswith(home) else "tsconfig.json"
                found.setdefault(last, []).append(line)
            elif last and line.startswith(" "):
                found[last].append(line)
        if done.returncode and not found:
            found["tsconfig.json"] = [
                (done.stdout + done.stderr).strip()[-2000:] or f"tsc ended with {done.returncode}"
            ]
    return [(path, "\n".join(lines[:_MOST])) for path, lines in found.items()]
