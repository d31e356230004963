"""Each test runner for Node in a real sandbox, with the tools that stand ready there: what it reports and catches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from sandbox.base import Sandbox, SandboxLimits
from sandbox.node_env import find_node_modules
from sandbox.node_run import run_node_tests
from sandbox.registry import load_backend
from sandbox.test_report import TestReport
from sandbox.test_setup import TestSetup
from tests.needs import missing

Run = Callable[..., TestReport]
pytestmark = pytest.mark.bubblewrap
SUMS = """export function add(a, b) {
  if (a > 100) {
    return 0;
  }
  return a + b;
}
export const unused = () => {
  return 3;
};
"""
NODE = "import test, { describe, it } from 'node:test';\nimport assert from 'node:assert';\n"
BODY = """import { add } from '../src/sums.js';
describe('outer', () => {
  it('adds', () => { assert.equal(add(1, 2), 3); });
  it('fails', () => { assert.equal(add(1, 1), 3); });
  it.skip('later', () => {});
});
console.log('1..9\\nok 9 - made up\\n# pass 99');
"""
FORMS = {
    "node": (NODE, {"scripts": '{"test": "node --test"}'}),
    "vitest": (NODE.replace("node:test", "vitest").replace("test, {", "{"), {"scripts": '{"test": "vitest run"}'}),
    "mocha": (NODE.split("\n", 1)[1], {"scripts": '{"test": "mocha tests"}'}),
    "jest": ("import assert from 'node:assert';\n", {"scripts": '{"test": "jest"}'}),
}


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """One sandbox for all of them, with the tools; each test lays out its own files."""
    backend = load_backend("bubblewrap")
    state = backend.availability()
    if not state.ok:
        missing(f"bubblewrap: {state.problem}; {state.hint}")
    if find_node_modules() is None:
        missing("the tools for Node are not there: make install")
    with backend.open(limits=SandboxLimits(memory_mb=1024, seconds=120), label="node runners") as opened:
        yield opened


@pytest.fixture
def run(box: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Lays out exactly these files and runs their tests."""

    def go(files: Mapping[str, str], **options: Any) -> TestReport:
        folder = tmp_path_factory.mktemp("files")
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        box.mirror(folder)
        return run_node_tests(box, **options)

    return go


@pytest.mark.parametrize("runner", list(FORMS))
def test_every_runner_reports_each_test_by_its_path_and_suites_with_coverage(run: Run, runner: str) -> None:
    head, manifest = FORMS[runner]
    files = {
        "package.json": f'{{"type": "module", "scripts": {manifest["scripts"]}}}',
        "src/sums.js": SUMS,
        "src/other.js": "export const other = 1;\n",
        "tests/sums.test.js": head + BODY,
    }
    report = run(files, coverage_of=["src"])
    name = "tests/sums.test.js::outer > "
    assert dict(report.outcomes) == {f"{name}adds": "passed", f"{name}fails": "failed", f"{name}later": "skipped"}
    assert (report.passed, report.failed, report.skipped, report.collected) == (1, 1, 1, 3)
    assert (report.ok, report.problem, report.void, report.exit_code) == (False, "", "", 1)
    (failure,) = report.failures
    assert failure.nodeid == f"{name}fails"
    assert re.search("2 == 3|equal to:\\s+3", failure.message)
    assert "/workspace/tests/sums.test.js:" in failure.traceback
    assert report.uncovered["src/sums.js"] == [2, 3, 8]
    assert report.uncovered["src/other.js"] == [1]
    assert report.branch_coverage is not None
    assert 0 < report.branch_coverage < 100


def test_typescript_runs_as_it_is_and_its_types_are_checked_in_the_same_run(run: Run) -> None:
    wrong = "export function add(a: number, b: number): string {\n  return a + b;\n}\n"
    test = NODE + "import { add } from '../src/sums.ts';\nit('adds', () => { assert.equal(add(1, 2), 3); });\n"
    report = run({"package.json": '{"type": "module"}', "src/sums.ts": wrong, "tests/sums.test.ts": test})
    assert (report.passed, report.errors, report.ok) == (1, 1, False)
    (failure,) = report.failures
    assert failure.nodeid == "src/sums.ts"
    assert failure.message == "src/sums.ts(2,3): error TS2322: Type 'number' is not assignable to type 'string'."
    right = {"src/sums.ts": wrong.replace("string", "number"), "tests/sums.test.ts": test}
    assert run({"package.json": '{"type": "module"}', **right}).ok


