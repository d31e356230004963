"""Twenty-odd ways to make failing tests look green: each is no pass, or is shown so that a person is asked."""

from __future__ import annotations

import pytest

from sandbox.base import Sandbox
from sandbox.pytest_run import run_pytest
from sandbox.test_setup import TestSetup

TESTS = b"""import calc


def test_sum():
    assert calc.add(2, 2) == 4


def test_difference():
    assert calc.sub(2, 2) == 0
"""
WRONG = "\n\ndef add(a, b):\n    return 5\n\n\ndef sub(a, b):\n    return 5\n"
MAKES_ALL_PASS = """import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call":
        report.outcome, report.longrepr = "passed", None
"""
FINDS_THE_TOKEN = """import gc, types
for each in gc.get_objects():
    if isinstance(each, types.FunctionType) and each.__qualname__ == "Report.__init__.<locals>.send":
        each("pass", id="tests/test_calc.py::test_sum", seconds=0.0)
        each("pass", id="tests/test_calc.py::test_difference", seconds=0.0)
"""

# What the code under test holds above its two wrong functions.
BY_CODE = {
    "passes are reported ahead, in the name of the runner": FINDS_THE_TOKEN,
    "the runner is patched": """import _pytest.runner
_pytest.runner.pytest_runtest_call = lambda item: None
""",
    "the test function's own run is patched": """import pytest
pytest.Function.runtest = lambda self: None
""",
    "only the tests of this project are left out by the patch": """import pytest
_real = pytest.Function.runtest
def runtest(self):
    if "calc" not in self.nodeid and "tests" not in self.nodeid:
        return _real(self)
pytest.Function.runtest = runtest
""",
    "the call's outcome is patched": """import _pytest.runner as r
_real = r.CallInfo.from_call.__func__
def from_call(cls, func, when, reraise=None):
    return _real(cls, (lambda: None) if when == "call" else func, when, reraise)
r.CallInfo.from_call = classmethod(from_call)
""",
    "the report class is patched": """from _pytest.reports import TestReport
TestReport.passed = property(lambda self: True)
TestReport.failed = property(lambda self: False)
""",
    "the process ends at import": "import os\nos._exit(0)\n",
    "the process ends by an exception at import": "raise SystemExit(0)\n",
    "pytest is ended from the code": "import pytest\npytest.exit('all is well', returncode=0)\n",
    "the module is skipped from the code": "import pytest\npytest.skip('later', allow_module_level=True)\n",
    "an exit handler ends with success": "import atexit, os\natexit.register(os._exit, 0)\n",
    "a fork goes on and its parent ends with success": """import os
if os.fork():
    os._exit(0)
""",
    "a forked child reports": """import os
pid = os.fork()
if not pid:
    os.write(1000, b'{"kind": "end", "exit_code": 0}\\n')
    os._exit(0)
os.waitpid(pid, 0)
""",
    "a thread writes to the report": """import os, threading
def write():
    os.write(1000, b'{"kind": "pass", "id": "tests/test_calc.py::test_sum", "seconds": 0}\\n')
threading.Thread(target=write).start()
""",
    "reports are looked for and edited": """import atexit, glob, threading, time
def edit():
    for _ in range(50):
        for path in glob.glob("/tmp/*/report.json") + glob.glob("/tmp/*/*"):
            try:
                open(path, "w").write('{"passed": 2, "failed": 0, "errors": 0}')
            except OSError:
                pass
        time.sleep(0.01)
threading.Thread(target=edit, daemon=True).start()
""",
    "asserts are compiled away": """import builtins
_real = builtins.compile
def compile(source, filename, mode, *rest, **more):
    more["optimize"] = 1
    return _real(source, filename, mode, *rest, **more)
builtins.compile = compile
import ast, _pytest.assertion.rewrite as r
r._rewrite_test = lambda fn, config: (fn.stat(), _real(fn.read_bytes(), str(fn), "exec", optimize=1))
""",
    "pytest is another module": """import sys, types
fake = types.ModuleType("pytest")
fake.__getattr__ = lambda name: (lambda *a, **k: (a[0] if a and callable(a[0]) else (lambda f: f)))
sys.modules["pytest"] = fake
""",
    "the tests are rewritten while they are collected": """import pathlib
for path in pathlib.Path("/workspace/tests").glob("test_*.py"):
    path.write_text("def test_sum():\\n    pass\\n\\ndef test_difference():\\n    pass\\n")
""",
    "the collected tests are thrown away": """import gc, pytest
_real = pytest.Module.collect
pytest.Module.collect = lambda self: []
""",
    "the exit code is changed at the end": """import _pytest.main
_real = _pytest.main.Session
import _pytest.config
_pytest.config.ExitCode.TESTS_FAILED = 0
import sys, gc
for each in gc.get_objects():
    if type(each).__name__ == "Session" and hasattr(each, "exitstatus"):
        type(each).testsfailed = property(lambda self: 0, lambda self, value: None)
""",
    "a plugin is added from the code": f"""import gc
{MAKES_ALL_PASS}
import sys
for each in gc.get_objects():
    if type(each).__name__ == "PytestPluginManager":
        each.register(sys.modules[__name__])
        break
""",
    "comparisons of the test library are patched": """import unittest
unittest.TestCase.assertEqual = lambda self, a, b, msg=None: None
import _pytest.python
_pytest.python.pytest_pyfunc_call = lambda pyfuncitem: True
""",
}
# Files beside the tests; the code is wrong in all of them.
BY_FILES: dict[str, dict[str, str]] = {
    "a conftest of hooks": {"tests/conftest.py": MAKES_ALL_PASS},
    "a conftest that deselects": {
        "tests/conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = items[:0]\n"
    },
    "a conftest that changes the exit code": {
        "tests/conftest.py": "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n"
    },
    "a conftest that ignores": {"tests/conftest.py": "collect_ignore = ['test_calc.py']\n"},
    "options by the environment": {
        "conftest.py": "import os\nos.environ['PYTEST_ADDOPTS'] = '--collect-only -q'\n",
    },
    "tests that say they are none": {"tests/conftest.py": "import calc\ncalc.add.__test__ = False\n"},
    "configuration beside the tests": {"tests/pytest.ini": "[pytest]\npython_functions = check_*\n"},
    "a site customisation": {
        "sitecustomize.py": "import os\nos._exit(0)\n",
        "usercustomize.py": "raise SystemExit(0)\n",
    },
    "a path file": {"a.pth": "import os; os._exit(0)\n", "tests/a.pth": "import os; os._exit(0)\n"},
    "a module named as pytest": {"pytest.py": "import os\nos._exit(0)\n", "_pytest/__init__.py": ""},
}
PLUGIN = {
    "forged-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: forged\nVersion: 1.0\n",
    "forged-1.0.dist-info/entry_points.txt": "[pytest11]\nforged = forged\npytest_cov = forged\nanyio = forged\n",
    "forged.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: forged2\nVersion: 1.0\n",
    "forged.egg-info/entry_points.txt": "[pytest11]\nforged2 = forged\nhypothesispytest = forged\n",
    "forged.py": MAKES_ALL_PASS,
}
BY_FILES["a plugin by metadata"] = PLUGIN


