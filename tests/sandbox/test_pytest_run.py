"""Test runs in a sandbox: what the report says, and what tested code cannot make it say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sandbox.base import ExecResult, Sandbox
from sandbox.pytest_run import read_report, run_pytest
from sandbox.test_setup import TestSetup
from tests.sandbox.fake_backend import FakeSandbox

CODE = b"def sign(n):\n    if n < 0:\n        return -1\n    if n == 0:\n        return 0\n    return 1\n"


def test_a_green_run_is_ok_and_measured(box: Sandbox) -> None:
    box.put(
        {
            "sign.py": CODE,
            "tests/test_sign.py": b"from sign import sign\ndef test_a(): assert sign(-3) == -1\ndef test_b(): "
            b"assert sign(3) == 1\n",
        }
    )
    report = run_pytest(box)
    assert report.ok
    assert (report.passed, report.collected, report.exit_code) == (2, 2, 0)
    assert report.branch_coverage == pytest.approx(80.0)
    assert report.uncovered == {"sign.py": [4, 5]}


@pytest.mark.bubblewrap
def test_only_the_files_that_are_asked_for_are_measured(bubble: Sandbox) -> None:
    test = b"from sign import sign\nimport other\ndef test_a(): assert sign(3) == 1\n"
    bubble.put({"sign.py": CODE, "other.py": b"import sys\n", "tests/test_sign.py": test})
    assert set(run_pytest(bubble, coverage_of=["sign.py"]).covered) == {"sign.py"}
    assert set(run_pytest(bubble).covered) == {"sign.py", "other.py"}


@pytest.mark.bubblewrap
def test_a_file_rewritten_within_a_second_is_never_tested_stale(bubble: Sandbox) -> None:
    for number in range(10, 30):
        test = f"from answer import VALUE\ndef test_it(): assert VALUE == {number}\n"
        bubble.put({"answer.py": f"VALUE = {number}\n".encode(), "test_answer.py": test.encode()})
        assert run_pytest(bubble, coverage_of=()).ok, number


@pytest.mark.bubblewrap
def test_a_failure_carries_its_message_and_trace(bubble: Sandbox) -> None:
    bubble.put({"test_x.py": b"def test_good(): pass\ndef test_bad():\n    left = 1\n    assert left == 2\n"})
    report = run_pytest(bubble, coverage_of=())
    assert not report.ok
    assert (report.passed, report.failed, report.branch_coverage) == (1, 1, None)
    assert report.failures[0].nodeid == "test_x.py::test_bad"
    assert "assert 1 == 2" in report.failures[0].message
    assert "left = 1" in report.failures[0].traceback


@pytest.mark.bubblewrap
def test_a_failure_tells_what_a_server_logged_instead_of_raising(bubble: Sandbox) -> None:
    code = b"import logging\ndef answer():\n    try: return nothing\n    except NameError:\n"
    test = b"from app import answer\ndef test_it(): assert answer() == 200\n"
    bubble.put({"app.py": code + b"        logging.exception('failed')\n        return 500\n", "test_x.py": test})
    (failure,) = run_pytest(bubble, coverage_of=()).failures
    assert "assert 500 == 200" in failure.message
    assert "NameError: name 'nothing' is not defined" in failure.traceback
    assert failure.traceback.rstrip().endswith("AssertionError")


@pytest.mark.bubblewrap
def test_a_test_that_closes_the_output_breaks_the_run_and_fails_it(bubble: Sandbox) -> None:
    test = b"import sys, pytest\ndef test_a(capsys): sys.stdout.close()\n@pytest.mark.parametrize('n', range(9))\n"
    bubble.put({"test_x.py": test + b"def test_b(n): pass\n"})
    report = run_pytest(bubble, coverage_of=())
    assert report.void
    assert report.broken
    assert report.failed + report.errors > report.passed
    assert "closed file" in report.failures[0].message


SIGNALS = b"""import os, signal, socket
import pytest

def test_a_late_write_to_a_closed_socket():
    here, there = socket.socketpair()
    there.close()
    with pytest.raises(BrokenPipeError):
        here.send(b"x")

def test_an_interrupt():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.bubblewrap
def test_signals_are_exceptions_as_in_any_python(bubble: Sandbox) -> None:
    bubble.put({"test_x.py": SIGNALS})
    report = run_pytest(bubble, coverage_of=())
    assert (report.ok, report.passed) == (True, 2)


@pytest.mark.bubblewrap
def test_a_missing_module_is_an_error_that_names_it(bubble: Sandbox) -> None:
    bubble.put({"test_x.py": b"import nowhere\n"})
    report = run_pytest(bubble)
    assert report.errors == 1
    assert "No module named 'nowhere'" in report.failures[0].message