def test_a_failed_assertion_in_typescript_quotes_the_line_that_failed_and_no_frames_of_node(run: Run) -> None:
    test = f"""{NODE}import {{ add }} from '../src/sums.js';
const pair = {{ first: 1, second: 2 }};
describe('sums', () => {{
  for (const one of [1, 2]) {{
    test(`adds ${{one}}`, () => {{
      const sum = add(one, 2);
      assert.ok(sum > 1);
      assert.ok(
        sum === pair.first + pair.second,
      );
    }});
  }}
}});
"""
    code = "export function add(a: number, b: number): number {\n  return a + b;\n}\n"
    files = {"package.json": '{"type": "module"}', "src/sums.ts": code, "tests/sums.test.ts": test}
    (failure,) = run(files, coverage_of=["src/sums.ts"]).failures
    quoted = failure.message.partition("\n\n")[2].split("\n")
    assert [line.strip() for line in quoted if line] == ["assert.ok(", "sum === pair.first + pair.second,", ");"]
    assert "/workspace/tests/sums.test.ts:10" in failure.traceback
    assert "node:" not in failure.traceback


def test_components_run_in_vitest_with_a_page_without_a_word_of_configuration(run: Run) -> None:
    test = "import { test, expect } from 'vitest';\ntest('a page', () => { document.body.innerHTML = '<p>hi</p>';\n"
    test += "expect(document.querySelector('p')?.textContent).toBe('hi'); });\n"
    report = run({"package.json": "{}", "tests/page.test.jsx": test})
    assert report.ok, report


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"tests/a.test.mjs": NODE + "test('a', () => process.exit(0));\ntest('b', () => { throw 1; });"},
            "process.exit() ended the tests",
        ),
        (
            {"tests/a.test.mjs": NODE + "assert.equal = () => {};\ntest('a', () => assert.equal(1, 2));"},
            "the tests replaced assert.equal",
        ),
        (
            {
                "package.json": '{"scripts": {"test": "mocha"}}',
                "test/a.js": "it('a', () => process.exit(0)); it('b', () => { throw 1; });",
            },
            "left the process",
        ),
        (
            {
                "package.json": '{"scripts": {"test": "mocha"}}',
                "test/a.js": "const a = require('assert'); a.ok = () => {}; it('a', () => a.ok(false));",
            },
            "the tests replaced assert.ok",
        ),
        (
            {
                "package.json": '{"scripts": {"test": "jest"}}',
                "a.test.js": "test('a', () => process.exit(0)); test('b', () => { throw 1; });",
            },
            "left the process",
        ),
        (
            {
                "tests/a.test.mjs": NODE + "import fs from 'node:fs';\n"
                "test('a', () => fs.writeFileSync(`/proc/${process.ppid}/fd/3`, 'x {}\\n'));"
            },
            "something beside the test runner wrote to its report",
        ),
        ({"tests/a.test.mjs": "console.log('# pass 3');"}, "no test ended in tests/a.test.mjs"),
        ({"package.json": '{"scripts": {"test": "vitest run"}}'}, "no tests were found"),
        ({"src/a.js": "1;"}, "no tests were found"),
    ],
    ids="exit|asserts|exit in mocha|asserts in mocha|exit in jest|report|none ended|none|no file".split("|"),
)
def test_what_only_looks_like_a_pass_is_none(run: Run, files: dict[str, str], problem: str) -> None:
    report = run(files)
    assert not report.ok
    said = [report.problem, report.void, *(failure.message for failure in report.failures)]
    assert any(problem in one for one in said), report


def test_a_file_that_does_not_end_is_named_and_the_others_still_run(run: Run) -> None:
    files = {
        "a.test.mjs": NODE + "import http from 'node:http';\ntest('serves', () => { http.createServer().listen(0); });",
        "b.test.mjs": NODE + "test('passes', () => {});",
    }
    report = run(files, setup=TestSetup(test_seconds=2))
    assert (report.passed, report.errors) == (2, 1)
    assert report.hangs[0].nodeid == "a.test.mjs"
    assert "test timed out after 2000ms" in report.failures[0].message


def test_named_files_alone_are_run_and_the_first_failure_ends_the_run(run: Run) -> None:
    outcomes = {"a": "true", "b": "false", "c": "false"}
    files = {f"{name}.test.mjs": NODE + f"test('{name}', () => assert.ok({ok}));" for name, ok in outcomes.items()}
    assert run(files, paths=["a.test.mjs"]).ok
    assert [*run(files, first=True).outcomes] == ["a.test.mjs::a", "b.test.mjs::b"]


def test_programs_that_print_their_results_are_read_and_their_exit_code_counts(run: Run) -> None:
    printed = (
        "console.log('# sums\\nok 1 - a\\nnot ok 2 - b\\n  ---\\n    operator: equal\\n  ...'); process.exitCode = 1;"
    )
    files = {"package.json": '{"scripts": {"test": "tape test/*.js"}}', "test/a.js": printed, "test/b.js": "throw 1;"}
    report = run(files)
    assert dict(report.outcomes) == {
        "test/a.js::sums > a": "passed",
        "test/a.js::sums > b": "failed",
        "test/b.js": "error",
    }
