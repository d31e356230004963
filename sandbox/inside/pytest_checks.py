"""Parts of the test runner inside a sandbox (pytest_report): time limits, and test tools that nobody has changed."""

from __future__ import annotations

import faulthandler
import inspect
import linecache
import os
import signal
import sys
import time
import types
import unittest.case
from collections.abc import Iterator
from typing import Any

import _pytest.assertion.rewrite
import _pytest.python
import _pytest.reports
import _pytest.runner
import pytest

KEEP_FRAMES = 12
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
MOST_FILES = 20_000
MOST_WRAPPERS = 20  # of a function that says it wraps itself there is no end
RUNS_A_TEST = ("run", "__call__", "_callTestMethod")  # of a TestCase
SKIPS = (pytest.skip.Exception, pytest.xfail.Exception, unittest.case.SkipTest)
COPY_STDERR = 999  # beyond what tests open and close, like the report


class TimeLimitError(BaseException):
    """A test reached its time limit; no `except Exception` of the tested code swallows it."""


def waited_for_cpu() -> float:
    """Seconds that the processes here were ready to run and had no CPU, the longest of them."""
    longest = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            try:
                with open(f"/proc/{name}/schedstat") as text:
                    longest = max(longest, int(text.read().split()[1]))
            except (OSError, ValueError, IndexError):
                continue
    return longest / 1e9


class Limit:
    """Ends a test at its time limit, which does not count the time that a busy machine gave it no CPU."""

    def __init__(self, seconds: float, send: Any, home: str) -> None:
        self.seconds, self.send, self.home, self.pid = seconds, send, home, os.getpid()
        self.nodeid, self.began, self.cpu, self.waited = "", 0.0, 0.0, 0.0
        # Kept here because tests that freeze the time replace it in every module.
        self.clock, self.cpu_clock = time.monotonic, time.process_time
        os.dup2(2, COPY_STDERR, inheritable=False)
        self._listen()

    def _listen(self) -> None:
        signal.signal(signal.SIGALRM, self._rang)
        # For what no Python handler interrupts: the stack is printed for people, and the limit of the suite ends it.
        # No thread of its own waits for that: to start and stop one for each test is slow on a busy machine.
        faulthandler.register(signal.SIGALRM, file=COPY_STDERR, chain=True)

    def start(self, nodeid: str) -> None:
        self.nodeid, self.began, self.cpu = nodeid, self.clock(), self.cpu_clock()
        self.waited = waited_for_cpu()
        if signal.getsignal(signal.SIGALRM) != self._rang:
            faulthandler.unregister(signal.SIGALRM)
            self._listen()
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.nodeid = ""

    def _rang(self, _number: int, frame: types.FrameType | None) -> None:
        if os.getpid() != self.pid or not self.nodeid:
            return
        wall = self.clock() - self.began
        left = self.seconds - (wall - max(0.0, waited_for_cpu() - self.waited))
        if left > 0.01:
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.05))
            return
        frames = []
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self.home):
                frames.append(f"{os.path.relpath(name, self.home)}:{frame.f_lineno} in {frame.f_code.co_name}")
            frame = frame.f_back
        nodeid, cpu = self.nodeid, self.cpu_clock() - self.cpu
        self.send("hang", id=nodeid, frames=frames[:KEEP_FRAMES], seconds=wall, cpu=cpu)
        # Below the first line, by which the failure is known again: where a loop stands at the moment is chance.
        where = "\nIt stood at " + ",\n called from ".join(frames[:KEEP_FRAMES]) if frames else ""
        # The run's own limit says the rest; the next alarm comes when this one is caught.
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        raise TimeLimitError(f"{nodeid} did not end within {self.seconds:g} s ({cpu:.1f} s of CPU){where}")


GUARDED: tuple[tuple[str, Any], ...] = (
    ("pytest", pytest),
    ("_pytest.runner", _pytest.runner),
    ("_pytest.python", _pytest.python),
    ("_pytest.reports", _pytest.reports),
    ("_pytest.assertion.rewrite", _pytest.assertion.rewrite),
    ("_pytest.runner.CallInfo", _pytest.runner.CallInfo),
    ("_pytest.reports.TestReport", _pytest.reports.TestReport),
    ("_pytest.reports.BaseReport", _pytest.reports.BaseReport),
    ("_pytest.python.Function", _pytest.python.Function),
    ("_pytest.python.Module", _pytest.python.Module),
    ("_pytest.python.Class", _pytest.python.Class),
)
GUARDED_LATER = (  # where they are loaded already
    ("unittest.case", "TestCase"),
    ("unittest.mock", "NonCallableMock"),
    ("_pytest.raises", "RaisesExc"),
    ("_pytest.unittest", "TestCaseFunction"),
)
GUARDED_BUILTINS = "compile exec eval __build_class__ AssertionError all any isinstance issubclass len".split()


