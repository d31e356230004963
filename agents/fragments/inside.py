"""The harness as it runs in the sandbox: calls a function in a process of its own and judges what comes back.

This text stands before the generated lines that name the code and the calls (agents.fragments.harness). What decides,
the expected results and the word that marks the verdict, comes by standard input after the fork, so the code under test
never has it: it can print what it likes and end as it likes without passing.
"""

from __future__ import annotations

import ast
import copy
import ctypes
import faulthandler
import json
import linecache
import math
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

REPORTS_AFTER = 4.0  # seconds: where a call that does not end stands, before the limit
PLACE = "<fragment>"
MOST = 4_000_000  # bytes that the code under test may hand back
NOT_DUMPABLE = 4  # of prctl: memory and open files of this process are not for the code under test


def plain(value: Any) -> Any:
    """The value as what a literal can say. Raises TypeError for anything else."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            if isinstance(value, float) and not math.isfinite(value):
                raise TypeError(f"the result holds {value}, which is not a number to go on with")
            return kind(value)
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    raise TypeError(f"the result holds a {type(value).__name__}: only text, numbers, lists and dicts are plain data")


def run_calls(code: str, name: str, calls: Sequence[Mapping[str, Any]], send: Callable[[dict[str, Any]], None]) -> None:
    """In the process under test: define the function, make each call, send what came of it."""
    linecache.cache[PLACE] = (len(code), None, code.splitlines(True), PLACE)
    faulthandler.dump_traceback_later(REPORTS_AFTER, exit=False)
    space: dict[str, Any] = {"__name__": "fragment"}
    try:
        exec(compile(code, PLACE, "exec"), space)  # noqa: S102 - that is what the sandbox is for
        function = space[name]
    except BaseException:  # noqa: BLE001 - whatever it is, it is the result
        send({"broken": shown_trace()})
        return
    for arguments in calls:
        before = copy.deepcopy(arguments)
        try:
            result = repr(plain(function(**arguments)))
            send({"result": result, "changed": [one for one in before if not same(arguments[one], before[one])]})
        except BaseException as error:  # noqa: BLE001
            kinds = [kind.__name__ for kind in type(error).__mro__]
            send({"raised": kinds, "trace": shown_trace()})


def shown_trace() -> str:
    """The traceback of what is being handled, from the fragment's own lines on."""
    lines = traceback.format_exc().splitlines(True)
    own = [row for row, line in enumerate(lines) if f'"{PLACE}"' in line]
    return "".join([lines[0], *lines[own[0] :]] if own else lines)


def same(got: Any, expected: Any) -> bool:
    """Equality in which floats may differ in their last digits and True is not 1."""
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(got, int | float) and isinstance(expected, int | float):
        return math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(same(got[key], expected[key]) for key in got)
    return type(got) is type(expected) and got == expected


def judged(rows: Sequence[Mapping[str, Any]], examples: Sequence[Mapping[str, str]]) -> str:
    """What is wrong, "" when every call gave what its example says."""
    for example, row in zip(examples, rows, strict=False):
        if "broken" in row:
            return str(row["broken"])
        if example["raises"]:
            if "raised" not in row:
                return f"AssertionError: {example['call']} raised nothing; {example['raises']} is expected\n"
            if example["raises"] not in row["raised"]:
                return f"{row['trace']}\n{example['call']} must raise {example['raises']} instead\n"
        elif "raised" in row:
            return f"{row['trace']}\nraised by {example['call']}\n"
        elif not same(ast.literal_eval(row["result"]), ast.literal_eval(example["result"])):
            got = str(row["result"])[:400]
            return f"AssertionError: {example['call']} returned {got}, expected {example['result']}\n"
        elif row.get("changed"):
            names = ", ".join(map(str, row["changed"]))
            return f"AssertionError: {example['call']} changed what it was given ({names}); work on a copy\n"
    if len(rows) < len(examples):
        return f"the process ended by itself before {examples[len(rows)]['call']} returned\n"
    return ""


def main(code: str, name: str, calls: Sequence[Mapping[str, Any]]) -> None:
    """Fork, hand the calls over, judge, print one line and end: 0 for a fragment that holds."""
    ctypes.CDLL(None).prctl(NOT_DUMPABLE, 0, 0, 0, 0)  # before the fork: afterwards would be a race
    back, answers = os.pipe()
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)  # what the code prints is no verdict
        keep = os.dup2(answers, 3)
        os.closerange(4, 1024)

        def send(row: dict[str, Any]) -> None:
            os.write(keep, (json.dumps(row) + "\n").encode())

        try:
            run_calls(code, name, calls, send)
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.close(answers)
    told = json.loads(sys.stdin.buffer.read())
    data = b""
    while len(data) < MOST and (more := os.read(back, 65536)):
        data += more
    os.kill(child, 9)
    os.waitpid(child, 0)
    try:
        wrong = judged([json.loads(line) for line in data.splitlines()], told["examples"])
    except Exception as error:  # noqa: BLE001 - the code under test wrote it
        wrong = f"what came back could not be read: {type(error).__name__}: {error}\n"
    verdict = "TEST_FAILED" if wrong else "TEST_PASSED"
    sys.stdout.write(f"\n{verdict} {told['token']} {json.dumps(wrong[-6000:])}\n")
    sys.stdout.flush()
    os._exit(1 if wrong else 0)
