"""A part of a script is put into it; all else stays byte for byte, and what is unclear is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.languages.definitions import CannotMerge
from agents.languages.node.definitions import definitions_of
from agents.languages.node.merging import merged
from tests.sizes import scaled
from tests.tables import each_row

CART = """// Carts.
import fs from "node:fs";
import { join } from "node:path";

const RATE = 0.2;

/** Sum first, tax later. */
export function total(items) {
  return items.reduce((sum, item) => sum + item, 0);
}

export const taxed = (items) => total(items) * (1 + RATE); // with tax

// Things to buy.
export class Cart {
  size = 0;

  constructor() {
    this.items = [];
  }

  get count() {
    return this.items.length;
  }

  add(item) {
    this.items.push(item);
  }
}
"""
COMMON = """const fs = require("fs");

function total(items) {
  return 0;
}

module.exports = { total };
"""


def changed(old: str, new: str) -> tuple[list[str], list[str]]:
    """Lines that only the old text has, and lines that only the new one has."""
    before, after = old.splitlines(), new.splitlines()
    return [one for one in before if one not in after], [one for one in after if one not in before]


def test_a_function_is_replaced_and_stays_exported() -> None:
    out = merged("cart.js", CART, "function total(items) {\n  return 1;\n}\n")
    assert changed(CART, out) == (["  return items.reduce((sum, item) => sum + item, 0);"], ["  return 1;"])


def test_a_function_may_become_an_arrow_function() -> None:
    out = merged("cart.js", CART, "const total = (items) => 1;\n")
    assert "export const total = (items) => 1;" in out
    assert "export function total" not in out


def test_a_new_definition_stands_beside_the_one_it_came_with() -> None:
    out = merged(
        "cart.js", CART, "function half(x) {\n  return x / 2;\n}\n\nfunction total(items) {\n  return half(2);\n}\n"
    )
    assert out.index("function half") < out.index("/** Sum") < out.index("return half(2)")


def test_imports_join_those_of_the_same_module_or_get_a_line() -> None:
    imports = 'import { resolve } from "node:path";\nimport os from "node:os";\n'
    part = f"{imports}function total() {{\n  return resolve(os);\n}}\n"
    out = merged("cart.js", CART, part)
    assert 'import { join, resolve } from "node:path";\nimport os from "node:os";\n' in out


def test_the_members_of_a_class_are_merged_one_by_one() -> None:
    part = "class Cart {\n  add(item, times = 1) {\n    this.items.push(item, times);\n  }\n\n  clear() {}\n}\n"
    out = merged("cart.js", CART, part)
    assert "  add(item, times = 1) {\n    this.items.push(item, times);\n  }\n\n  clear() {}\n}\n" in out
    assert "get count()" in out
    assert "constructor()" in out


def test_methods_without_their_class_go_into_the_one_that_has_them() -> None:
    out = merged("cart.js", CART, "add(item) {\n  this.items = [item, `\n`];\n}\n")
    assert "  add(item) {\n    this.items = [item, `\n`];\n  }\n}\n" in out


def test_the_list_of_exports_grows() -> None:
    out = merged("sum.js", COMMON, "function mean(items) {\n  return 1;\n}\n\nmodule.exports = { mean };\n")
    assert "module.exports = { total, mean };" in out
    assert "function total" in out


def test_line_ends_stay_those_of_the_file() -> None:
    old = CART.replace("\n", "\r\n")
    out = merged("cart.js", old, "function total(items) {\n  return 1;\n}\n")
    assert out == merged("cart.js", CART, "function total(items) {\n  return 1;\n}\n").replace("\n", "\r\n")


def test_interfaces_and_overloads_of_typescript() -> None:
    old = "export interface Item {\n  name: string;\n  price: number;\n}\n\nexport function f(a: string): void;\n"
    old += "export function f(a: unknown): void {\n  g(a);\n}\n"
    out = merged("a.ts", old, "interface Item {\n  price: bigint;\n  size: number;\n}\n")
    assert "  name: string;\n  price: bigint;\n  size: number;\n}\n" in out
    assert "h(a)" in merged("a.ts", old, "export function f(a: unknown): void {\n  h(a);\n}\n")
    with pytest.raises(CannotMerge, match="overloads"):
        merged("a.ts", old, "export function f(a: number): void {\n  h(a);\n}\n")


def test_a_new_test_goes_into_the_suite_of_its_name() -> None:
    old = (
        'import { test } from "node:test";\n\ndescribe("cart", () => {\n  test("adds", () => {\n    a();\n  });\n});\n'
    )
    out = merged("tests/a.test.js", old, 'describe("cart", () => {\n  test("clears", () => {\n    b();\n  });\n});\n')
    assert '  test("adds", () => {\n    a();\n  });\n\n  test("clears", () => {\n    b();\n  });\n});\n' in out


def test_a_route_replaces_the_one_of_its_path() -> None:
    old = 'const app = make();\n\napp.get("/a", (q, r) => r.end());\napp.get("/b", list);\n\napp.listen(80);\n'
    out = merged("app.js", old, 'app.get("/a", (q, r) => r.send(1));\napp.get("/c", list);\n')
    assert "r.send(1)" in out
    assert out.index('"/a"') < out.index('"/c"') < out.index("app.listen")


@each_row(
    ("part", "why"),
    [
        ("function total(", "does not parse"),
        ("console.log(total([1]));\n", "outside of definitions"),
        ('import { join } from "./own.js";\nfunction total() {\n  return join;\n}\n', "from elsewhere"),
        ("const fs = 1;\nfunction total() {}\n", "which the file imports"),
        ("class RATE {}\n", "is not a class"),
        ("const total = 1, RATE = 2;\n", "total is not a value|declared together"),
        ('const os = require("os");\nfunction total() {}\n', "by require"),
        ("class Cart extends Box {\n  add() {}\n}\n", "lacks"),
        ("remove() {}\n", "not clear of which class"),
    ],
)
def test_what_is_unclear_is_refused(part: str, why: str) -> None:
    with pytest.raises(CannotMerge, match=why):
        merged("cart.js", CART, part)


@each_row(
    ("old", "part", "why"),
    [
        ("if (x) {\n  function f() {}\n}\n", "function f() {}\n", "under a condition"),
        ("const api = { a() {}, b() {} };\n", "const api = { a() {} };\n", "lacks b"),
        ("module.exports = { a() {} };\n", "export function b() {}\n", "by `export`"),
        ("function f() {}\nfunction f() {}\n", "function f() {}\n", "2 times in the file"),
        ("const a = 1; const b = 2;\n", "const a = 3;\n", "shares its line"),
        ("function f(", "function f() {}\n", "the file itself"),
    ],
)
def test_files_in_which_it_is_unclear(old: str, part: str, why: str) -> None:
    with pytest.raises(CannotMerge, match=why):
        merged("a.js", old, part)


_BODY = st.sampled_from(["return 1;", "return `a\n  b`;", "// said\n  return {};", "if (x) {\n    y();\n  }"])
_KIND = st.sampled_from(
    [
        "function {n}() {{\n  {b}\n}}",
        "export const {n} = () => {{\n  {b}\n}};",
        "class {n} {{\n  m() {{\n  {b}\n  }}\n}}",
    ]
)
_BETWEEN = st.sampled_from(["\n", "\n\n", "\n\n// about it\n", "\n/* a\n   b */\n\n", "\n\nstart();\n\n"])


@settings(derandomize=True, deadline=None, max_examples=scaled(60, 5))
@given(st.lists(st.tuples(_KIND, _BODY, _BETWEEN), min_size=1, max_size=5), st.data())
def test_the_rest_of_a_file_stays_byte_for_byte(parts: list[tuple[str, str, str]], data: st.DataObject) -> None:
    names = [f"n{number}" for number in range(len(parts))]
    texts = [kind.format(n=name, b=body) for name, (kind, body, _) in zip(names, parts, strict=True)]
    old = "".join(text + between for text, (_, _, between) in zip(texts, parts, strict=True))
    at = data.draw(st.integers(0, len(parts) - 1))
    assert merged("a.js", old, texts[at] + "\n") == old
    new = parts[at][0].format(n=names[at], b="return 'other';")
    before, after = old.split(texts[at], 1)
    out = merged("a.js", old, new)
    assert out.startswith(before)
    assert out.endswith(after)
    assert [one.name for one in definitions_of("a.js", out) or []] == [
        one.name for one in definitions_of("a.js", old) or []
    ]
