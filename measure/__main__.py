"""`python -m measure [NAME…] [--json]`: run all or the named ones, one after the other.

`python -m measure trials --help` is about whole tasks, `… extraction --help` about the extraction of requirements,
`… questions --help` about finding code, `… review --help` about faults hidden in real changes.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from measure.figures import CannotMeasure, Section
from measure.printing import print_json, print_section

# Name to module, imported on use; each has TITLE and `measure(section, options)`.
NAMES = {
    "sandbox": "measure.performance.sandbox",
    "gates": "measure.performance.gates",
    "firewall": "measure.performance.firewall",
    "containment": "measure.corpora.containment.check",
    "engine": "measure.performance.engine",
    "event_log": "measure.performance.event_log",
    "viewers": "measure.performance.viewers",
    "browser": "measure.performance.browser",
    "diamond": "measure.performance.diamond",
    "start": "measure.performance.start",
    "replies": "measure.corpora.replies.check",
    "prefix": "measure.performance.prefix",
    "chat": "measure.performance.chat",
}


# Commands with options of their own.
COMMANDS = {
    "trials": "measure.trials.matrix",
    "extraction": "measure.corpora.extraction.check",
    "questions": "measure.corpora.questions.check",
    "review": "measure.corpora.review.check",
}


def module(name: str) -> Any:
    """That module. Exits with a sentence where it is left out, as in a wheel and in the image."""
    try:
        return import_module(name)
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "measure":
            raise
        raise SystemExit(f"{problem.name} is in a checkout of the source only: clone it to measure this.") from None


def main(argv: list[str] | None = None) -> int:
    """Exit code 0: measured (or skipped with its reason); 1: a measurement failed; 2: wrong use."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in COMMANDS:
        return int(module(COMMANDS[words[0]]).main(words[1:]))
    parser = argparse.ArgumentParser(prog="measure", description="Measure the product against baselines.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all of them by default: {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON document on stdout")
    parser.add_argument("--data", type=Path, help="a folder that holds nl2bash.txt, for the firewall's shares")
    parser.add_argument("--nl2bash", metavar="FILE", help="containment: ordinary commands, one a line")
    parser.add_argument("--malicious", metavar="FILE", help="containment: more malicious commands, one a line")
    parser.add_argument("--insecure", metavar="DIR", help="containment: more insecure Python, CWE-… in the paths")
    parser.add_argument("--references", metavar="DIR", help="containment: reference solutions in *.jsonl files")
    parser.add_argument("-n", type=int, default=0, help="repetitions; each benchmark has a default of its own")
    options = parser.parse_args(words)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; known: {', '.join(NAMES)}")
    console = Console(soft_wrap=False)
    sections, failed = [], False
    for name in options.names or NAMES:
        measuring = module(NAMES[name])
        section = Section(name, measuring.TITLE)
        began = time.monotonic()
        try:
            measuring.measure(section, options)
        except CannotMeasure as problem:
            section.skipped, failed = f"failed: {problem}", True
        section.seconds = time.monotonic() - began
        sections.append(section)
        if not options.as_json:
            print_section(section, console)
    if options.as_json:
        print_json(sections)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