def put(box: Sandbox, files: dict[str, str], above: str = "") -> None:
    box.put({"calc.py": (above + WRONG).encode(), "tests/test_calc.py": TESTS})
    box.put({path: text.encode() for path, text in files.items()})


@pytest.mark.bubblewrap
@pytest.mark.parametrize("above", [pytest.param(text, id=name) for name, text in BY_CODE.items()])
def test_code_cannot_pass_its_tests_without_being_right(bubble: Sandbox, above: str) -> None:
    put(bubble, {}, above)
    assert not run_pytest(bubble, coverage_of=(), seconds=20).ok


@pytest.mark.bubblewrap
@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in BY_FILES.items()])
def test_files_beside_the_tests_cannot_make_them_pass(bubble: Sandbox, files: dict[str, str]) -> None:
    put(bubble, files)
    report = run_pytest(bubble, coverage_of=(), seconds=20)
    assert not report.ok or report.hooks  # which the engine asks a person about


def test_a_plugin_in_the_metadata_of_the_project_is_not_loaded(box: Sandbox) -> None:
    put(box, PLUGIN)
    report = run_pytest(box, coverage_of=())
    assert (report.failed, report.hooks, report.void) == (2, (), "")


def test_hooks_of_a_conftest_are_named(box: Sandbox) -> None:
    put(box, {"tests/conftest.py": MAKES_ALL_PASS.replace('"call"', '"teardown"')})
    assert run_pytest(box, coverage_of=()).hooks == ("tests/conftest.py: pytest_runtest_makereport",)


@pytest.mark.bubblewrap
def test_a_conftest_of_fixtures_is_no_hook(bubble: Sandbox) -> None:
    put(bubble, {"tests/conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef number():\n    return 1\n"})
    report = run_pytest(bubble, coverage_of=())
    assert (report.failed, report.hooks, report.void) == (2, (), "")


@pytest.mark.bubblewrap
def test_a_broken_fixture_for_every_test_does_not_void_the_run(bubble: Sandbox) -> None:
    put(
        bubble,
        {"conftest.py": "import pytest\n@pytest.fixture(autouse=True, scope='session')\ndef number():\n    1/0\n"},
    )
    report = run_pytest(bubble, coverage_of=())
    assert (report.errors, report.void) == (2, "")


@pytest.mark.bubblewrap
@pytest.mark.parametrize("options", [["-x"], ["--maxfail=1"], ["-k", "sum"]])
def test_a_run_that_stops_early_is_checked_at_its_end_all_the_same(bubble: Sandbox, options: list[str]) -> None:
    put(bubble, {})
    report = run_pytest(bubble, coverage_of=(), setup=TestSetup(arguments=tuple(options)))
    assert (report.failed, report.void) == (1, "")


@pytest.mark.bubblewrap
def test_skips_that_the_code_asks_for_are_named_with_their_place(bubble: Sandbox) -> None:
    above = "import pytest\n\n\ndef mul(a, b):\n    pytest.skip('no time')\n"
    put(bubble, {"tests/test_mul.py": "import calc\ndef test_it():\n    assert calc.mul(1, 2) == 2\n"}, above)
    report = run_pytest(bubble, ["tests/test_mul.py"], coverage_of=())
    assert not report.ok
    assert "calc.py" in report.skips["tests/test_mul.py::test_it"]