@pytest.mark.bubblewrap
def test_skips_and_broken_fixtures_are_counted_apart(bubble: Sandbox) -> None:
    bubble.put(
        {
            "test_x.py": b"import pytest\n@pytest.fixture\ndef broken(): 1/0\ndef test_a(broken): "
            b"pass\n@pytest.mark.skip\ndef test_b(): pass\n"
        }
    )
    report = run_pytest(bubble)
    assert (report.errors, report.skipped, report.passed, report.ok) == (1, 1, 0, False)


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    "source",
    [
        b"VALUE = 1\n",
        b"import pytest\n@pytest.mark.skip\ndef test_a(): pass\n",
        b"import os\nos._exit(0)\n",
        b"import sys\nsys.exit(0)\n",
        b"raise SystemExit(0)\n",
        b"import pytest\npytest.exit('done', 0)\n",
        b"def test_a():\n    import os\n    os.kill(os.getpid(), 9)\n",
    ],
)
def test_nothing_proven_is_not_a_pass(bubble: Sandbox, source: bytes) -> None:
    bubble.put({"test_x.py": source})
    assert not run_pytest(bubble).ok


@pytest.mark.bubblewrap
def test_settings_of_the_project_do_not_flatter_the_measurement(bubble: Sandbox) -> None:
    bubble.put(
        {
            "sign.py": CODE.replace(b"if n == 0:", b"if n == 0:  # pragma: no cover"),
            ".coveragerc": b"[run]\nomit = *\n",
            "pytest.ini": b"[pytest]\naddopts = --cov=sign --cov-fail-under=0\n",
            "test_x.py": b"from sign import sign\ndef test_a(): assert sign(3) == 1\n",
        }
    )
    report = run_pytest(bubble)
    assert report.ok
    assert report.branch_coverage == pytest.approx(60.0)


@pytest.mark.bubblewrap
def test_warnings_as_errors_do_not_trip_over_an_end_at_the_first_failure(bubble: Sandbox) -> None:
    tests = b"def test_a(): assert 1 == 2\ndef test_b(): assert 1 == 2\n"
    bubble.put({"pytest.ini": b"[pytest]\nfilterwarnings = error\n", "test_x.py": tests})
    report = run_pytest(bubble, ["-x"], coverage_of=())
    assert (report.exit_code, report.failed, report.problem) == (1, 1, "")


@pytest.mark.bubblewrap
def test_warnings_as_errors_do_not_trip_over_the_warm_start(bubble: Sandbox) -> None:
    bubble.put(
        {
            "pytest.ini": b"[pytest]\nfilterwarnings = error\n",
            "test_x.py": b"from hypothesis import given, strategies as st\n@given(st.integers())\ndef test_a(n): "
            b"assert n == n\n",
        }
    )
    report = run_pytest(bubble)
    assert report.ok, report


def test_tests_that_hang_are_stopped(box: Sandbox) -> None:
    box.put({"test_x.py": b"import time\ndef test_a(): time.sleep(100)\n"})
    report = run_pytest(box, seconds=2)
    assert report.timed_out
    assert "did not end" in report.problem


def test_runs_do_not_see_each_other(box: Sandbox) -> None:
    for value in (1, 2, 3):
        box.put(
            {
                "value.py": f"VALUE = {value}\n".encode(),
                "test_x.py": f"import value\ndef test_a(): assert value.VALUE == {value}\n".encode(),
            }
        )
        assert run_pytest(box).ok


@pytest.mark.bubblewrap
def test_arguments_select_tests(bubble: Sandbox) -> None:
    bubble.put({"test_x.py": b"def test_a(): pass\ndef test_b(): assert 0\n"})
    assert run_pytest(bubble, ["test_x.py::test_a"]).ok


def test_a_malformed_report_is_no_pass() -> None:
    rows = '{"kind": "collected", "ids": ["a"]}', '{"kind": "end", "exit_code": 0, "branch_coverage": "many"}'
    report = read_report(ExecResult(("python",), 0, "", "", 0.1, report="".join(f"t {row}\n" for row in rows)), "t")
    assert not report.ok
    assert "malformed" in report.problem


LAID_OUT = b"""import os, subprocess, sys
from importlib.metadata import version

import shop
from shop._version import __version__

def test_installed():
    assert (shop.NAME, version("web-shop"), __version__, os.environ["MODE"]) == ("src", "1.2", "1.2", "plain")

def test_a_child_process_sees_it_too():
    code = "import importlib.metadata as m, shop; print(shop.NAME, m.version('web-shop'))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "src 1.2\\n"
"""


@pytest.mark.bubblewrap
def test_a_repository_is_laid_out_as_if_it_were_installed(bubble: Sandbox) -> None:
    bubble.put({"src/shop/__init__.py": b"NAME = 'src'\n", "tests/test_shop.py": LAID_OUT})
    setup = TestSetup(
        python_path=("src",),
        environment={"MODE": "plain"},
        metadata={"web-shop": "1.2"},
        modules={"shop._version": "__version__ = '1.2'\n"},
    )
    report = run_pytest(bubble, coverage_of=(), setup=setup)
    assert (report.passed, report.failed, report.errors) == (2, 0, 0), report.output


@pytest.mark.bubblewrap
def test_every_failing_test_is_named_also_where_its_trace_is_not_kept(bubble: Sandbox) -> None:
    bubble.put({"test_x.py": b"import pytest\n@pytest.mark.parametrize('n', range(60))\ndef test_n(n): assert n < 5\n"})
    report = run_pytest(bubble, coverage_of=())
    assert (report.failed, len(report.failing), len(report.failures)) == (55, 55, 40)
    assert report.failing[-1] == "test_x.py::test_n[59]"


