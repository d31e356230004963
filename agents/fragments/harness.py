"""Prove a logic fragment: a generated script calls it with its examples in the sandbox, for five seconds at most."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agents.fragments.blueprint import LogicFragment
from agents.fragments.inside import PLACE
from agents.fragments.values import read_value
from sandbox.base import ExecResult, Sandbox, SandboxUnavailable
from sandbox.test_script import script_runner

LIMIT_SECONDS = 5.0  # of computing: time in which the machine gives it no CPU does not count
STARVED_TRIES = 3
PASSED, FAILED = "TEST_PASSED", "TEST_FAILED"
_ERROR_CHARS = 4_000


@dataclass(frozen=True)
class Proof:
    """What a harness said of a fragment; `error` is "" when every example holds."""

    error: str
    result: ExecResult

    @property
    def ok(self) -> bool:
        """True when every example holds."""
        return not self.error

    @property
    def kind(self) -> str:
        """The error in one line, such as `TypeError: can't multiply sequence by non-int of type 'float'`."""
        lines = [line for line in self.error.splitlines() if line.strip()]
        named = [line for line in lines if line[:1].isalpha() and "Error" in line.partition(":")[0]]
        return (named or lines or [""])[-1].strip()[:300]


@cache
def _inside() -> str:
    return Path(__file__).with_name("inside.py").read_text()


def harness_script(fragment: LogicFragment, code: str) -> str:
    """The script for this code: it holds the calls, and nothing that would tell the code what is expected of it."""
    calls = [fragment.arguments(example) for example in fragment.examples]
    return f"{_inside()}\n\nCODE = {code!r}\nCALLS = {calls!r}\nmain(CODE, {fragment.name!r}, CALLS)\n"


def prove(sandbox: Sandbox, fragment: LogicFragment, code: str) -> Proof:
    """Run the harness. Raises SandboxError: a sandbox that broke or got no CPU three times says nothing of the code."""
    runner, script = script_runner(sandbox), harness_script(fragment, code)
    examples = [one.model_dump() | {"result": _shown(one.result)} for one in fragment.examples]
    for _ in range(STARVED_TRIES):
        token = secrets.token_hex(16)
        told = json.dumps({"token": token, "examples": examples}).encode()
        result = runner.run_script(script, ["harness"], seconds=LIMIT_SECONDS, stdin=told)
        if not result.starved:
            return Proof(read_verdict(result, token), result)
    raise SandboxUnavailable("the machine is so busy that a harness of five seconds got no CPU; it is tried again")


def _shown(result: str) -> str:
    """A result as the harness reads it: JSON's words for True, False and None become Python's."""
    return repr(read_value(result)) if result.strip() else ""


def read_verdict(result: ExecResult, token: str) -> str:
    """What is wrong, "" for a proof. Only a line with the token counts, and only with the exit code that goes with it.

    The token was made for this run and never shown to the code under test.
    """
    lines = [line.split(" ", 2) for line in result.out.splitlines() if line.startswith((PASSED, FAILED))]
    marked = [(words[0], words[2]) for words in lines if len(words) == 3 and words[1] == token]
    tail = result.err.strip()[-_ERROR_CHARS:]
    if result.timed_out:
        own = [line.strip() for line in result.err.splitlines() if f'"{PLACE}"' in line]
        where = f"\nWhere it was: {'; '.join(own[:5])}" if own else ""
        return (
            f"TimeoutError: the calls did not end within {LIMIT_SECONDS:.0f} seconds; is there an endless loop?{where}"
        )
    if result.out_of_memory:
        return f"MemoryError: the calls need more memory than the sandbox has.\n{tail}".strip()
    if len(marked) == 1 and marked[0][0] == PASSED and result.exit_code == 0:
        return ""
    if len(marked) == 1 and marked[0][0] == FAILED:
        try:
            said = str(json.loads(marked[0][1])).strip()
        except ValueError:
            said = ""
        return said[-_ERROR_CHARS:] or "The examples do not hold."
    return f"The harness came to no verdict (exit {result.exit_code}).\n{tail}".strip()
