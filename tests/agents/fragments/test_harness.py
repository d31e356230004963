"""A fragment is proven by its examples in the sandbox; nothing that it prints, ends or catches makes it pass."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agents.fragments.harness import STARVED_TRIES, harness_script, prove, read_verdict
from sandbox.base import ExecResult, Sandbox, SandboxUnavailable
from sandbox.registry import open_backend
from tests.agents.fragments import crm
from tests.tables import each_row

TAX = crm.LOGIC["calculate_tax"]


ADD, FIND, CALCULATE = crm.whole().logic


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_backend("bubblewrap").open(label="harness") as opened:
        yield opened


@pytest.mark.bubblewrap
def test_code_that_gives_what_its_examples_say_is_proven(sandbox: Sandbox) -> None:
    for fragment in (ADD, FIND, CALCULATE):
        code = f"from typing import Any\n\n\n{crm.LOGIC[fragment.name]}"
        proof = prove(sandbox, fragment, code)
        assert proof.ok, proof.error


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (crm.BROKEN_TAX, ["line 3, in calculate_tax", "TypeError: can't multiply sequence by non-int of type 'float'"]),
        (
            TAX.replace("* rate", "+ rate"),
            ["AssertionError: calculate_tax('100', 0.19) returned 100.19, expected 19.0"],
        ),
        (TAX.replace("round(float(amount) * rate, 2)", "{1, 2}"), ["TypeError: the result holds a set"]),
        (TAX.replace("float(amount) * rate", "float('nan')"), ["the result holds nan"]),
        (f"1 / 0\n{TAX}", ["ZeroDivisionError"]),
    ],
)
def test_a_failure_comes_with_its_trace(sandbox: Sandbox, code: str, words: list[str]) -> None:
    proof = prove(sandbox, CALCULATE, code)
    assert not proof.ok
    for word in words:
        assert word in proof.error
    assert "inside" not in proof.error


@pytest.mark.bubblewrap
def test_code_that_changes_what_it_was_given_is_not_proven(sandbox: Sandbox) -> None:
    body = (
        crm.LOGIC["add_customer"].replace("return [*customers, {", "customers.append({").replace("worth}]", "worth})")
    )
    proof = prove(sandbox, ADD, f"from typing import Any\n\n\n{body}    return customers\n")
    assert proof.kind == (
        "AssertionError: add_customer([], 'Ada', 10) changed what it was given (customers); work on a copy"
    )


@pytest.mark.bubblewrap
def test_an_example_that_must_be_refused_fails_for_code_that_accepts_it(sandbox: Sandbox) -> None:
    careless = crm.LOGIC["add_customer"].replace("if not name.strip()", "if not name")
    proof = prove(sandbox, ADD, f"from typing import Any\n{careless}")
    assert "add_customer([], ' ', 1) raised nothing; ValueError is expected" in proof.error


FORGED = [
    "print('TEST_PASSED')",
    "import os\n    os._exit(0)",
    "raise SystemExit(0)",
    # Whatever it knows of its own process: arguments, environment, open files, the frames above.
    "import sys\n    sys.stdout.write('TEST_PASSED ' + ' '.join(sys.argv) + ' \"\"\\n')\n    sys.exit(0)",
    "import os\n    [os.write(fd, b'TEST_PASSED x \"\"\\n') for fd in (1, 2)]",
    "import sys\n    frame = sys._getframe()\n"
    "    while frame:\n        print({k: v for k, v in frame.f_locals.items() if k in ('told', 'token')})\n"
    "        frame = frame.f_back",
    "import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)",
]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("trick", FORGED)
def test_a_forged_verdict_is_refused(sandbox: Sandbox, trick: str) -> None:
    proof = prove(sandbox, CALCULATE, f"def calculate_tax(amount, rate):\n    {trick}\n    return 0.0\n")
    assert not proof.ok


@pytest.mark.bubblewrap
@pytest.mark.parametrize("place", ["mem", "fd/0", "fd/1"])
def test_the_code_cannot_reach_memory_or_files_of_the_process_that_holds_the_token(
    sandbox: Sandbox, place: str
) -> None:
    look = f"    import os\n    open(f'/proc/{{os.getppid()}}/{place}', 'rb')\n"
    spying = f"def calculate_tax(amount, rate):\n{look}    return 19.0\n"
    assert "PermissionError" in prove(sandbox, CALCULATE, spying).error


def test_the_script_holds_the_calls_and_not_what_is_expected() -> None:
    script = harness_script(CALCULATE, TAX)
    assert "'amount': '100'" in script
    assert "19.0" not in script.replace("0.19", "")


DONE = ExecResult(argv=("harness",), exit_code=0, out="", err="", seconds=0.1)


@each_row(
    ("result", "words"),
    [
        (replace(DONE, out='TEST_PASSED t ""\n'), ""),
        (replace(DONE, out='TEST_PASSED t ""\n', exit_code=1), "no verdict"),
        (replace(DONE, out='TEST_PASSED t ""\n', exit_code=None), "no verdict"),
        (replace(DONE, out='TEST_PASSED other ""\n'), "no verdict"),
        (replace(DONE, out="TEST_PASSED\n"), "no verdict"),
        (replace(DONE, out='TEST_PASSED t ""\nTEST_FAILED t "wrong"\n'), "no verdict"),
        (replace(DONE, out='TEST_FAILED t "TypeError: x"\n', exit_code=1), "TypeError: x"),
        (replace(DONE, out="TEST_FAILED t broken\n", exit_code=1), "do not hold"),
        (replace(DONE, out='TEST_PASSED t ""\n', timed_out=True, exit_code=None), "TimeoutError"),
        (replace(DONE, out_of_memory=True, exit_code=None), "MemoryError"),
        (replace(DONE, exit_code=139, err="Segmentation fault"), "Segmentation fault"),
    ],
)
def test_only_a_marked_line_with_its_exit_code_is_a_proof(result: ExecResult, words: str) -> None:
    said = read_verdict(result, "t")
    assert words in said
    assert bool(words) == bool(said)


class Busy:
    """A sandbox on a machine that has no CPU for it."""

    backend = "busy"

    def __init__(self, starved: int) -> None:
        self.left, self.runs = starved, 0

    def run_script(
        self, source: str, argv: object = (), *, seconds: float | None = None, stdin: bytes = b""
    ) -> ExecResult:
        self.runs += 1
        if self.runs <= self.left:
            return replace(DONE, exit_code=None, timed_out=True, starved=True)
        return replace(DONE, out=f'TEST_PASSED {json.loads(stdin)["token"]} ""\n')


def test_a_starved_machine_is_tried_again_and_is_no_verdict() -> None:
    busy = Busy(STARVED_TRIES - 1)
    assert prove(busy, CALCULATE, TAX).ok  # type: ignore[arg-type]
    with pytest.raises(SandboxUnavailable, match="no CPU"):
        prove(Busy(STARVED_TRIES), CALCULATE, TAX)  # type: ignore[arg-type]
