"""Runs inside a sandbox: pytest with branch coverage, and a report of each test as it ends.

Sent as source by `sandbox.pytest_run`; the request comes on standard input. The report goes out line by line through
a pipe whose other end process 1 holds: what was written cannot be taken back. Nothing that the tested project brings
(plugins by metadata, coverage settings, `# pragma: no cover`, its own `--cov`) changes what is loaded or measured.
Two probes, before the first test and after the last, show that asserts still fail and pass as they should.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.metadata
import importlib.util
import json
import os
import random
import shutil
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _pytest.assertion.rewrite
import _pytest.config
import _pytest.runner
import pytest
from _pytest.config import PytestPluginManager
from _pytest.config.findpaths import load_config_dict_from_file
from _pytest.fixtures import FuncFixtureInfo

from sandbox.inside.pytest_checks import CollectedTests, Limit, SourceFiles, ToolSnapshot
from sandbox.inside.report import Report, clipped
from sandbox.inside.services import ServiceProblem, start_services

KEEP_FAILURES, KEEP_TRACE, KEEP_MESSAGE = 40, 6000, 600
KEEP_LOGGED = 1200  # of the last exception that was logged: its inner frames and what it says
CONFIGURATIONS = "pytest.toml .pytest.toml pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg".split()
TAKES_VALUE = frozenset(("-c", "-k", "-m", "-o", "-p", "-r", "-W"))
# The sandbox's own: entry point -> module.
OWN_PLUGINS = {
    "pytest_cov": "pytest_cov.plugin",
    "hypothesispytest": "_hypothesis_pytestplugin",
    "anyio": "anyio.pytest_plugin",
}


class Recorder:
    """Reports what pytest says about each test, from outside of every hook that a conftest can add."""

    def __init__(self, report: Report, limit: Limit, trusted: list[str], tree: list[str]) -> None:
        self.limit, self.trusted, self.tree = limit, trusted, tree
        self.send, self.home, self.failures, self.probes = report.send, tree[0], 0, set[Any]()
        self.answers: dict[str, str] = {}
        self.files, self.tests = SourceFiles(self.home), CollectedTests(self.home, trusted)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Any:
        # A wrapper, to come before pytest-cov: a second measurement would take the tracing from ours.
        early_config.known_args_namespace.cov_source = []
        os.environ.pop(
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD", None
        )  # plugins are loaded; programs of the tests start as ever
        sys.path[:] = [part for part in sys.path if part not in self.trusted and part not in self.tree]
        sys.path[:] = [*sys.path, *self.tree[1:], self.home, *self.trusted]
        self.tools = ToolSnapshot(self.trusted)
        self.manager = early_config.pluginmanager
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Any:
        before = [item.nodeid for item in items]
        done = yield
        kept = {item.nodeid for item in items}
        self.send("deselected", ids=[nodeid for nodeid in before if nodeid not in kept][:5000])
        return done

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_finish(self, session: Any) -> Any:
        done = yield
        self.tests.keep(session.items)
        self.send("collected", ids=[item.nodeid for item in session.items])
        return done

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        self.files.before_import(str(getattr(collector, "path", "")))
        report = yield
        if report.failed:
            self._failure("collect", collector.nodeid, "", report, 0.0)
        elif report.skipped:
            self.send("skip", id=collector.nodeid, when="collect", reason=str(report.longrepr)[:KEEP_MESSAGE])
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Any:
        if session.config.option.collectonly:
            return (yield)
        self._probe(session, "first")
        try:
            return (yield)
        finally:
            self.limit.stop()
            self._probe(session, "last")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.limit.start(item.nodeid)
        try:
            return (yield)
        finally:
            self.limit.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        self.tests.before_call(item)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        raised = call.excinfo  # a plugin of pytest exchanges it for its own
        report = yield
        nodeid, when = item.nodeid, call.when
        if when == "call" and not report.failed and (why := self.tests.unasked(item, raised)):
            report.outcome, report.longrepr = "failed", why
        if item in self.probes:
            if when == "call" or report.outcome != "passed":
                self.answers[item.name] = f"{report.outcome} {report.longrepr}"
        elif report.failed:
            self._failure("fail", nodeid, when, report, call.duration)
        elif report.skipped and nodeid.endswith("[NOTSET]"):  # of no parameters: there is no such test
            self.send("deselected", ids=[nodeid])
        elif report.skipped:
            self.send("skip", id=nodeid, when=when, reason=str(report.longrepr)[:KEEP_MESSAGE])
        elif when == "call":
            self.send("pass", id=nodeid, seconds=call.duration)
        return report

    def _failure(self, kind: str, nodeid: str, when: str, report: Any, seconds: float) -> None:
        self.failures += 1
        message = traceback = ""
        if self.failures <= KEEP_FAILURES:
            crash = getattr(report.longrepr, "reprcrash", None)
            traceback = str(report.longrepr)
            message = crash.message if crash else traceback.strip().rpartition("\n")[2]
            if logged := _logged(report):
                traceback = f"{logged}\n\n{traceback}"
        message, traceback = clipped(message, KEEP_MESSAGE), clipped(traceback, KEEP_TRACE)
        self.send(kind, id=nodeid, when=when, message=message, traceback=traceback, seconds=seconds)

    def _probe(self, session: Any, place: str) -> None:
        """A test that must fail and its twin that must pass, run as pytest runs any other, and counted nowhere."""
        draw = random.SystemRandom()
        word, number = (draw.getrandbits(60) for _ in range(2))
        canary, twin = f"test_{word:x}", f"test_{word + 1:x}"
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, f"test_{draw.getrandbits(60):x}.py")
        with open(path, "w") as text:
            text.write(f"def {canary}():\n    n = {number}\n    assert n == {number + 1}\n\n\n")
            text.write(f"def {twin}():\n    n = {number}\n    assert n == {number}\n")
        # A failed suite stops the setup of what follows; these two are not of the suite. The public names cannot be
        # unset: that is a warning, and an error where warnings are errors.
        stops, session._shouldfail, session._shouldstop = (session._shouldfail, session._shouldstop), False, False
        before, seen = sys.path[:], session.testsfailed
        try:
            module = pytest.Module.from_parent(session, path=type(session.path)(path))
            for name in (canary, twin):
                nothing = FuncFixtureInfo((), (), [], {})
                item = pytest.Function.from_parent(
                    module, name=name, callobj=getattr(module.obj, name), fixtureinfo=nothing
                )
                self.probes.add(item)
                _pytest.runner.runtestprotocol(item, log=False, nextitem=None)
        finally:
            sys.path[:] = before
            session.testsfailed, (session._shouldfail, session._shouldstop) = seen, stops
            shutil.rmtree(folder, ignore_errors=True)
        failed = self.answers.get(canary, "")
        lies = []
        if not (failed.startswith("failed") and f"assert {number} == {number + 1}" in failed):
            lies.append("a test that must fail did not")
        if not self.answers.get(twin, "").startswith("passed"):
            lies.append("a test that must pass did not")
        changed = [*self.tools.changed(), *self.tests.replaced]
        self.send("probe", place=place, lies=lies, changed=changed[:20], hooks=self._hooks()[:20])

    def _hooks(self) -> list[str]:
        """Hooks that files of the project brought in."""
        found = self.tests.hooks()
        for plugin in self.manager.get_plugins():
            module = plugin if isinstance(plugin, types.ModuleType) else sys.modules.get(type(plugin).__module__)
            path = getattr(module, "__file__", None) or ""
            if plugin is not self and path.startswith(self.home + os.sep):
                names = [name for name in dir(plugin) if name.startswith("pytest_")]
                found += [f"{os.path.relpath(path, self.home)}: {name}" for name in names]
        return found


def _logged(report: Any) -> str:
    """The end of the last exception that the code logged, as servers do with those of their handlers; "" for none."""
    logs = [text for title, text in report.sections if title.startswith("Captured log")]
    _, begins, trace = "\n".join(logs).rpartition("Traceback (most recent call last):\n")
    if not begins:
        return ""
    return f"An exception was logged:\n{'…' if len(trace) > KEEP_LOGGED else ''}{trace.rstrip()[-KEEP_LOGGED:]}"


def coverage_of(names: list[str]) -> Any:
    """What measures these files and folders alone: following the lines of the others takes most of the time."""
    import coverage

    wanted = [Path(name).resolve() for name in names]
    others = [str(path) for path in Path.cwd().rglob("*.py") if not {path, *path.parents}.intersection(wanted)]
    own = ["*/test_*.py", "*_test.py", "*/conftest.py", "*/tests/*", "*/test/*"]
    measure = coverage.Coverage(
        data_file=None, branch=True, config_file=False, source=[os.getcwd()], omit=own + others, messages=False
    )
    measure.clear_exclude()
    measure.exclude(r"if (typing\.)?TYPE_CHECKING:")
    measure._warn_no_data = False
    return measure


def measured(measure: Any, scratch: str) -> dict[str, Any]:
    import coverage

    path = os.path.join(scratch, "coverage.json")
    try:
        measure.json_report(outfile=path)
    except coverage.exceptions.CoverageException:
        return {"branch_coverage": None, "files": {}}
    with open(path) as text:
        report = json.load(text)
    totals, files = report["totals"], {}
    for name, file in report["files"].items():
        missing = set(file["missing_lines"]) | {abs(pair[0]) for pair in file.get("missing_branches", ())}
        seen = file["summary"]
        lines, ways = (
            100 * seen[f"covered_{kind}"] / seen[number] if seen[number] else 100
            for kind, number in (("lines", "num_statements"), ("branches", "num_branches"))
        )
        files[os.path.relpath(name)] = lines, ways, sorted(missing)[:500]
    known = totals["num_statements"] > 0
    return {"branch_coverage": totals["percent_covered"] if known else None, "files": files}


def entry_points(folders: list[str]) -> dict[str, str]:
    """Plugins by name -> module: the sandbox's own, and of packages that were installed into these folders."""
    installed = importlib.metadata.distributions(path=folders) if folders else ()
    found = (entry for one in installed for entry in one.entry_points if entry.group == "pytest11")
    return OWN_PLUGINS | {entry.name: entry.value for entry in found}


