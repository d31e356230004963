"""`python -m measure review prepare|score DIR`: does a review find the fault that is hidden in a real change?

`prepare` fetches two releases of each of ten packages from the package index, makes a repository of them in DIR
(branches `main` and `change`) and plants one fault into a function that the later release changed; which, only
`DIR/planted.json` tells. Then, for each: `aiswe project import DIR/NAME`, and `aiswe review main..change --project NAME
--json` into DIR/NAME.result.json.
`score` counts the faults that were found, and the remarks about something else.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import json
import random
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.engine.change_review.units import rows_of
from agents.languages.python.syntax import parse
from agents.languages.registry import is_test, language, language_of
from sandbox.package_index.index import IndexClient, python_index

PAIRS = (
    "schedule 1.1.0 1.2.0|tinydb 4.7.1 4.8.0|sqlparse 0.5.1 0.5.2|humanize 4.9.0 4.10.0|python-dotenv 1.0.0 1.0.1|"
    "cachetools 5.4.0 5.5.0|parse 1.20.0 1.20.2|xmltodict 0.13.0 0.14.2|natsort 8.3.1 8.4.0|pluggy 1.4.0 1.5.0"
)
NEAR = 3  # lines between the fault and a remark on it
# Kind of fault, what it replaces (a regular expression) and by what.
FAULTS: tuple[tuple[str, str, str], ...] = (
    ("off by one", r"range\(([^()]+)\)", r"range(\1 - 1)"),
    ("off by one", r"\[(\w+):\]", r"[\1 + 1:]"),
    ("off by one", r"(\w) \+ 1\b", r"\1"),
    ("off by one", r"(\w) - 1\b", r"\1"),
    ("wrong comparison", r" < ", " <= "),
    ("wrong comparison", r" > ", " >= "),
    ("wrong comparison", r" <= ", " < "),
    ("wrong comparison", r" >= ", " > "),
    ("wrong comparison", r" == ", " != "),
    ("lost None check", r"if ([\w.]+) is not None\b", r"if \1"),
    ("lost None check", r"if ([\w.]+) is None or ", "if "),
    ("lost None check", r" is None\b", " is not None"),
    ("wrong default", r"=True\b", "=False"),
    ("wrong default", r"=False\b", "=True"),
    ("wrong default", r"(\w)=1\b", r"\1=0"),
    ("swapped arguments", r"(?<!def )\b(\w+)\((\w+), (\w+)\)", r"\1(\3, \2)"),
    ("unsafe call", r"\b(?:int|float)\((?=[a-z])", "eval("),
    ("unsafe call", r"\bjson\.loads\(", "eval("),
    ("resource leak", r"with (open\(.*\)) as (\w+):", r"\2 = \1\n{indent}if \2:"),
    ("missing lock", r"with (?:self\.)?_?\w*lock\w*:", "if True:"),
    ("quadratic", r"= (?:frozen)?set\((?=\w)", "= list("),
    ("wrong condition", r" and ", " or "),
    ("wrong condition", r"\bif not ", "if "),
    ("wrong condition", r" or ", " and "),
    ("broken edge case", r" or (?:\"\"|''|\[\]|\{\}|\(\)|0)", ""),
    ("broken edge case", r"\.(?:strip|lower|rstrip|copy)\(\)", ""),
    ("broken edge case", r"max\(\w+, (\w+)\)", r"\1"),
    ("broken edge case", r"except \((\w+), [^)]*\)", r"except \1"),
)


@dataclass(frozen=True)
class Planted:
    """A fault: its place in `head`, and what it made of which line."""

    package: str
    kind: str
    path: str
    line: int
    before: str
    after: str
    in_changed_function: bool


def fetch(client: IndexClient, name: str, version: str) -> dict[str, bytes]:
    """The files of a source distribution, without its top folder. Raises LookupError."""
    page = client.page(name)
    wanted = [one for one in page.files if one.name.endswith(f"-{version}.tar.gz")] if page else []
    if not wanted:
        raise LookupError(f"{name} has no source of {version}")
    with client.open(wanted[0].url) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != wanted[0].hashes.get("sha256"):
        raise LookupError(f"{name} {version} is not what the index says")
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        files = {one.name.partition("/")[2]: packed.extractfile(one) for one in packed.getmembers() if one.isfile()}
        return {path: file.read() for path, file in files.items() if file and ".." not in path.split("/")}


def _git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "core.autocrlf=false"]
    done = subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout


def _commit(folder: Path, files: dict[str, bytes], message: str, tag: str) -> None:
    for old in _git(folder, "ls-files", "-z").split("\0"):
        if old:
            (folder / old).unlink()
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    _git(folder, "add", "-A", "-f")
    _git(folder, "commit", "-q", "-m", message)
    _git(folder, "tag", tag)


def candidates(
    old: dict[str, bytes], new: dict[str, bytes], folder: Path
) -> Iterator[tuple[bool, str, str, int, str, str]]:
    """Every fault that could be planted: in a changed function, path, kind, line, that line before and after."""
    diff = _git(folder, "diff", "-U1000000", "--no-color", "base", "clean")
    parts = {part.split(" b/", 1)[1].split("\n", 1)[0]: part for part in re.split(r"(?m)^diff --git ", diff)[1:]}
    for path, part in parts.items():
        spoken = language_of(path)
        if spoken is not language() or is_test(path) or path not in new or path.startswith(("docs/", "setup")):
            continue
        text = new[path].decode()
        changed = {row.line for row in rows_of(part) if row.is_changed and row.text.strip()}
        quiet = _quiet_lines(text)
        spans = [one for one in spoken.definitions(path, text) or () if one.kind == "function"]
        for number, line in enumerate(text.split("\n"), 1):
            span = next((one for one in spans if one.first <= number <= one.last), None)
            if span is None or number in quiet or line.lstrip().startswith(("#", "@", '"', "'")):
                continue
            here = any(span.first <= one <= span.last for one in changed)
            for kind, pattern, by in FAULTS:
                found = re.search(pattern, line)
                if found is None or "#" in line[: found.start()]:
                    continue
                indent = line[: len(line) - len(line.lstrip())]
                made = line[: found.start()] + found.expand(by).replace("{indent}", indent) + line[found.end() :]
                whole = text.split("\n")
                whole[number - 1] = made
                if made != line and not spoken.syntax_error(path, "\n".join(whole)):
                    yield here, path, kind, number, line, made


def _quiet_lines(text: str) -> set[int]:
    """Lines of texts, where a fault would be none."""
    return {
        line
        for node in ast.walk(parse(text))
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno and node.end_lineno > node.lineno
        for line in range(node.lineno, node.end_lineno + 1)
    }


def prepare(folder: Path, seed: int, pairs: Sequence[str]) -> list[Planted]:
    """Make the repositories and plant the faults; equal seeds plant equal ones."""
    client, chosen, used = IndexClient(python_index()), random.Random(seed), Counter[str]()  # noqa: S311
    planted = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, first, second in (pair.split() for pair in pairs):
        old, new = fetch(client, name, first), fetch(client, name, second)
        place = folder / name
        place.mkdir()
        _git(place, "init", "-q", "-b", "main")
        _commit(place, old, f"{name} {first}", "base")
        _git(place, "checkout", "-q", "-b", "scratch")
        _commit(place, new, f"{name} {second}", "clean")
        found = sorted(candidates(old, new, place))
        found = [one for one in found if one[0]] or found
        kinds = sorted({one[2] for one in found})
        kind = min(chosen.sample(kinds, len(kinds)), key=lambda one: used[one])
        used[kind] += 1
        here, path, kind, line, before, after = chosen.choice([one for one in found if one[2] == kind])
        lines = new[path].decode().split("\n")
        lines[line - 1] = after
        _git(place, "checkout", "-q", "main")
        _commit(place, new | {path: "\n".join(lines).encode()}, f"{name} {second}", "head")
        _git(place, "branch", "-q", "-D", "scratch")
        _git(place, "tag", "-d", "clean")
        _git(place, "branch", "change")
        _git(place, "reset", "-q", "--hard", "base")
        planted.append(Planted(name, kind, path, line, before.strip(), after.strip(), here))
    (folder / "planted.json").write_text(json.dumps([asdict(one) for one in planted], indent=1))
    return planted


def judged(fault: dict[str, Any], findings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Whether a review found the fault, by which remark, and what else it says."""
    lines = fault["after"].count("\n")
    near = [
        one
        for one in findings
        if one["path"] == fault["path"] and fault["line"] - NEAR <= one["line"] <= fault["line"] + lines + NEAR
    ]
    return {"found": bool(near), "by": near[:1], "others": [one for one in findings if one not in near]}


