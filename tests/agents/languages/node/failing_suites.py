"""Twenty suites that fail, each for one reason: what is known of the failure, and two variations of each.

A variation `moved` has the same cause at other lines; `other` fails for another reason. `python -m
tests.agents.languages.node.record_suites` runs them in a sandbox and records what the runners reported.
"""

from dataclasses import dataclass, field

NODE = "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
VITEST = "import { test, expect, vi, beforeEach } from 'vitest';\n"
CART = """export function total(cart) {
  let sum = 0;
  for (const item of cart.items) sum += item.price * item.count;
  return sum;
}
export function first(cart) {
  return cart.items[0].name.toUpperCase();
}
"""
TYPED = """export interface Item { price: number; count: number }
export function total(items: Item[]): number {
  return items.reduce((sum, one) => sum + one.price * one.count, 0);
}
"""
ESM = '{"type": "module"}'


def manifest(script: str, kind: str = "module") -> str:
    """A package.json with this test script."""
    return f'{{"type": "{kind}", "scripts": {{"test": "{script}"}}}}'


@dataclass(frozen=True)
class FailingSuite:
    """`old` and `new` make the other cause; `place` is path:line, or a path where no line is known."""

    kind: str
    place: str
    files: dict[str, str]
    edited: str  # the file whose lines are moved, and that has the other cause
    old: str
    new: str
    on: str = field(default="")  # after this line the moved variation has two more; at the top without it