def load_only(known: dict[str, str], trusted: list[str]) -> None:
    """Have pytest find plugins by name in `known`, never in the metadata of the project."""

    def load(self: Any, group: str, name: str | None = None) -> int:
        module = known.get(name or "")
        if group != "pytest11" or module is None or self.is_blocked(name) or self.get_plugin(name):
            return 0
        kept, sys.path[:] = sys.path[:], trusted
        try:
            self.register(importlib.import_module(module), name=name)
        except ImportError:
            return 0
        finally:
            sys.path[:] = kept
        return 1

    PytestPluginManager.load_setuptools_entrypoints = load  # type: ignore[method-assign]  # a process of its own


def configuration(home: str, scratch: str, given: str, text: str) -> str:
    """The file that configures pytest: `given`, read as `text`, else the first at the root.

    Tests in a folder of their own cannot bring another.
    """
    if text:
        place, kept = Path(home, given), Path(scratch, os.path.basename(given))
        kept.write_text(text)
        config: Any = _pytest.config
        determine = config.determine_setup

        def at_its_place(**asked: Any) -> Any:  # folders in it are meant from there
            rootdir, _, *rest = determine(**asked)
            return (rootdir, place, *rest)

        config.determine_setup = at_its_place
        return str(kept)
    for name in CONFIGURATIONS:
        path = Path(home) / name
        if path.is_file() and load_config_dict_from_file(path) is not None:
            return str(path)
    empty = Path(scratch) / "pytest.ini"
    empty.write_text("[pytest]\n")
    return str(empty)