class ToolSnapshot:
    """The test tools as they were after the plugins were loaded, and before any file of the project ran."""

    def __init__(self, trusted: list[str]) -> None:
        self.trusted = tuple(part + os.sep for part in trusted)
        places = [*GUARDED]
        for module, name in GUARDED_LATER:
            if module in sys.modules:
                places.append((f"{module}.{name}", getattr(sys.modules[module], name)))
        kinds = (types.FunctionType, types.BuiltinFunctionType, type, classmethod, staticmethod, property)
        self.kept = [
            (place, owner, {name: value for name, value in vars(owner).items() if isinstance(value, kinds)})
            for place, owner in places
        ]
        builtins = sys.modules["builtins"]
        self.kept.append(("builtins", builtins, {name: getattr(builtins, name) for name in GUARDED_BUILTINS}))
        self.modules = {name: sys.modules[name] for name in ("pytest", "_pytest.runner", "builtins", "unittest.case")}

    def changed(self) -> list[str]:
        """What is other now, or new in a class; installed plugins may do that."""
        found = [name for name, module in self.modules.items() if sys.modules.get(name) is not module]
        gone = object()
        for place, owner, kept in self.kept:
            now = vars(owner)
            names = [name for name, value in kept.items() if now.get(name, gone) is not value]
            if isinstance(owner, type):
                names += [
                    name for name in now if name not in kept and isinstance(now[name], (types.FunctionType, property))
                ]
            found += [f"{place}.{name}" for name in names if not self._installed(now.get(name))]
        return found

    def _installed(self, value: Any) -> bool:
        code = getattr(getattr(value, "__func__", getattr(value, "fget", value)), "__code__", None)
        return code is not None and code.co_filename.startswith(self.trusted)


class SourceFiles:
    """The Python files below a folder, by the time of their last change, which cannot be set back."""

    def __init__(self, home: str) -> None:
        self.home, self.swapped = home, set[str]()
        self.first = self._now()

    def _now(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for folder, folders, names in os.walk(self.home):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith(".")]
            for name in names:
                if name.endswith(".py") and len(found) < MOST_FILES:
                    path = os.path.join(folder, name)
                    found[path] = os.lstat(path).st_ctime_ns
        return found

    def before_import(self, path: str) -> None:
        """Notes a file that is another one now: its folder may be put back before the end."""
        if path in self.first and not (os.path.lexists(path) and os.lstat(path).st_ctime_ns == self.first[path]):
            self.swapped.add(path)

    def rewritten(self) -> list[str]:
        """Files that were changed, removed or exchanged since the beginning."""
        now = self._now()
        changed = self.swapped | {path for path, at in self.first.items() if now.get(path) != at}
        return [os.path.relpath(path, self.home) for path in sorted(changed)]


class CollectedTests:
    """The tests as they were collected, to see that these are what runs."""

    def __init__(self, home: str, trusted: list[str]) -> None:
        self.home, self.trusted = home, tuple(part + os.sep for part in trusted)
        self.items: list[Any] = []
        self.bodies: dict[str, list[tuple[Any, Any]]] = {}
        self.replaced: list[str] = []

    def keep(self, items: list[Any]) -> None:
        self.items = items
        self.bodies = {item.nodeid: list(self._bodies(getattr(item, "obj", None))) for item in items}

    @staticmethod
    def _bodies(test: Any) -> Iterator[tuple[Any, Any]]:
        """The function and those that it wraps, each with its code."""
        test = getattr(test, "__func__", test)
        for _ in range(MOST_WRAPPERS):
            if not isinstance(test, types.FunctionType):
                return
            yield test, test.__code__
            test = vars(test).get("__wrapped__")

    def before_call(self, item: Any) -> None:
        """Notes a test that is other code now; installed plugins may put their own function around it."""
        kept, now = self.bodies.get(item.nodeid), list(self._bodies(getattr(item, "obj", None)))
        if kept is None:
            return
        same = not kept or (now and (now[0][1] is kept[0][1] or now[0][1].co_filename.startswith(self.trusted)))
        if not same or any(function.__code__ is not code for function, code in kept):
            self.replaced.append(item.nodeid)

    def unasked(self, item: Any, excinfo: Any) -> str:
        """Why a call that did not fail is no pass and no skip either; "" for an honest one."""
        if excinfo is None:
            return "its TestCase calls this test and never runs its body" if self._never_runs(item) else ""
        raised = excinfo.value
        if isinstance(raised.__context__, unittest.case.SkipTest):  # of which pytest made its own
            raised = raised.__context__
        if isinstance(raised, SKIPS) and not self._asked(raised):
            return f"{type(raised).__name__} came from an assertion, not from a skip"
        return ""

    def _asked(self, raised: BaseException) -> bool:
        """True for what a function that skips has raised; what assertions raise can be exchanged for the same."""
        trace: Any = raised.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        code = trace.tb_frame.f_code
        if code.co_filename == unittest.case.__file__:
            return code.co_name in ("skipTest", "skip_wrapper")
        line = linecache.getline(code.co_filename, trace.tb_lineno).strip()
        by_hand = isinstance(raised, unittest.case.SkipTest) and not line.startswith("assert")
        return by_hand or code.co_filename.startswith(self.trusted)

    @staticmethod
    def _never_runs(item: Any) -> bool:
        case, plain = getattr(item, "instance", None), unittest.case.TestCase
        if not isinstance(case, plain) or any(getattr(type(case), n) is not getattr(plain, n) for n in RUNS_A_TEST):
            return False
        test = getattr(case, item.name, None)
        return any(kind(test) for kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction))

    def hooks(self) -> list[str]:
        """What classes of the project put in the place of the way in which a TestCase runs a test."""
        cases = {item.cls for item in self.items if isinstance(getattr(item, "cls", None), type)}
        found = set()
        for base in {base for case in cases if issubclass(case, unittest.case.TestCase) for base in case.__mro__}:
            for name in RUNS_A_TEST:
                code = getattr(vars(base).get(name), "__code__", None)
                if code is not None and code.co_filename.startswith(self.home + os.sep):
                    found.add(f"{os.path.relpath(code.co_filename, self.home)}: {base.__name__}.{name}")
        return sorted(found)