SUITES: dict[str, FailingSuite] = {
    "node_assert": FailingSuite(
        "AssertionError",
        "test/cart.test.js:5",
        {
            "package.json": ESM,
            "src/cart.js": CART,
            "test/cart.test.js": NODE + "import { total } from '../src/cart.js';\ntest('sums', () => {\n"
            "  assert.equal(total({ items: [{ price: 2, count: 2 }] }), 5);\n});\n",
        },
        "test/cart.test.js",
        "assert.equal(total({ items: [{ price: 2, count: 2 }] }), 5)",
        "total(null)",
    ),
    "node_thrown_in_source": FailingSuite(
        "TypeError",
        "src/cart.js:7",
        {
            "package.json": ESM,
            "src/cart.js": CART,
            "test/cart.test.js": NODE + "import { first } from '../src/cart.js';\ntest('first', () => {\n"
            "  assert.equal(first({ items: [{}] }), 'A');\n});\n",
        },
        "src/cart.js",
        "cart.items[0].name.toUpperCase()",
        "BigInt(cart.items.length) + 1",
    ),
    "node_rejection": FailingSuite(
        "RangeError",
        "src/load.js:2",
        {
            "package.json": ESM,
            "src/load.js": "export async function load() {\n  throw new RangeError('no such page');\n}\n",
            "test/load.test.js": NODE + "import { load } from '../src/load.js';\n"
            "test('loads', async () => {\n  await load();\n});\n",
        },
        "src/load.js",
        "new RangeError('no such page')",
        "new TypeError('not a page')",
    ),
    "node_unhandled_rejection": FailingSuite(
        "Error",
        "src/send.js:2",
        {
            "package.json": ESM,
            "src/send.js": "export function send() {\n  Promise.reject(new Error('connection lost'));\n}\n",
            "test/send.test.js": NODE + "import { send } from '../src/send.js';\n"
            "test('sends', async () => {\n  send();\n  await new Promise((done) => setTimeout(done, 20));\n});\n",
        },
        "src/send.js",
        "new Error('connection lost')",
        "new SyntaxError('not understood')",
    ),
    "node_leak": FailingSuite(
        "Timeout",
        "test/serve.test.js",
        {
            "package.json": ESM,
            "test/serve.test.js": NODE + "import http from 'node:http';\n"
            "test('serves', () => {\n  http.createServer(() => {}).listen(0);\n});\n",
        },
        "test/serve.test.js",
        "http.createServer(() => {}).listen(0)",
        "throw new Error('no port')",
    ),
    "node_missing_module": FailingSuite(
        "ModuleNotFound",
        "test/a.test.js",
        {
            "package.json": ESM,
            "test/a.test.js": NODE + "import { a } from '../src/missing.js';\ntest('a', () => a());\n",
        },
        "test/a.test.js",
        "'../src/missing.js'",
        "'../src/absent.js'",
    ),
    "node_missing_export": FailingSuite(
        "SyntaxError",
        "test/a.test.js:3",
        {
            "package.json": ESM,
            "src/cart.js": CART,
            "test/a.test.js": NODE + "import { count } from '../src/cart.js';\ntest('a', () => count());\n",
        },
        "test/a.test.js",
        "{ count }",
        "{ amount as count }",
    ),
    "node_require_in_module": FailingSuite(
        "ReferenceError",
        "src/a.js:1",
        {
            "package.json": ESM,
            "src/a.js": "const path = require('node:path');\nexport const a = path.sep;\n",
            "test/a.test.js": NODE + "import { a } from '../src/a.js';\ntest('a', () => assert.ok(a));\n",
        },
        "src/a.js",
        "require('node:path')",
        "module.exports",
    ),
    "node_import_in_commonjs": FailingSuite(
        "SyntaxError",
        "src/a.cjs:1",
        {
            "package.json": "{}",
            "src/a.cjs": "import path from 'node:path';\nexports.a = path.sep;\n",
            "test/a.test.cjs": "const test = require('node:test');\nconst { a } = require('../src/a.cjs');\n"
            "test('a', () => a);\n",
        },
        "src/a.cjs",
        "import path from 'node:path'",
        "const path = ;",
    ),
    "node_types": FailingSuite(
        "TS2345",
        "src/shop.ts:3",
        {
            "package.json": ESM,
            "src/cart.ts": TYPED,
            "src/shop.ts": "import { total } from './cart.ts';\n\nexport const due = total([{ price: '2', count: 1 }]"
            " as { price: string; count: number }[]);\n",
            "test/shop.test.ts": NODE
            + "import { due } from '../src/shop.ts';\ntest('due', () => assert.equal(due, 2));\n",
        },
        "src/shop.ts",
        "export const due = total(",
        "export const due: string = total(",
    ),
    "vitest_assert": FailingSuite(
        "AssertionError",
        "test/cart.test.js:4",
        {
            "package.json": manifest("vitest run"),
            "src/cart.js": CART,
            "test/cart.test.js": VITEST + "import { total } from '../src/cart.js';\ntest('sums', () => {\n"
            "  expect(total({ items: [{ price: 2, count: 2 }] })).toBe(5);\n});\n",
        },
        "test/cart.test.js",
        "expect(total({ items: [{ price: 2, count: 2 }] })).toBe(5)",
        "total(null)",
    ),
    "vitest_component": FailingSuite(
        "TypeError",
        "src/view.jsx:2",
        {
            "package.json": manifest("vitest run"),
            "src/view.jsx": "export function show(node, user) {\n  node.textContent = user.name.trim();\n}\n",
            "test/view.test.jsx": VITEST + "import { show } from '../src/view.jsx';\n"
            "test('shows', () => show(document.body, {}));\n",
        },
        "src/view.jsx",
        "user.name.trim()",
        "new Intl.NumberFormat('no such place!').format(1)",
    ),
    "vitest_snapshot": FailingSuite(
        "Error",
        "test/page.test.js:3",
        {
            "package.json": manifest("vitest run"),
            "test/page.test.js": VITEST + "test('page', () => {\n  expect('<p>two</p>').toMatchSnapshot();\n});\n",
            "test/__snapshots__/page.test.js.snap": "// Vitest Snapshot v1, https://vitest.dev/guide/snapshot.html\n\n"
            'exports[`page 1`] = `"<p>one</p>"`;\n',
        },
        "test/page.test.js",
        "expect('<p>two</p>').toMatchSnapshot()",
        "expect(2).toBeLessThan(1)",
    ),
    "vitest_timeout": FailingSuite(
        "Timeout",
        "test/slow.test.js:2",
        {
            "package.json": manifest("vitest run --testTimeout=300"),
            "test/slow.test.js": VITEST + "test('waits', () => new Promise(() => {}));\n",
        },
        "test/slow.test.js",
        "new Promise(() => {})",
        "Promise.reject(new Error('refused'))",
    ),
    "vitest_unhandled": FailingSuite(
        "TypeError",
        "src/later.js:2",
        {
            "package.json": manifest("vitest run"),
            "src/later.js": "export function later(user) {\n  setTimeout(() => user.name.trim(), 1);\n}\n",
            "test/later.test.js": VITEST + "import { later } from '../src/later.js';\ntest('later', async () => {\n"
            "  later({});\n  await new Promise((done) => setTimeout(done, 60));\n});\n",
        },
        "src/later.js",
        "user.name.trim()",
        "undefinedName",
    ),
    "vitest_syntax": FailingSuite(
        "TS1109",  # the compiler, which runs first, says more about it than the runner
        "src/broken.ts:2",
        {
            "package.json": manifest("vitest run"),
            "src/broken.ts": "export function broken() {\n  return (1 + ;\n}\n",
            "test/broken.test.js": VITEST + "import { broken } from '../src/broken.ts';\ntest('b', () => broken());\n",
        },
        "src/broken.ts",
        "return (1 + ;",
        "return 1; }}",
    ),
    "jest_assert": FailingSuite(
        "AssertionError",
        "test/cart.test.js:3",
        {
            "package.json": manifest("jest", "commonjs"),
            "src/cart.js": "exports.total = (items) => items.length;\n",
            "test/cart.test.js": "const { total } = require('../src/cart');\ntest('sums', () => {\n"
            "  expect(total([1])).toBe(2);\n});\n",
        },
        "test/cart.test.js",
        "expect(total([1])).toBe(2)",
        "total()",
    ),
    "jest_hook": FailingSuite(
        "RangeError",
        "src/db.js:2",
        {
            "package.json": manifest("jest", "commonjs"),
            "src/db.js": "exports.open = () => {\n  throw new RangeError('too many connections');\n};\n",
            "test/db.test.js": "const { open } = require('../src/db');\nbeforeEach(() => open());\n"
            "test('reads', () => {});\n",
        },
        "src/db.js",
        "new RangeError('too many connections')",
        "new TypeError('no connection')",
    ),
    "mocha_deep": FailingSuite(
        "AssertionError",
        "test/list.test.js:4",
        {
            "package.json": manifest("mocha"),
            "test/list.test.js": "import assert from 'node:assert/strict';\n\nit('lists', () => {\n"
            "  assert.deepEqual({ names: ['a', 'b'] }, { names: ['b', 'a'] });\n});\n",
        },
        "test/list.test.js",
        "assert.deepEqual({ names: ['a', 'b'] }, { names: ['b', 'a'] })",
        "JSON.parse('{')",
    ),
    "mocha_done_twice": FailingSuite(
        "Timeout",
        "test/wait.test.js",
        {
            "package.json": manifest("mocha --timeout 200"),
            "test/wait.test.js": "it('waits', (done) => {\n  setTimeout(() => {}, 1);\n});\n",
        },
        "test/wait.test.js",
        "setTimeout(() => {}, 1)",
        "throw new Error('at once')",
    ),
}
