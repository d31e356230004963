"""Node programs in a sandbox: packages that stand ready, and what a test run showed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.base import Backend, ExecResult, PackageSet, Sandbox, SandboxUnavailable
from sandbox.images import build_node_image, image_name
from sandbox.node_env import find_node_modules, install, is_current
from sandbox.node_run import read_report, run_node_tests
from sandbox.selftest import refuse_unsafe
from tests.sandbox.conftest import SMALL

IMAGE = f"aiswe-sandbox-node-test:{image_name().partition(':')[2]}"  # anew for each base
TESTS = b"""
const test = require('node:test');
const assert = require('node:assert');
test('adds', () => assert.strictEqual(require('sums').add(1, 1), 2));
test('fails', () => assert.strictEqual(1 + 1, 3));
test.skip('later', () => {});
console.log('1..9');
console.log('# pass 99');
test('outer', async (t) => { await t.test('inner', () => { throw new Error('boom'); }); });
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with one in it, for both ways of asking for it."""
    folder = tmp_path_factory.mktemp("node") / "node_modules"
    (folder / "sums").mkdir(parents=True)
    (folder / "sums" / "package.json").write_text('{"name": "sums", "version": "1.0.0", "main": "index.js"}')
    (folder / "sums" / "index.js").write_text("exports.add = (a, b) => a + b;\n")
    return folder


@pytest.fixture
def node(backend: Backend, modules: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """A sandbox for Node in which the package `sums` stands ready."""
    if backend.name == "docker":
        from sandbox.docker import connect

        monkeypatch.setenv("AISWE_SANDBOX_IMAGE_NODE", IMAGE)
        client = connect(300)
        try:
            build_node_image(client, print, modules)
        finally:
            client.close()
    monkeypatch.setenv("AISWE_SANDBOX_NODE", str(modules))
    with backend.open(limits=SMALL) as box:
        yield box


def test_both_kinds_of_modules_find_what_stands_ready_and_node_is_recent(node: Sandbox) -> None:
    node.put(
        {
            "a.cjs": b"console.log(require('sums').add(40, 2))",
            "deep/b.mjs": b"import s from 'sums'; console.log(s.add(1, 2))",
        }
    )
    assert node.exec(["node", "a.cjs"]).out == "42\n"
    assert node.exec(["node", "deep/b.mjs"]).out == "3\n"
    assert not node.exec(["touch", "/node_modules/x"]).ok
    assert int(node.exec(["node", "--version"]).out.strip("v\n").split(".")[0]) >= 20


def test_a_run_is_told_by_its_own_summary_and_not_by_what_tests_print(node: Sandbox) -> None:
    node.put({"a.test.js": TESTS})
    report = run_node_tests(node)
    assert (report.passed, report.failed, report.skipped, report.collected) == (1, 2, 1, 4)
    assert [failure.nodeid for failure in report.failures] == ["a.test.js::fails", "a.test.js::outer > inner"]
    assert "2 !== 3" in report.failures[0].message
    assert report.failures[1].message == "boom"
    assert not report.ok
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("source", "ok"),
    [
        (b"require('node:test')('a', () => {});", True),
        (b"process.exit(0);", False),
        (b"require('node:test')('a', () => process.exit(0));", False),
        (b"syntax error", False),
    ],
    ids=["one test", "leaves at once", "leaves in a test", "no program"],
)
def test_leaving_early_is_no_pass(node: Sandbox, source: bytes, ok: bool) -> None:
    node.put({"x.test.js": source})
    report = run_node_tests(node)
    assert report.ok is ok, report


def test_no_tests_are_no_pass(node: Sandbox) -> None:
    report = run_node_tests(node, ["missing.test.js"])
    assert not report.ok


def test_endless_tests_are_ended(node: Sandbox) -> None:
    node.put({"a.test.js": b"for (;;) {}"})
    report = run_node_tests(node, seconds=2)
    assert not report.ok
    assert report.hangs[0].nodeid == "a.test.js"


def test_a_torn_report_is_a_problem_in_words() -> None:
    done = ExecResult(("node",), 1, "TAP version 13\nok 1 - a\n", "", 0.1, report='a {"kind": "done"}\n')
    assert "ended before it could report (exit code 1)" in read_report(done, "a", "b").problem
    assert not read_report(ExecResult(("node",), 0, "# tests 1\n# pass 1\n# fail 0\n", "", 0.1), "a", "b").ok


def test_the_walls_are_the_same_for_node(backend: Backend, node: Sandbox) -> None:
    refuse_unsafe(backend)
    assert node.exec(["sh", "-c", "id -u; ls /proc | grep -c '^[0-9]'"]).out.split()[0] != "0"


def test_each_ecosystem_has_an_image_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert image_name("python") != image_name("node")
    assert image_name("node").startswith("aiswe-sandbox-node:")
    monkeypatch.setenv("AISWE_SANDBOX_IMAGE_NODE", "mine:1")
    assert image_name("node") == "mine:1"
    assert image_name() != "mine:1"


def test_without_npm_the_way_out_is_named_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="install Node 20 with npm"):
        install(tmp_path / "modules" / "node_modules")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("AISWE_SANDBOX_NODE", str(tmp_path / "none"))
    assert find_node_modules() is None


def test_what_npm_says_when_it_fails_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm = tmp_path / "npm"
    npm.write_text('#!/bin/sh\necho "$@" >&2; env >&2; exit 1\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    target = tmp_path / "m" / "node_modules"
    with pytest.raises(SandboxUnavailable, match="could not fetch the packages") as refusal:
        install(target)
    assert "hunter2" not in str(refusal.value)
    npm.write_text('#!/bin/sh\ncase "$*" in *--ignore-scripts*) mkdir -p node_modules/a;; esac\n')
    assert install(target) == target
    assert [path.name for path in target.iterdir()] == ["a"]
    assert sorted(path.name for path in target.parent.iterdir()) == [".lock-node", "node_modules"]
    assert is_current(target)


def test_packages_of_a_task_are_found_by_require_and_import_also_after_the_files_were_laid_out_anew(
    backend: Backend, modules: Path, tmp_path: Path
) -> None:
    modules.parent.chmod(0o755)  # as the supply leaves it
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.cjs").write_text("console.log(require('sums').add(40, 2))")
    (tmp_path / "tree" / "b.mjs").write_text("import s from 'sums'; console.log(s.add(1, 2))")
    with backend.open(limits=SMALL, packages=PackageSet(modules.parent, ("npm:sums",))) as box:
        for _ in range(2):
            box.mirror(tmp_path / "tree")
            assert box.exec(["node", "a.cjs"]).out == "42\n"
            assert box.exec(["node", "b.mjs"]).out == "3\n"
            box.exec(["rm", "-rf", "node_modules/sums"])
            box.exec(["sh", "-c", "mkdir -p node_modules/sums && echo 'throw 1' > node_modules/sums/index.js"])
