"""Tests of scripts: which files they are, their ids, what may not be written about them, and what forges them."""

import json

import pytest

from agents.languages.base import NoModule
from agents.languages.node.forgery import forgeries
from agents.languages.node.modules import import_name, need_code, path_of
from agents.languages.node.test_config import steers_tests
from agents.languages.node.test_files import is_test
from agents.languages.node.test_parts import ids_of_tests, new_part, without
from agents.languages.node.words import words_for
from tests.tables import each_row

PATH = "tests/cart.test.js"
TESTS = """import { test, describe } from "node:test";

function made() {}

describe("cart", () => {
  beforeEach(() => {});

  // adds one
  test("adds", () => {
    made();
  });

  it.each([1, 2])("case %i", (number) => {
    check(number);
  });

  describe("empty", () => {
    it('has "nothing"', async () => {});
  });
});

test("alone", (t) => {
  return t.test("below", () => {});
});
"""


def test_tests_are_named_by_their_suites_where_the_name_is_sure() -> None:
    assert ids_of_tests(PATH, TESTS) == [f"{PATH}::cart > adds", f'{PATH}::cart > empty > has "nothing"']
    assert ids_of_tests("src/cart.js", TESTS) == ids_of_tests(PATH, "test(") == []


def test_failing_tests_leave_with_suites_that_they_alone_filled() -> None:
    left = without(
        {PATH: TESTS, "tests/help.js": "a;"}, [f'{PATH}::cart > empty > has "nothing"', f"{PATH}::cart > case 2"]
    )
    assert left["tests/help.js"] == "a;"
    assert ids_of_tests(PATH, left[PATH]) == [f"{PATH}::cart > adds"]
    assert "case" not in left[PATH]
    assert "empty" not in left[PATH]
    assert "beforeEach" in left[PATH]


@pytest.mark.parametrize("failing", [PATH, f"{PATH}::not > there"])
def test_a_file_whose_failing_test_is_not_found_leaves(failing: str) -> None:
    assert without({PATH: TESTS}, [failing]) == {}


def test_only_what_is_new_of_an_answer_is_taken() -> None:
    new = TESTS.replace('test("alone"', 'test("renamed"').replace("made() {}", "made() { return 1; }")
    assert new_part(TESTS, new, helpers=True) == ""
    more = new.replace("  // adds one", '  test("takes", () => {\n    take();\n  });\n\n  // adds one')
    part = new_part(TESTS, more, helpers=False)
    assert ids_of_tests(PATH, part) == [f"{PATH}::cart > takes"]
    assert "made" not in part.replace("made();", "")
    assert "return 1" in new_part(TESTS, more, helpers=True)


@each_row(
    ("path", "told", "answer"),
    [
        ("tests/help.js", (), True),
        ("src/cart.test.ts", (), True),
        ("src/cart.spec.tsx", (), True),
        ("src/__tests__/cart.js", (), True),
        ("test/index.mjs", (), True),
        ("src/setupTests.ts", (), True),
        ("src/test/index.js", ("tests",), False),
        ("checks/spec/a.js", ("checks/spec",), True),
        ("src/cart.js", (), False),
        ("src/contest.js", (), False),
        ("src/latest.ts", ("src",), False),
    ],
)
def test_which_files_are_tests(path: str, told: tuple[str, ...], answer: bool) -> None:
    assert is_test(path, told) is answer


def manifest(**parts: object) -> str:
    return json.dumps({"name": "shop", **parts})


OLD = manifest(scripts={"test": "node --test --test-name-pattern x"}, jest={"bail": 1})


@each_row(
    ("path", "text", "old", "why"),
    [
        ("package.json", manifest(scripts={"test": "true"}), "", "script 'test'"),
        ("package.json", manifest(scripts={"test": "node --test || true"}), "", "script 'test'"),
        ("package.json", manifest(scripts={"test": "vitest run --exclude tests/a"}), "", "script 'test'"),
        ("package.json", manifest(scripts={"test": "node --test"}, jest={"bail": 1}), OLD, "may not be changed"),
        ("package.json", manifest(jest={"testPathIgnorePatterns": ["a"]}), "", "'jest' may not change"),
        ("package.json", manifest(overrides={"vitest": "1"}), "", "'overrides'"),
        ("package.json", manifest(devDependencies={"vitest": "file:./fake"}), "", "may not come from"),
        ("package.json", "{", "", "not valid JSON"),
        ("vitest.config.ts", "export default {}", "", "how the tests run"),
        ("web/jest.config.js", "", "", "how the tests run"),
        (".mocharc.yml", "x", "", "how the tests run"),
        (".npmrc", "x", "", "how the tests run"),
        ("vite.config.ts", "export default { test: { include: [] } }", "", "leave it out"),
        ("tsconfig.json", '{"compilerOptions": {"strict": false,}} // x', "", "strict may not"),
        ("tsconfig.json", "{}", '{"compilerOptions": {"strict": true}}', "stay switched on"),
        ("tsconfig.json", '{"compilerOptions": {"paths": {"vitest": ["./a"]}}}', "", "vitest may not be mapped"),
        ("node_modules/vitest/index.js", "", "", "place of a package"),
    ],
)
def test_what_decides_about_tests_is_not_the_coders_to_write(path: str, text: str, old: str, why: str) -> None:
    assert why in steers_tests(path, text, old)


