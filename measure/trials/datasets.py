"""Tasks with known answers from files that people have: HumanEval, MBPP, or folders of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.languages.registry import language_of

FORMATS = ("humaneval", "mbpp", "folder", "exercism")
SOLUTION, TESTS = "solution.py", "tests/test_solution.py"
MAX_FILE = 1_000_000
TITLE = 120  # characters
_DOCSTRING = re.compile(r"(?:\"\"\"|''')\s*(.+?)\s*(?:\"\"\"|'''|\Z)", re.DOTALL)
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class BadDataset(ValueError):
    """The dataset cannot be read; the text names the place and the way out."""


@dataclass(frozen=True)
class TrialTask:
    """One task: what is asked, the files it starts from, the tests that judge it, and an answer that passes them."""

    id: str
    text: str
    tests: Mapping[str, str]
    reference: Mapping[str, str]
    start: Mapping[str, str] = field(default_factory=dict)
    title: str = ""  # what it is about in a few words, as a task of a plan has it

    @property
    def name(self) -> str:
        """The id as a file name and branch may carry it."""
        return _NAME.sub("-", self.id).strip("-.") or "task"


def load_tasks(path: Path, format_: str, limit: int | None = None) -> list[TrialTask]:
    """Read a dataset in file order; raises BadDataset."""
    readers = {"humaneval": _functions, "mbpp": _mbpp, "folder": _folders, "exercism": _exercises}
    if format_ not in readers:
        raise BadDataset(f"unknown format {format_!r}; known: {', '.join(FORMATS)}")
    try:
        tasks = list(readers[format_](path))
    except OSError as error:
        raise BadDataset(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadDataset(f"{path} is not UTF-8 text") from None
    if not tasks:
        raise BadDataset(f"{path} holds no task in the format {format_!r}")
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise BadDataset(f"{path}: two tasks are called {twice[0]}")
    return tasks[:limit] if limit else tasks


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                raise BadDataset(f"{path}:{number} is not a line of JSON") from None
            if not isinstance(row, dict):
                raise BadDataset(f"{path}:{number} is not an object")
            yield number, row


def _functions(path: Path) -> Iterator[TrialTask]:
    """Rows of `task_id, prompt, canonical_solution, entry_point, test`, the test defining `check(candidate)`."""
    for number, row in _rows(path):
        try:
            prompt, answer = str(row["prompt"]), str(row["canonical_solution"])
            entry, test = str(row["entry_point"]), str(row["test"])
            name = str(row["task_id"])
        except KeyError as missing:
            raise BadDataset(f"{path}:{number} has no field {missing}") from None
        if not entry.isidentifier():
            raise BadDataset(f"{path}:{number}: {entry!r} is not a function name")
        # The tests may use other functions of the module too.
        own = f"{entry} as candidate_" if entry.lower().startswith("test") else f"{entry}, {entry} as candidate_"
        head = f"{_STAR}from solution import {own}\n\n"
        yield TrialTask(
            name,
            f"Write the Python module {SOLUTION} with the function `{entry}`, whole. It begins like "
            f"this:\n\n```python\n{prompt.strip(chr(10))}\n```",
            {TESTS: f"{head}{test.strip(chr(10))}\n\n\ndef test_{entry}():\n    check(candidate_)\n"},
            {SOLUTION: f"{prompt.strip(chr(10))}\n{answer.strip(chr(10))}\n"},
            title=_title(f"{entry}: {_first_words(prompt, entry)}"),
        )


def _first_words(prompt: str, entry: str) -> str:
    """How the function's docstring begins."""
    _, _, after = prompt.rpartition(f"def {entry}(")
    found = _DOCSTRING.search(after)
    return found[1].split(">>>")[0] if found else ""


def _title(text: str) -> str:
    """One line, not longer than a title is."""
    words = " ".join(text.split()).rstrip(": ")
    return words if len(words) <= TITLE else f"{words[: TITLE - 1]}…"


# A solution whose own function is called test_… is no test: pytest would collect it.
_STAR = """from solution import *

for _name in [name for name in globals() if name.lower().startswith("test")]:
    del globals()[_name]

"""


def _case(number: int, line: str) -> str:
    """One assertion as a test; functions called test_… are imported where no collector looks."""
    hidden = sorted(set(re.findall(r"\btest\w*(?=\()", line)))
    own = f"    from solution import {', '.join(hidden)}\n\n" if hidden else ""
    return f"def test_{number}():\n{own}    {line}\n"