def without_places(arguments: list[str]) -> Iterator[str]:
    """The options of the setup, for a run of other tests than those it names."""
    before = ""
    for word in arguments:
        if before in TAKES_VALUE or word.startswith("-") or not os.path.exists(word.partition("::")[0]):
            yield word
        before = word


class Generated(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Modules that a build would write into the tree; one that is in the tree comes first."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(name, self) if name in self.modules else None

    def get_source(self, name: str) -> str:
        return self.modules[name]


def lay_out(request: dict[str, Any], scratch: str) -> list[str]:
    """The repository as it would be installed: its folders, metadata and environment, for child processes too.

    Returns the folders.
    """
    roots, site = [os.path.abspath(folder) for folder in request["python_path"]], os.path.join(scratch, "site")
    for name, version in request["metadata"].items():
        folder = os.path.join(site, f"{name.replace('-', '_')}-{version}.dist-info")
        os.makedirs(folder)
        with open(os.path.join(folder, "METADATA"), "x") as text:
            text.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    roots += [site] if request["metadata"] else []
    os.environ.update({name: text for name, text in request["environment"].items() if not name.startswith("PYTEST_")})
    if roots:
        os.environ["PYTHONPATH"] = os.pathsep.join([*roots, *filter(None, [os.environ.get("PYTHONPATH")])])
    if request["modules"]:
        sys.meta_path.append(Generated(request["modules"]))
    return roots


def main() -> int:
    request = json.loads(sys.stdin.read())
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    report = Report(request["token"])
    try:
        report.send("services", names=start_services(request["services"]))
    except ServiceProblem as problem:
        report.send("no_service", cause=problem.kind, text=str(problem))
        return 1
    scratch, home = tempfile.mkdtemp(), os.getcwd()
    packages = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    tree = [home, *lay_out(request, scratch)]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    trusted = [part for part in sys.path if part and part not in tree]
    sys.path[:] = [*trusted, *tree]  # until the plugins are loaded nothing of the project goes first
    known = entry_points(packages)
    load_only(known, trusted)
    measure = coverage_of(request["coverage_of"]) if request["coverage_of"] else None
    recorder = Recorder(report, Limit(request["test_seconds"], report.send, home), trusted, tree)
    configured = configuration(home, scratch, request["configuration"], request["configuration_text"])
    fixed = ["-c", configured, f"--rootdir={home}", f"--confcutdir={home}", "--color=no"]
    fixed += ["-p", "no:cacheprovider", "-o", "console_output_style=classic", "-o", "required_plugins="]
    for name in [*OWN_PLUGINS, *request["plugins"]] if request["plugins"] else known:
        fixed += ["-p", name]
    arguments = list(without_places(request["arguments"]) if request["paths"] else request["arguments"])
    # Code under test could have put it beside a test file that is imported later.
    _pytest.assertion.rewrite._read_pyc = lambda *_: None
    # The agent has imported these before pytest could rewrite them: true, harmless, and an error under `-W error`.
    rewriting: Any = _pytest.assertion.rewrite.AssertionRewritingHook
    rewriting._warn_already_imported = lambda self, name: None
    if measure:
        measure.start()
    try:
        code = int(pytest.main([*fixed, *arguments, *request["options"], *request["paths"]], plugins=[recorder]))
    finally:
        recorder.limit.stop()
        if measure:
            measure.stop()
    os.chdir(home)
    covered = measured(measure, scratch) if measure else {"branch_coverage": None, "files": {}}
    shutil.rmtree(scratch, ignore_errors=True)
    recorder.send("end", exit_code=code, rewritten=recorder.files.rewritten()[:20], **covered)
    return code


if __name__ == "__main__":
    sys.exit(main())