@each_row(
    ("path", "text", "old"),
    [
        ("package.json", OLD.replace("shop", "other").replace("}}", '}, "dependencies": {"zod": "^4"}}'), OLD),
        ("package.json", manifest(scripts={"start": "node a.js", "test": "node --test"}), ""),
        ("package.json", manifest(scripts={"test": "node --import tsx --test 'tests/**/*.test.ts'"}), ""),
        ("package.json", manifest(scripts={"test": "vitest run"}, devDependencies={"vitest": "^4.1.0"}), ""),
        ("vite.config.js", 'import react from "@vitejs/plugin-react";\nexport default { plugins: [react()] };', ""),
        ("vitest.config.ts", "export default {}", "export default {}"),
        ("tsconfig.json", '{"compilerOptions": {"strict": true, "paths": {"@/*": ["./src/*"]}}}', ""),
        ("src/cart.js", "export {}", ""),
    ],
)
def test_the_rest_of_a_manifest_stays_open(path: str, text: str, old: str) -> None:
    assert steers_tests(path, text, old) == ""


@each_row(
    ("path", "source", "why"),
    [
        ("src/a.js", 'import { test } from "node:test";', "imports node:test"),
        ("src/a.cjs", 'const { vi } = require("vitest");', "imports vitest"),
        ("src/a.js", "export function f() { expect.extend({}); }", "uses expect of the test runner"),
        ("src/a.js", "globalThis.assert = () => {};", "sets globalThis.assert"),
        ("src/a.js", 'import assert from "node:assert";\nassert.equal = () => {};', "sets assert.equal"),
        ("src/a.js", 'Object.defineProperty(globalThis, "expect", {});', "sets globalThis.expect"),
        ("src/a.js", "Object.is = () => true;", "sets Object.is"),
        ("src/a.js", "process.exit(0);", "calls process.exit"),
        ("src/a.js", "export function f() { process.exitCode = 0; }", "sets process.exitCode"),
        ("src/a.js", "export function f() { process.reallyExit(0); }", "calls process.reallyExit"),
        ("src/a.cjs", 'Module._load = () => {}; require.cache["a"] = 1;', "sets require.cache"),
        ("src/a.ts", "export const x = { asymmetricMatch() { return true; } };", "asymmetricMatch can call"),
        (PATH, 'test("a", () => { process.exit(); });', "calls process.exit"),
        (PATH, 'test.only("a", () => {});', "leaves out other tests by test.only"),
        (PATH, 'vi.mock("../src/cart.js", () => ({}));', "replaces ../src/cart.js"),
    ],
)
def test_what_steers_the_result_is_named(path: str, source: str, why: str) -> None:
    assert any(why in found for found in forgeries(path, source))


@each_row(
    ("path", "source"),
    [
        ("src/cli.js", "function main() { if (bad) process.exit(1); process.exitCode = 2; }\nmain();"),
        ("src/a.js", 'import assert from "node:assert";\nassert.ok(1);\nconst found = /x/.test("x");'),
        ("src/a.js", "export function describe(it) { return it.only; }"),
        (PATH, 'vi.mock("../src/mail.js");\ntest.skip("a", () => {});\nexpect.extend({});'),
        ("vite.config.ts", 'import { defineConfig } from "vitest/config";'),
        ("src/a.js", "broken("),
    ],
)
def test_ordinary_code_is_let_alone(path: str, source: str) -> None:
    assert forgeries(path, source) == []


FILES = ["src/cart.ts", "src/index.js", "src/shop/index.js", "README.md", PATH, "src/types.d.ts"]


def test_a_module_is_found_by_its_path_with_or_without_suffix() -> None:
    assert path_of("src/cart", FILES) == path_of("cart.ts", FILES) == "src/cart.ts"
    assert path_of("shop", FILES) == "src/shop/index.js"
    for module, why in (
        ("tests/cart.test", "holds tests"),
        ("kart", "Did you mean src/cart.ts"),
        ("README.md", "is not"),
    ):
        with pytest.raises(NoModule, match=why):
            path_of(module, FILES)
    with pytest.raises(NoModule, match="no code of its own"):
        need_code("src/index.js", 'export * from "./cart.js";\nimport "./a.js";', FILES)
    with pytest.raises(NoModule, match="not valid"):
        need_code("src/index.js", "function (", FILES)
    need_code("src/index.js", "module.exports = { a() {} };", FILES)


def test_a_module_is_imported_by_the_way_to_it() -> None:
    assert import_name("src/cart.ts", "tests/unit/cart.test.ts") == "../../src/cart.js"
    assert import_name("src/App.tsx", "src/App.test.tsx") == "./App"


def test_prompts_speak_of_what_the_files_are_written_in() -> None:
    assert words_for(["src/a.ts", "package.json"]).module == "src/module.ts"
    assert "testing-library" in words_for(["src/App.tsx"]).test_rules
    assert words_for([]).fence == "javascript"


def test_what_new_tests_stand_on_outside_of_definitions_comes_with_them():
    mock = 'vi.mock("./api");\n'
    more = mock + TESTS + '\ntest("another", () => {\n  expect(other()).toBe(7);\n});\n'
    assert mock in new_part(TESTS, more, helpers=False)
    assert mock not in new_part(mock + TESTS, more, helpers=False)