def score(folder: Path) -> dict[str, Any]:
    """What the results in `folder` come to; a remark that is not about the fault is to be judged by a person."""
    rows = []
    for fault in json.loads((folder / "planted.json").read_text()):
        result = folder / f"{fault['package']}.result.json"
        if result.exists():
            found = json.loads(result.read_text())
            rows.append({"fault": fault, **judged(fault, found["findings"]), "pieces": found["pieces"]})
    return {
        "requests": len(rows),
        "found": sum(row["found"] for row in rows),
        "other_remarks": sum(len(row["others"]) for row in rows),
        "rows": rows,
    }


def main(argv: Sequence[str]) -> int:
    """Exit code 0: done; 1: a package cannot be had."""
    parser = argparse.ArgumentParser(prog="measure review", description=__doc__)
    parser.add_argument("verb", choices=["prepare", "score"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", default=PAIRS, help="NAME OLD NEW, with | between them")
    options = parser.parse_args(argv)
    if options.verb == "score":
        sys.stdout.write(json.dumps(score(options.folder), indent=1) + "\n")
        return 0
    try:
        made = prepare(options.folder, options.seed, options.pairs.split("|"))
    except LookupError as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    sys.stdout.write(f"{len(made)} repositories in {options.folder}; what was planted is in planted.json.\n")
    return 0
