"""How the command firewall judges commands that people really typed, and how long it takes for one."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import tree_sitter
import tree_sitter_bash

from agents.firewall.judge import inspect
from measure.figures import CannotMeasure, Figure, Section, Spread

TITLE = "the command firewall over commands that people typed (nl2bash)"
MOST = 3_000  # commands judged; a fixed sample of the file
FILE = "nl2bash.txt"


def measure(section: Section, options: Any) -> None:
    """Fill the section, or say why it is skipped."""
    if options.data is None:
        section.skipped = f"no commands given; --data DIR names a folder with {FILE} (one command a line)"
        return
    commands = read(Path(options.data))
    verdicts: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    took, parsing = [], []
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    for command in commands:
        start = time.perf_counter()
        verdict = inspect("command", command)
        took.append(1000 * (time.perf_counter() - start))
        verdicts[verdict.decision] += 1
        if verdict.decision == "deny":
            rules[verdict.rule] += 1
        start = time.perf_counter()
        parser.parse(command.encode())
        parsing.append(1000 * (time.perf_counter() - start))
    total = Spread(len(commands), len(commands), len(commands), "commands")
    section.figures = [
        Figure("one verdict", Spread.of(took, "ms"), Spread.of(parsing, "ms"), "parsing a command, nothing else"),
        *(
            Figure(f"  {decision}", Spread(1, count, count, "commands"), total, "all commands judged", better="")
            for decision, count in verdicts.most_common()
        ),
    ]
    words = ", ".join(f"{rule} {count}" for rule, count in rules.most_common(6))
    section.notes = [f"denied most often by: {words}"] if words else []
    section.notes.append(
        "these commands are ordinary ones on a whole machine; a sandboxed build needs few of their kind"
    )


def read(folder: Path) -> list[str]:
    """At most MOST commands, always the same ones. Raises CannotMeasure for a folder without them."""
    file = folder / FILE
    try:
        lines = [line for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    except OSError as problem:
        raise CannotMeasure(f"{file} cannot be read: {problem.strerror}") from None
    if not lines:
        raise CannotMeasure(f"{file} holds no command")
    return lines if len(lines) <= MOST else random.Random(1).sample(lines, MOST)  # noqa: S311  a sample, no secret