def test_a_line_without_the_token_of_the_run_makes_it_void() -> None:
    probes = [{"kind": "probe", "place": place, "lies": [], "changed": [], "hooks": []} for place in ("first", "last")]
    end = {"kind": "end", "exit_code": 0, "branch_coverage": None, "files": {}, "rewritten": []}
    rows = [{"kind": "collected", "ids": ["a"]}, probes[0], {"kind": "pass", "id": "a"}, probes[1], end]
    text = "".join(f"t {json.dumps(row)}\n" for row in rows)
    done = ExecResult(("python",), 0, "", "", 0.1, report=text)
    assert read_report(done, "t").ok
    assert "wrote to its report" in read_report(replace(done, report=text.replace("t ", "u ", 1)), "t").void


def test_a_fake_that_runs_nothing_is_no_pass() -> None:
    assert not run_pytest(FakeSandbox(lambda argv: ExecResult(argv, 0, "", "", 0.1))).ok


def test_a_run_that_is_stopped_says_what_failed_so_far(box: Sandbox) -> None:
    box.put({"test_x.py": b"import time\ndef test_a(): assert 1 == 2\ndef test_b(): time.sleep(100)\n"})
    report = run_pytest(box, coverage_of=(), seconds=2)
    assert report.timed_out
    assert [failure.nodeid for failure in report.failures] == ["test_x.py::test_a"]
    assert report.outcomes == {"test_x.py::test_a": "failed"}


HANGS = b"""import threading

def held():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

def test_lock(): held()

def test_loop():
    while True:
        pass

def test_other(): pass
"""


@pytest.mark.bubblewrap
def test_a_test_that_hangs_fails_by_name_and_place_and_the_others_run(bubble: Sandbox) -> None:
    bubble.put({"test_x.py": HANGS})
    report = run_pytest(bubble, coverage_of=(), setup=TestSetup(test_seconds=1))
    assert (report.failed, report.passed, report.timed_out, report.void) == (2, 1, False, "")
    lock, loop = report.hangs
    assert (lock.nodeid, lock.frames[0]) == ("test_x.py::test_lock", "test_x.py:6 in held")
    assert lock.cpu_seconds < 0.5 < loop.cpu_seconds
    assert "did not end within 1 s" in report.failures[0].message
    assert "It stood at test_x.py:6 in held,\nE    called from test_x.py:8 in test_lock" in report.failures[0].traceback
    assert "held" not in report.failures[0].message.partition("\n")[0]
    assert report.cpu_seconds > 0.5


@pytest.mark.bubblewrap
def test_a_test_that_freezes_the_clock_does_not_freeze_its_time_limit(bubble: Sandbox) -> None:
    bubble.put({"test_x.py": b"import time\ndef test_a():\n    time.monotonic = lambda: 1e9\n    while True: pass\n"})
    (hang,) = run_pytest(bubble, coverage_of=(), setup=TestSetup(test_seconds=1)).hangs
    assert 1 <= hang.seconds < 100


@pytest.mark.bubblewrap
def test_no_except_exception_swallows_the_time_limit(bubble: Sandbox) -> None:
    source = b"import time\ndef test_a():\n    try:\n        time.sleep(100)\n    except Exception:\n        pass\n"
    bubble.put({"test_x.py": source})
    assert run_pytest(bubble, coverage_of=(), setup=TestSetup(test_seconds=1)).failed == 1


@pytest.mark.bubblewrap
def test_a_plugin_of_the_setup_is_loaded_by_name(bubble: Sandbox) -> None:
    bubble.put(
        {
            "tools/counting.py": b"import pytest\n@pytest.fixture\ndef three(): return 3\n",
            "test_x.py": b"def test_a(three): assert three == 3\n",
        }
    )
    setup = TestSetup(plugins=("counting",), python_path=("tools",), environment={"PYTEST_ADDOPTS": "--co"})
    assert run_pytest(bubble, coverage_of=(), setup=setup).ok


@pytest.mark.bubblewrap
@pytest.mark.parametrize("there", ["", "[pytest]\npython_functions = no_such_*\n"])
def test_a_subfolder_s_own_configuration_counts_as_the_base_has_it(bubble: Sandbox, there: str) -> None:
    files = {
        "part/tests/test_a.py": b"import helper\n\n\ndef check_a():\n    assert helper.ONE == 1\n",
        "part/lib/helper.py": b"ONE = 1\n",
        "pytest.ini": b"[pytest]\npython_functions = other_*\n",
        **({"part/tox.ini": there.encode()} if there else {}),
    }
    bubble.put(files)
    text = "[pytest]\npython_functions = check_*\npythonpath = lib\n"
    setup = TestSetup(arguments=("part/tests",), configuration="part/tox.ini", configuration_text=text)
    report = run_pytest(bubble, coverage_of=(), setup=setup)
    assert report.ok, report.output
    assert list(report.outcomes) == ["part/tests/test_a.py::check_a"]
