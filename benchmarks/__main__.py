"""`python -m benchmarks [NAME…] [--json]`: run all or the named ones, one after the other.

`python -m benchmarks trials --help` is about whole tasks (benchmarks/trials.py), `… extraction --help` about the
extraction of requirements (benchmarks/extraction_corpus.py), `… questions --help` about finding code
(benchmarks/asking.py), `… review --help` about faults hidden in real changes (benchmarks/reviewing.py).
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks.figures import CannotMeasure, Section
from benchmarks.printing import print_json, print_section

# Name to module, imported on use; each has TITLE and `measure(section, options)`.
NAMES = {
    "sandbox": "benchmarks.sandboxes",
    "gates": "benchmarks.scanning",
    "firewall": "benchmarks.wall",
    "containment": "benchmarks.containment",
    "engine": "benchmarks.engine",
    "event_log": "benchmarks.event_log",
    "viewers": "benchmarks.viewers",
    "browser": "benchmarks.browser",
    "diamond": "benchmarks.diamond",
    "start": "benchmarks.start",
    "replies": "benchmarks.replies",
    "prefix": "benchmarks.prefix",
    "chat": "benchmarks.chatting",
}


# Commands with options of their own.
COMMANDS = {
    "trials": "benchmarks.trials",
    "extraction": "benchmarks.extraction_corpus",
    "questions": "benchmarks.asking",
    "review": "benchmarks.reviewing",
}


def main(argv: list[str] | None = None) -> int:
    """Exit code 0: measured (or skipped with its reason); 1: a measurement failed; 2: wrong use."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in COMMANDS:
        return int(import_module(COMMANDS[words[0]]).main(words[1:]))
    parser = argparse.ArgumentParser(prog="benchmarks", description="Measure the product against baselines.")
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
        module = import_module(NAMES[name])
        section = Section(name, module.TITLE)
        began = time.monotonic()
        try:
            module.measure(section, options)
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