def _mbpp(path: Path) -> Iterator[TrialTask]:
    """MBPP as first published (`text, code, test_list`), or in the shape of HumanEval."""
    first = next(_rows(path), None)
    if first is not None and "canonical_solution" in first[1]:
        yield from _functions(path)
        return
    for number, row in _rows(path):
        try:
            text, code, asserts = str(row.get("text") or row["prompt"]), str(row["code"]), list(row["test_list"])
        except (KeyError, TypeError) as missing:
            raise BadDataset(f"{path}:{number} lacks {missing}") from None
        setup = str(row.get("test_setup_code") or "\n".join(row.get("test_imports") or []))
        cases = "\n\n".join(_case(at, line) for at, line in enumerate(map(str, asserts), 1))
        shown = "\n".join(map(str, asserts[:1]))
        yield TrialTask(
            f"MBPP/{row.get('task_id', number)}",
            f"{text}\nWrite the Python module {SOLUTION}, whole. Its function is used like "
            f"this:\n\n```python\n{shown}\n```",
            {TESTS: f"{_STAR}\n{setup}\n\n\n{cases}"},
            {SOLUTION: code.replace("\r\n", "\n").rstrip() + "\n"},
            title=_title(text),
        )


def _folders(path: Path) -> Iterator[TrialTask]:
    """A folder a task: `task.md`, `start/` (perhaps buggy, perhaps empty), `tests/`, `reference/`."""
    if not path.is_dir():
        raise BadDataset(f"{path} is not a directory")
    for folder in sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith(".")):
        if not (folder / "task.md").is_file():
            raise BadDataset(f"{folder} has no task.md")
        tests = {f"tests/{name}": text for name, text in _tree(folder / "tests").items()}
        reference = _tree(folder / "reference")
        if not any(_holds_tests(name, text) for name, text in tests.items()):
            raise BadDataset(f"{folder}/tests holds no test_*.py, *.test.js or other file of tests")
        if not reference:
            raise BadDataset(f"{folder}/reference is empty: a failure cannot be judged without a reference answer")
        text = (folder / "task.md").read_text(encoding="utf-8")
        first = next((line.lstrip("# ") for line in text.splitlines() if line.strip()), "")
        title = _title(f"{folder.name}: {first}")
        yield TrialTask(folder.name, text, tests, reference, _tree(folder / "start"), title)


def _holds_tests(name: str, text: str) -> bool:
    spoken = language_of(name)
    return spoken is not None and (Path(name).name.startswith("test_") or bool(spoken.ids_of_tests(name, text)))


def _exercises(path: Path) -> Iterator[TrialTask]:
    """Exercises as Exercism and Aider's polyglot benchmark lay them out: `.meta/config.json` names the files."""
    for config in sorted(path.rglob(".meta/config.json")):
        folder = config.parent.parent
        try:
            named = json.loads(config.read_text(encoding="utf-8"))["files"]
            solution, example = list(map(str, named["solution"])), list(map(str, named["example"]))
            there, tests = _tree(folder), list(map(str, named["test"]))
            files = {name: there[name] for name in (*solution, *tests, *example)}
        except (ValueError, KeyError, TypeError) as missing:
            raise BadDataset(f"{config}: solution, test or example is not named, or not there: {missing}") from None
        spoken = language_of(solution[0])
        if spoken is None or not spoken.runs_tasks:
            title = spoken.title if spoken else "another language"
            raise BadDataset(f"{folder} is in {title}: the product cannot build tasks in it yet")
        told = [folder / ".docs" / f"{name}.md" for name in ("introduction", "instructions", "instructions.append")]
        text = "\n\n".join(place.read_text(encoding="utf-8").strip() for place in told if place.is_file())
        yield TrialTask(
            folder.name,
            f"{text}\n\nWrite {', '.join(solution)}; keep the names that are given.",
            {name: files[name] for name in tests},
            {name: files[given] for name, given in zip(solution, example, strict=False)},
            {name: files[name] for name in solution},
            _title(folder.name),
        )


def _tree(folder: Path) -> dict[str, str]:
    """The text files below a folder; links are not followed."""
    if not folder.is_dir():
        return {}
    found = {}
    for entry in sorted(folder.rglob("*")):
        if entry.is_symlink() or not entry.is_file() or "__pycache__" in entry.parts:
            continue
        if entry.stat().st_size > MAX_FILE:
            raise BadDataset(f"{entry} is larger than {MAX_FILE:,} bytes")
        found[entry.relative_to(folder).as_posix()] = entry.read_text(encoding="utf-8")
    return found
